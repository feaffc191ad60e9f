/*
 * check.c - checks the numbers and links of an answer before it is final.
 *
 * Runs in:  reckon-agent.
 * Reads:    the conversation; the parent's replies about files.
 * Never:    asks the model for a correction twice, or loses its first answer.
 */
#include <stdio.h>
#include <string.h>

#include "agent/claims/claims.h"
#include "agent/formats/fenced.h"
#include "agent/loop/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "codec/json_read.h"

#define NAME_BYTES_MAX 1024u
#define MODEL_CLAIMS_MAX 20u /* unsupported claims listed for the model */
#define SHOWN_MAX 5u /* and for the person */
#define WORDS_BYTES_MAX 65536u

/* ---- what the model was shown ---- */

static void note_call(struct loop *loop, const struct model_call *call)
{
	struct json_value *args = NULL;
	const struct json_value *value;
	const char *key;
	struct err ignored; /* a call that cannot be parsed was not run */

	if (json_read_parse(buf_text(&call->args), call->args.len, MODEL_ARGS_MAX, &args,
			    &ignored) < 0)
		return;
	for (size_t i = 0; json_read_member_at(args, i, &key, &value); i++) {
		size_t len;
		const char *text = json_read_text(value, &len);

		if (text != NULL)
			evidence_add(&loop->evidence, text, len);
	}
	json_read_free(args);
}

/* Only the code of a model counts as evidence: its text supports nothing. */
static void note_model(struct loop *loop, const struct model_turn *turn)
{
	struct fenced block;

	for (size_t i = 0; i < turn->call_count; i++)
		note_call(loop, &turn->calls[i]);
	if (loop->settings.calling == AGENT_CALLING_FENCED &&
	    fenced_find(buf_text(&turn->text), turn->text.len, loop->language, &block))
		evidence_add(&loop->evidence, turn->text.data + block.code, block.code_len);
}

void check_note(struct loop *loop)
{
	if (loop->settings.verify == AGENT_VERIFY_NO)
		return;
	for (size_t i = 0; i < loop->conv.count; i++) {
		struct model_turn *turn = loop->conv.turns[i];

		if (turn->is_noted)
			continue;
		turn->is_noted = true;
		if (turn->role == MODEL_ROLE_MODEL)
			note_model(loop, turn);
		else if (turn->role == MODEL_ROLE_USER)
			evidence_add(&loop->evidence, buf_text(&turn->text), turn->text.len);
		for (size_t k = 0; k < turn->result_count; k++)
			evidence_add(&loop->evidence, buf_text(&turn->results[k].text),
				     turn->results[k].text.len);
	}
}

/* ---- links ---- */

struct links {
	struct agent_claim claims[AGENT_LOOKS_MAX];
	size_t count;
	struct buf names; /* lines */
};

static void find_links(const struct buf *text, struct links *ret)
{
	cleanup_buf struct buf name = BUF_INIT(NAME_BYTES_MAX);
	struct agent_claim claim;
	size_t at = 0;
	struct err full; /* this name and the following ones are not checked */

	while (ret->count < AGENT_LOOKS_MAX &&
	       claims_next_link(buf_text(text), text->len, &at, &name, &claim)) {
		if (!utf8_is_valid(buf_text(&name), name.len) ||
		    !utf8_is_valid(text->data + claim.offset, claim.len))
			continue;
		if (buf_addf(&ret->names, &full, "%s\n", buf_text(&name)) < 0)
			return;
		ret->claims[ret->count++] = claim;
	}
}

static int check_links(struct loop *loop, const struct buf *text, struct err *err)
{
	struct links links = { .names = BUF_INIT(AGENT_LOOKS_BYTES) };
	const struct kernel_item *states = NULL;
	int rc = 0;

	find_links(text, &links);
	if (links.count > 0)
		rc = link_look(loop->link, &links.names, err);
	if (links.count > 0 && rc == 0)
		states = agent_find(loop->link->items, loop->link->item_count, AGENT_TAG_TEXT);
	for (size_t i = 0; states != NULL && i < links.count && i < states->len; i++) {
		loop->checked.links += states->data[i] != AGENT_FILE_UNKNOWN;
		if (states->data[i] == AGENT_FILE_MISSING)
			claims_add(&loop->checked, &links.claims[i]);
	}
	buf_done(&links.names);
	return rc;
}

