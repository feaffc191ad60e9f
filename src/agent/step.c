/*
 * step.c - what an answer of the model wants to have run, and what came of it.
 *
 * Runs in:  reckon-agent.
 * Reads:    calls, blocks and objects that a model wrote.
 * Never:    runs anything itself: it asks its parent, which asks the person where that was wished.
 */
#include <stdio.h>
#include <string.h>

#include "agent/fenced.h"
#include "agent/loop.h"
#include "base/cleanup.h"
#include "codec/json_read.h"

#define NOTE_MAX 512u

/* Source code, or why there is none. */
struct source {
	struct buf code;
	char problem[NOTE_MAX]; /* for the model; "" when there is code */
};

static void source_init(struct source *source)
{
	source->code = BUF_INIT(AGENT_CODE_MAX);
	source->problem[0] = '\0';
}

static void complain(struct source *source, const char *text)
{
	(void)snprintf(source->problem, sizeof(source->problem), "%s", text);
}

/* The argument `code`; else the only text there is, whatever the model called it. */
static const char *find_code(const struct json_value *args, size_t *ret_len)
{
	const char *text = json_read_text(json_read_member(args, "code"), ret_len), *key, *only;
	const struct json_value *value;
	size_t texts = 0;

	for (size_t i = 0; text == NULL && json_read_member_at(args, i, &key, &value); i++) {
		size_t len;

		only = json_read_text(value, &len);
		if (only == NULL)
			continue;
		texts++;
		text = only;
		*ret_len = len;
	}
	return texts > 1 ? NULL : text;
}

static int set_code(struct source *source, const char *code, size_t len, const char *language,
		    struct err *err)
{
	struct fenced block;

	/* Some wrap even an argument into a fence. */
	if (fenced_find(code, len, language, &block) && block.start == 0 && block.end == len) {
		code += block.code;
		len = block.code_len;
	}
	if (len == 0)
		complain(source, "Error: there was no code in this call; put it into \"code\".");
	else if (memchr(code, '\0', len) != NULL)
		complain(source, "Error: the code holds a NUL character; write it as \\x00.");
	else if (len > AGENT_CODE_MAX)
		complain(source, "Error: the code is too long; write it in smaller cells.");
	else
		return buf_add(&source->code, code, len, err);
	return 0;
}

static int source_of_call(const struct loop *loop, const struct model_turn *turn,
			  const struct model_call *call, struct source *source, struct err *err)
{
	struct json_value *args = NULL;
	const char *code;
	size_t len = 0;
	int rc = 0;

	if (call->too_long) {
		complain(source, "Error: the code is too long; write it in smaller cells.");
		return 0;
	}
	if (turn->stop == MODEL_STOP_LENGTH && call == &turn->calls[turn->call_count - 1]) {
		complain(source, "Error: your answer was cut at its length limit, so this was not "
				 "run; write it in smaller cells.");
		return 0;
	}
	if (json_read_parse(buf_text(&call->args), call->args.len, MODEL_BLOB_MAX, &args, err) < 0)
		return (int)err->code;
	code = find_code(args, &len);
	if (code == NULL)
		complain(source, "Error: the arguments must be an object with the one text "
				 "\"code\".");
	else
		rc = set_code(source, code, len, loop->language, err);
	json_read_free(args);
	return rc;
}

/* Runs it and notes what it gave in `results`; with end->over nothing more is to be done. */
static int execute(struct loop *loop, const struct model_call *call, const struct source *source,
		   struct model_turn *results, struct loop_end *end, struct err *err)
{
	struct link *link = loop->link;
	const struct kernel_item *text, *status;
	cleanup_buf struct buf shown = BUF_INIT(AGENT_RESULT_MAX + NOTE_MAX);
	bool failed;

	if (link_execute(link, source->code.data, source->code.len, err) < 0)
		return (int)err->code;
	loop->usage.steps++;
	text = agent_find(link->items, link->item_count, AGENT_TAG_TEXT);
	status = agent_find(link->items, link->item_count, AGENT_TAG_STATUS);
	if (text == NULL || status == NULL)
		return err_set(err, ERR_PROTOCOL, "a result without text or status");
	failed = status->len != 2 || memcmp(status->data, "ok", 2) != 0;
	if (call == NULL && buf_adds(&shown, "Output:\n", err) < 0)
		return (int)err->code;
	if (buf_add(&shown, text->data, text->len, err) < 0)
		return (int)err->code;
	if (text->len == 0 && buf_adds(&shown, "(no output)", err) < 0)
		return (int)err->code;
	if (model_turn_add_result(results, call, shown.data, shown.len, failed, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < link->item_count; i++) {
		const struct kernel_item *image = &link->items[i];
		const char *nul = image->tag == AGENT_TAG_IMAGE
					  ? memchr(image->data, '\0', image->len)
					  : NULL;
		struct err full; /* one image more than a turn may have: it is left out */

		if (nul == NULL || loop->settings.images == 0 || loop->no_images)
			continue;
		(void)model_turn_add_image(results, image->data, nul + 1,
					   image->len - (size_t)(nul + 1 - image->data), &full);
	}
	if (agent_u64(link->items, link->item_count, AGENT_TAG_REPEAT, 0) >= STUCK_MAX)
		loop_stop(end, AGENT_STOP_STUCK, "the model sent what had failed before %u times, "
			  "and it failed again", STUCK_MAX);
	if (status->len == 4 && memcmp(status->data, "lost", 4) == 0)
		loop_stop(end, AGENT_STOP_LOST, "%.*s", (int)text->len, text->data);
	if (link->interrupted)
		loop_stop(end, AGENT_STOP_INTERRUPTED, "%s", "");
	return 0;
}

/* One cell, or what is said instead of its output. */
static int one(struct loop *loop, const struct model_call *call, const struct source *source,
	       struct model_turn *results, struct loop_end *end, struct err *err)
{
	const char *note = source->problem;
	char limit[NOTE_MAX];

