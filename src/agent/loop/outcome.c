/*
 * outcome.c - handles the result of a cell or page, and writes it for the model.
 *
 * Runs in:  reckon-agent.
 * Reads:    results of our parent, with output of hostile code.
 * Never:    interprets an output as anything but text.
 */
#include <stdio.h>
#include <string.h>

#include "agent/conversation/parked.h"
#include "agent/loop/step.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define COMMAND_SHOWN_MAX 200u
/* bytes of a page for each token of the window, which is a third of the window at most */
#define READING_SHARE 1u

/* The result of a cell or page, and how it compares with earlier ones. */
struct outcome {
	const struct kernel_item *text;
	bool failed, is_ok;
	uint64_t count; /* how often the same action had the same result, including now */
	uint64_t same;	/* AGENT_SAME_…, for a failure that the session counted */
};

static bool is_status(const struct kernel_item *status, const char *word)
{
	return status->len == strlen(word) && memcmp(status->data, word, status->len) == 0;
}

static bool is_silent(const struct kernel_item *text)
{
	static const char none[] = "(no output)";

	return text->len == 0 ||
	       (text->len == sizeof(none) - 1 && memcmp(text->data, none, text->len) == 0);
}

/* The length without the session's note about repetition, which differs each time. */
static size_t output_length(const struct kernel_item *text)
{
	static const char note[] = "note: repeated_execution";
	const char *at = memmem(text->data, text->len, note, sizeof(note) - 1);

	return at != NULL ? (size_t)(at - text->data) : text->len;
}

/*
 * The session counts failures; everything else is counted here. A failure that was already counted
 * in an earlier question does not end this one before the model got a hint.
 */
static void judge(struct loop *loop, const struct source *source, struct outcome *outcome,
		  struct loop_end *end)
{
	const struct kernel_item *text = outcome->text;
	const bool is_counted = outcome->count > 0;
	const char *line;
	size_t len;

	if (is_counted && (outcome->same & AGENT_SAME_ERROR) == 0)
		outcome->count = 0; /* the same code, but with another error */
	if (is_counted && outcome->count >= REPEAT_MAX && !loop->was_warned)
		outcome->count = 2;
	loop->was_warned |= is_counted && outcome->count > 0;
	if (!is_counted && !outcome->failed)
		outcome->count = repeat_note(&loop->repeats,
					     repeat_hash(buf_text(&source->code), source->code.len),
					     repeat_hash(text->data, output_length(text)),
					     is_silent(text));
	if (outcome->count < REPEAT_MAX)
		return;
	if (!outcome->failed) {
		loop_stop(end, AGENT_STOP_STUCK, "the model sent the same %s %u times, with the "
			  "same output", source->is_reading ? "request" : "code", REPEAT_MAX);
		return;
	}
	len = repeat_error_line(text->data, text->len, &line);
	loop_stop(end, AGENT_STOP_STUCK, "the model sent what had failed before %u times, and it "
		  "failed again%s%.*s", REPEAT_MAX, len > 0 ? ": " : "", (int)len, line);
}

/* Writes the result for the model: the output, and our remarks. */
static int write_shown(struct loop *loop, const struct model_call *call,
		       const struct source *source, const struct outcome *outcome, struct buf *ret,
		       struct err *err)
{
	static const char how[] = "\n[A cell of nothing but the words `reckon output …` in such a "
				  "mark shows what was left out.]";
	static const char mark[] = "reckon output ";
	const struct kernel_item *text = outcome->text;
	const struct repeat_failure failure = {
		.same = (unsigned)outcome->same,
		.code = &source->code,
		.code_before = &loop->failed_code,
	};

	if (call == NULL && buf_adds(ret, "Output:\n", err) < 0)
		return (int)err->code;
	if (buf_add(ret, text->data, text->len, err) < 0 ||
	    (text->len == 0 && buf_adds(ret, "(no output)", err) < 0))
		return (int)err->code;
	if (repeat_tell(outcome->failed ? REPEAT_FAILURE : REPEAT_SUCCESS, (unsigned)outcome->count,
			&failure, ret, err) < 0)
		return (int)err->code;
	/* A model with tools was told in the prompt; a model without is told when it needs it. */
	if (loop->conv.tool_count > 0 || loop->is_reading_explained ||
	    memmem(text->data, text->len, mark, sizeof(mark) - 1) == NULL)
		return 0;
	loop->is_reading_explained = true;
	return buf_adds(ret, how, err);
}