/* ---- an answer ---- */

/* Whether the turn is an answer, with nothing to run. */
static bool is_answer(const struct loop *loop, const struct model_turn *turn)
{
	struct fenced block;

	if (loop->conv.schema != NULL || turn->call_count > 0 || buf_is_blank(&turn->text) ||
	    (turn->stop != MODEL_STOP_NONE && turn->stop != MODEL_STOP_END))
		return false;
	return loop->settings.calling != AGENT_CALLING_FENCED ||
	       !fenced_find(buf_text(&turn->text), turn->text.len, loop->language, &block);
}

static bool is_over_limits(const struct loop *loop)
{
	const struct agent_settings *settings = &loop->settings;
	const struct agent_usage *usage = &loop->usage;

	return loop->out_of_steps || loop->link->interrupted ||
	       clock_mono_ns() >= loop->deadline_ns ||
	       (settings->tokens_max > 0 && usage->in + usage->out >= settings->tokens_max) ||
	       (settings->budget_micro > 0 && usage->cost_micro >= settings->budget_micro);
}

/* Lists the claims of one kind, as they are written. */
static int add_claims(const struct loop *loop, const struct buf *text, enum agent_claim_kind kind,
		      size_t max, struct buf *ret, struct err *err)
{
	const struct agent_checked *checked = &loop->checked;
	size_t count = 0;

	for (size_t i = 0; i < checked->listed; i++) {
		const struct agent_claim *claim = &checked->claims[i];

		if (claim->kind != kind)
			continue;
		if (count == max)
			return buf_adds(ret, ", …", err);
		if (buf_adds(ret, count++ > 0 ? ", " : "", err) < 0 ||
		    buf_add(ret, text->data + claim->offset, claim->len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int tell_person(struct loop *loop, const struct buf *text, struct err *err)
{
	const struct agent_checked *checked = &loop->checked;
	const uint64_t numbers = checked->numbers_unsupported;
	cleanup_buf struct buf line = BUF_INIT(WORDS_BYTES_MAX);

	if (numbers > 0 &&
	    (buf_addf(&line, err, "%llu number%s in no output: ", (unsigned long long)numbers,
		      numbers == 1 ? "" : "s") < 0 ||
	     add_claims(loop, text, AGENT_CLAIM_NUMBER, SHOWN_MAX, &line, err) < 0))
		return (int)err->code;
	if (checked->links_unsupported > 0 &&
	    (buf_adds(&line, numbers > 0 ? "; no such file: " : "no such file: ", err) < 0 ||
	     add_claims(loop, text, AGENT_CLAIM_LINK, SHOWN_MAX, &line, err) < 0))
		return (int)err->code;
	return link_discard(loop->link, err, "the answer has %.600s; the model is asked once more",
			    buf_text(&line));
}

static int look_up(struct loop *loop, const struct buf *text, struct err *err)
{
	check_note(loop);
	if (loop->conversation.instructions.len > 0)
		evidence_add(&loop->evidence, loop->conversation.instructions.data,
			     loop->conversation.instructions.len);
	if (loop->evidence.is_full)
		return 0;
	loop->checked.is_checked = 1;
	claims_check_numbers(buf_text(text), text->len, &loop->evidence, &loop->checked);
	return check_links(loop, text, err);
}

int check_text(struct loop *loop, const struct buf *text, struct err *err)
{
	const struct agent_checked *checked = &loop->checked;

	loop->checked = (struct agent_checked){ 0 };
	if (loop->settings.verify == AGENT_VERIFY_NO || !loop->conversation.runs_code)
		return 0;
	if (look_up(loop, text, err) < 0)
		return (int)err->code;
	loop->asks_again = loop->settings.verify == AGENT_VERIFY_ASK && !loop->is_correcting &&
			   !loop->is_application && !is_over_limits(loop) &&
			   checked->numbers_unsupported + checked->links_unsupported > 0;
	return loop->asks_again ? tell_person(loop, text, err) : 0;
}

int check_turn(struct loop *loop, const struct model_turn *turn, struct err *err)
{
	loop->checked = (struct agent_checked){ 0 };
	loop->asks_again = false;
	return is_answer(loop, turn) ? check_text(loop, &turn->text, err) : 0;
}

/* ---- asking for a correction ---- */

static int add_remark(struct loop *loop, const struct buf *text, struct buf *ret, struct err *err)
{
	const struct agent_checked *checked = &loop->checked;
	const bool may_run = loop->usage.steps < loop->settings.steps_max;

	if (buf_adds(ret, "[Each number and each link of your answer was looked up in the outputs "
			  "that you were shown.", err) < 0)
		return (int)err->code;
	if (checked->numbers_unsupported > 0 &&
	    (buf_adds(ret, " Numbers that are in none of them: ", err) < 0 ||
	     add_claims(loop, text, AGENT_CLAIM_NUMBER, MODEL_CLAIMS_MAX, ret, err) < 0 ||
	     buf_addc(ret, '.', err) < 0))
		return (int)err->code;
	if (checked->links_unsupported > 0 &&
	    (buf_adds(ret, " Links to files that do not exist: ", err) < 0 ||
	     add_claims(loop, text, AGENT_CLAIM_LINK, MODEL_CLAIMS_MAX, ret, err) < 0 ||
	     buf_addc(ret, '.', err) < 0))
		return (int)err->code;
	return buf_addf(ret, err, " %sWrite the whole answer again, without this remark in it: "
				  "correct what is wrong, leave out what nothing supports, and "
				  "repeat what is right.]",
			may_run ? "If they can be had, run one cell that prints or makes them. "
				: "");
}

int check_ask_again(struct loop *loop, const struct buf *text, struct err *err)
{
	struct model_turn *answer = loop->conv.turns[loop->conv.count - 1], *remark;

	loop->asks_again = false;
	buf_clear(&loop->first);
	if (buf_add(&loop->first, buf_text(text), text->len, err) < 0)
		return (int)err->code;
	remark = model_conversation_add(&loop->conv, MODEL_ROLE_USER);
	remark->is_noted = true; /* it names unsupported claims, so it must not become evidence */
	if (add_remark(loop, text, &remark->text, err) < 0)
		return (int)err->code;
	remark->text_own = remark->text.len;
	loop->first_turn = answer;
	loop->first_checked = loop->checked;
	loop->first_steps = loop->usage.steps;
	loop->is_correcting = true;
	return 0;
}

uint64_t check_steps_max(const struct loop *loop)
{
	const uint64_t max = loop->settings.steps_max;

	return loop->is_correcting && loop->first_steps + 1 < max ? loop->first_steps + 1 : max;
}

/* The index of the first answer; conv.count if it was dropped with old turns. */
static size_t place_of_first(const struct loop *loop)
{
	size_t at = 0;

	while (at < loop->conv.count && loop->conv.turns[at] != loop->first_turn)
		at++;
	return at;
}

/* Makes the first answer final, because the correction failed. */
static int stand_by_first(struct loop *loop, size_t at, struct loop_end *end, struct err *err)
{
	if (at < loop->conv.count)
		model_conversation_cut(&loop->conv, at + 1);
	buf_clear(&loop->answer);
	if (buf_add(&loop->answer, loop->first.data, loop->first.len, err) < 0)
		return (int)err->code;
	loop->checked = loop->first_checked;
	if (end->stop != AGENT_STOP_INTERRUPTED && end->stop != AGENT_STOP_LOST) {
		if (link_notice(loop->link, err, "the first answer stands%s%.600s",
				end->why.text[0] != '\0' ? ": " : "", end->why.text) < 0)
			return (int)err->code;
		*end = (struct loop_end){ .over = true, .stop = AGENT_STOP_ANSWER };
		err_clear(&end->why);
	}
	return link_text(loop->link, AGENT_TEXT, loop->first.data, loop->first.len, err);
}

int check_settle(struct loop *loop, struct loop_end *end, struct err *err)
{
	const size_t at = place_of_first(loop);

	if (!loop->is_correcting)
		return 0;
	loop->is_correcting = false;
	if (end->stop != AGENT_STOP_ANSWER)
		return stand_by_first(loop, at, end, err);
	/* The correction repeats everything, so drop the first answer and our remark. */
	if (at + 2 < loop->conv.count)
		model_conversation_drop(&loop->conv, at, 2);
	return 0;
}