	if (note[0] == '\0' && loop->usage.steps < loop->settings.steps_max) {
		loop->calls_refused = 0;
		return execute(loop, call, source, results, end, err);
	}
	if (note[0] == '\0') {
		(void)snprintf(limit, sizeof(limit),
			       "Not run: the limit of %llu cells for this question is reached. "
			       "Answer now, with what you know, without running more.",
			       (unsigned long long)loop->settings.steps_max);
		note = limit;
		loop->out_of_steps = true;
	} else if (++loop->calls_refused >= STUCK_MAX) {
		loop_stop(end, AGENT_STOP_STUCK, "the model sent %u calls in a row that hold no "
			  "code: %s", STUCK_MAX, note);
	}
	return model_turn_add_result(results, call, note, strlen(note), true, err);
}

static int take_calls(struct loop *loop, struct loop_end *end, struct err *err)
{
	const struct model_turn *turn = loop->talk.turns[loop->talk.count - 1];
	struct model_turn *results = model_talk_add(&loop->talk, MODEL_ROLE_RESULTS);

	for (size_t i = 0; i < turn->call_count; i++) {
		struct source source;
		int rc;

		source_init(&source);
		/* Each call has its result, also when the talk goes on another day. */
		rc = end->over ? model_turn_add_result(results, &turn->calls[i], "Not run.", 8,
						       true, err)
			       : source_of_call(loop, turn, &turn->calls[i], &source, err);
		if (rc == 0 && !end->over)
			rc = one(loop, &turn->calls[i], &source, results, end, err);
		buf_done(&source.code);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The block, without what the model made up about its output behind it. */
static int take_block(struct loop *loop, struct model_turn *turn, bool *ret_ran,
		      struct loop_end *end, struct err *err)
{
	struct model_turn *results;
	struct source source;
	struct fenced block;
	int rc = 0;

	*ret_ran = fenced_find(buf_text(&turn->text), turn->text.len, loop->language, &block);
	if (!*ret_ran)
		return 0;
	source_init(&source);
	if (!block.complete && turn->stop == MODEL_STOP_LENGTH)
		complain(&source, "Your answer was cut at its length limit, so the code was not "
				  "run. Write it in smaller blocks.");
	else
		rc = set_code(&source, turn->text.data + block.code, block.code_len,
			      loop->language, err);
	turn->text.len = block.end;
	turn->text.data[block.end] = '\0';
	buf_clear(&turn->blob); /* it holds the text as it was */
	results = model_talk_add(&loop->talk, MODEL_ROLE_RESULTS);
	if (rc == 0)
		rc = one(loop, NULL, &source, results, end, err);
	buf_done(&source.code);
	return rc;
}

/* {"action", "content"}. What is none is an answer in the model's own words. */
static int take_object(struct loop *loop, struct model_turn *turn, bool *ret_ran,
		       struct loop_end *end, struct err *err)
{
	struct json_value *object = NULL;
	const char *action, *content;
	struct source source;
	struct err why;
	size_t len = 0;
	int rc = 0;

	*ret_ran = false;
	if (json_read_parse(buf_text(&turn->text), turn->text.len, MODEL_TEXT_MAX, &object, &why) < 0)
		return link_text(loop->link, AGENT_TEXT, buf_text(&turn->text), turn->text.len, err);
	action = json_read_text(json_read_member(object, "action"), NULL);
	content = json_read_text(json_read_member(object, "content"), &len);
	*ret_ran = action != NULL && strcmp(action, "run") == 0;
	source_init(&source);
	if (*ret_ran) {
		rc = set_code(&source, content != NULL ? content : "", len, loop->language, err);
		if (rc == 0)
			rc = one(loop, NULL, &source,
				 model_talk_add(&loop->talk, MODEL_ROLE_RESULTS), end, err);
	} else if (content != NULL) {
		rc = buf_add(&loop->answer, content, len, err);
		if (rc == 0)
			rc = link_text(loop->link, AGENT_TEXT, content, len, err);
	}
	buf_done(&source.code);
	json_read_free(object);
	return rc;
}

int step_take(struct loop *loop, struct loop_end *end, bool *ret_ran, struct err *err)
{
	struct model_turn *turn = loop->talk.turns[loop->talk.count - 1];

	switch (loop->settings.calling) {
	case AGENT_CALLING_FENCED:
		return take_block(loop, turn, ret_ran, end, err);
	case AGENT_CALLING_SCHEMA:
		return take_object(loop, turn, ret_ran, end, err);
	default:
		*ret_ran = turn->call_count > 0;
		return *ret_ran ? take_calls(loop, end, err) : 0;
	}
}