/* Appends the result in the link, as the model gets it; if end->over is set, the question ends. */
static int read_outcome(struct loop *loop, const struct model_call *call,
			const struct source *source, struct buf *shown, bool *ret_failed,
			struct loop_end *end, struct err *err)
{
	const struct link *link = loop->link;
	const struct kernel_item *status =
		agent_find(link->items, link->item_count, AGENT_TAG_STATUS);
	struct outcome outcome = {
		.text = agent_find(link->items, link->item_count, AGENT_TAG_TEXT),
		.count = agent_u64(link->items, link->item_count, AGENT_TAG_REPEAT, 0),
		.same = agent_u64(link->items, link->item_count, AGENT_TAG_SAME,
				  AGENT_SAME_ERROR),
	};
	bool was_refused;

	if (outcome.text == NULL || status == NULL)
		return err_set(err, ERR_PROTOCOL, "a result without text or status");
	was_refused = is_status(status, "refused");
	outcome.failed = !is_status(status, "ok") && !was_refused;
	judge(loop, source, &outcome, end);
	if (write_shown(loop, call, source, &outcome, shown, err) < 0)
		return (int)err->code;
	*ret_failed = outcome.failed || was_refused;
	buf_clear(&loop->failed_code);
	if (outcome.failed && buf_add(&loop->failed_code, buf_text(&source->code),
				      source->code.len, err) < 0)
		return (int)err->code;
	if (is_status(status, "lost"))
		loop_stop(end, AGENT_STOP_LOST, "%.*s", (int)outcome.text->len, outcome.text->data);
	if (link->interrupted)
		loop_stop(end, AGENT_STOP_INTERRUPTED, "%s", "");
	return 0;
}

/* Adds the result in the link to `results`. */
static int take_outcome(struct loop *loop, const struct model_call *call,
			const struct source *source, struct model_turn *results,
			struct loop_end *end, struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(AGENT_RESULT_MAX + WORDS_MAX);
	bool failed;

	if (read_outcome(loop, call, source, &shown, &failed, end, err) < 0 ||
	    model_turn_add_result(results, call, shown.data, shown.len, failed, err) < 0)
		return (int)err->code;
	parked_add_images(loop, results);
	return 0;
}

/* ---- reading again ---- */

/* Shows a result that was shortened here, without the parent. */
static int show_original(const struct loop *loop, const struct reading *reading, struct buf *ret,
			 struct err *err)
{
	const struct buf *whole = window_find(&loop->conv, reading->handle);
	struct page_choice choice;
	struct err why;

	if (whole == NULL || whole->len == 0)
		return buf_addf(ret, err, "Error: %s is kept no longer. Variables and files are: "
				"print again what you need.", reading->handle);
	reading_choice(reading, &choice);
	if (page_show(&choice, whole->data, whole->len, reading->handle, ret, &why) == 0)
		return 0;
	buf_clear(ret);
	return buf_addf(ret, err, "Error: %s", why.text);
}

int outcome_read(struct loop *loop, const struct model_call *call, struct source *source,
		 struct model_turn *results, struct loop_end *end, struct err *err)
{
	struct reading *reading = &source->reading;
	cleanup_buf struct buf page = BUF_INIT(AGENT_RESULT_MAX);
	struct kernel_item own[2] = { { AGENT_TAG_STATUS, 2, "ok" }, { AGENT_TAG_TEXT, 0, "" } };

	loop->readings++;
	reading->part.bytes_max = window_room(&loop->settings) * READING_SHARE;
	if (link_notice(loop->link, err, "reads %s again", reading->handle) < 0)
		return (int)err->code;
	if (strncmp(reading->handle, "result_", 7) != 0) {
		if (link_page(loop->link, reading->handle, &reading->part, reading->needle, err) <
		    0)
			return (int)err->code;
		return take_outcome(loop, call, source, results, end, err);
	}
	if (show_original(loop, reading, &page, err) < 0)
		return (int)err->code;
	own[1].data = buf_text(&page);
	own[1].len = (uint32_t)page.len;
	memcpy(loop->link->items, own, sizeof(own));
	loop->link->item_count = ARRAY_LEN(own);
	return take_outcome(loop, call, source, results, end, err);
}

int outcome_run(struct loop *loop, const struct model_call *call, struct source *source,
		struct model_turn *results, struct loop_end *end, struct err *err)
{
	if (link_execute(loop->link, buf_text(&source->code), source->code.len, err) < 0)
		return (int)err->code;
	loop->usage.steps++;
	return take_outcome(loop, call, source, results, end, err);
}

/* ---- commands ---- */

#define COMMANDS_TEXT_MAX (MODEL_TEXT_MAX / 2) /* for all commands of a call */

/* Names the command, if there are several. */
static int write_head(const struct commands *commands, size_t index, struct buf *ret,
		      struct err *err)
{
	const char *text = commands->texts[index];

	if (commands->count == 1)
		return 0;
	return buf_addf(ret, err, "%s$ %.*s\n", index > 0 ? "\n" : "",
			(int)strnlen(text, COMMAND_SHOWN_MAX), text);
}

/* Adds as much output as the model asked for, or as fits. */
static int add_shown(const struct commands *commands, const struct buf *shown, struct buf *ret,
		     struct err *err)
{
	const uint64_t share = COMMANDS_TEXT_MAX / commands->count;
	const uint64_t wanted = commands->output_max > 0 ? commands->output_max : share;
	const uint64_t most = wanted < share ? wanted : share;
	size_t len = shown->len;

	if (len <= most)
		return buf_add(ret, buf_text(shown), len, err);
	len = (size_t)most - utf8_incomplete_tail(shown->data, (size_t)most);
	return buf_add(ret, shown->data, len, err) < 0
		       ? (int)err->code
		       : buf_addf(ret, err, "\n[cut after %zu of %zu bytes]", len, shown->len);
}

static int run_command(struct loop *loop, const struct model_call *call,
		       const struct commands *commands, size_t index, struct buf *ret,
		       bool *ret_failed, struct loop_end *end, struct err *err)
{
	const struct agent_command command = { .index = index,
					       .count = commands->count,
					       .timeout_ms = commands->timeout_ms,
					       .output_max = commands->output_max };
	cleanup_buf struct buf whole = BUF_INIT(AGENT_ARGUMENTS_MAX);
	cleanup_buf struct buf shown = BUF_INIT(AGENT_RESULT_MAX + WORDS_MAX);
	struct source source = { .code = BUF_INIT(AGENT_CODE_MAX + 1) };
	int rc = buf_adds(&source.code, commands->texts[index], err);

	if (rc == 0 && (write_head(commands, index, ret, err) < 0 ||
			commands_describe(commands, index, &whole, err) < 0 ||
			link_command(loop->link, commands->texts[index], &command, &whole, err) <
				0))
		rc = (int)err->code;
	if (rc == 0) {
		loop->usage.steps++;
		rc = read_outcome(loop, call, &source, &shown, ret_failed, end, err);
	}
	buf_done(&source.code);
	return rc == 0 ? add_shown(commands, &shown, ret, err) : rc;
}

int outcome_commands(struct loop *loop, const struct model_call *call, struct source *source,
		     struct model_turn *results, struct loop_end *end, struct err *err)
{
	const struct commands *commands = &source->commands;
	const uint64_t max = loop->settings.steps_max;
	cleanup_buf struct buf text = BUF_INIT(MODEL_TEXT_MAX);
	bool has_failed = false;

	for (size_t i = 0; i < commands->count && !end->over; i++) {
		bool failed = false;

		if (i > 0 && loop->usage.steps >= max) {
			loop->out_of_steps = !loop->conversation.pauses;
			if (buf_addf(&text, err,
				     "\n[the other %zu commands were not run: the "
				     "limit of %llu for this question is reached]",
				     commands->count - i, (unsigned long long)max) < 0)
				return (int)err->code;
			break;
		}
		if (run_command(loop, call, commands, i, &text, &failed, end, err) < 0)
			return (int)err->code;
		has_failed = has_failed || failed;
	}
	return model_turn_add_result(results, call, buf_text(&text), text.len, has_failed, err);
}
