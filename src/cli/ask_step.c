/*
 * ask_step.c - a cell the model wants: approved, run, reported back.
 *
 * Runs in:  reckon ask.
 * Reads:    code from the agent, which goes to the box as it is; records.
 * Never:    runs anything outside the box, or without an approval that it needs.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "codec/json_read.h"
#include "converse/record.h"

#define LOST_NOTE                                                                                \
	"\nThe session was lost, with its variables and the files made in it. A new one has "      \
	"begun, in which the person's files are again."

/* ---- what goes back ---- */

static int send_result(struct ask *ask, const struct converse_result *result, struct err *err)
{
	/* What the person wants comes first: the agent then ends after this cell. */
	if (ask_interrupts() > 0 && converse_interrupt(ask->talk, err) < 0)
		return (int)err->code;
	return converse_answer(ask->talk, result, err);
}

static int refuse(struct ask *ask, size_t number, const char *why, struct err *err)
{
	const struct converse_result result = { .status = "refused", .text = why,
						.len = strlen(why) };

	ask_keep_brief(ask, number, result.status, why, result.len, 0);
	return send_result(ask, &result, err);
}

/* Loudly: the person, the run and the model are told. */
static int replace_session(struct ask *ask, struct buf *text, struct err *err)
{
	const int rc = ask->place->renew(ask, err);

	if (rc <= 0)
		return rc;
	run_output_line("reckon: the session was lost, with its variables and the files made in "
			"it; a new one has begun");
	ask_keep_note(ask, "The session was lost; a new one has begun.");
	return buf_adds(text, LOST_NOTE, err);
}

static int report(struct ask *ask, size_t number, const struct buf *json, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RUN_JSON_MAX);
	struct json_value *record = NULL;
	struct converse_result result;
	int rc;

	if (json_read_parse(buf_text(json), json->len, RUN_JSON_MAX, &record, err) < 0)
		return err_wrap(err, "record");
	converse_result_read(record, &result);
	ask_keep_record(ask, number, buf_text(json), &result);
	ask_show_record(ask, record);
	rc = buf_add(&text, result.text, result.len, err);
	if (rc == 0)
		rc = replace_session(ask, &text, err);
	result.text = buf_text(&text);
	result.len = text.len;
	if (rc == 0)
		rc = send_result(ask, &result, err);
	json_read_free(record);
	return rc;
}

/* The session was gone before the cell could run. */
static int go_on_elsewhere(struct ask *ask, size_t number, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RUN_JSON_MAX);
	struct converse_result result = { .status = "lost_session" };
	struct err why = *err;

	if (buf_adds(&text, "This cell was not run.", err) < 0 ||
	    replace_session(ask, &text, err) < 0)
		return (int)err->code;
	if (strstr(buf_text(&text), LOST_NOTE) == NULL) { /* it is there: that was not it */
		*err = why;
		return (int)err->code;
	}
	result.text = buf_text(&text);
	result.len = text.len;
	ask_keep_brief(ask, number, "refused", result.text, result.len, 0);
	return send_result(ask, &result, err);
}

static int execute(struct ask *ask, size_t number, const struct kernel_item *code,
		   struct err *err)
{
	cleanup_buf struct buf record = BUF_INIT(RUN_JSON_MAX);
	const int rc = ask->place->execute(ask, code->data, code->len, &record, err);

	if (rc == ERR_LOST)
		return go_on_elsewhere(ask, number, err);
	return rc < 0 ? rc : report(ask, number, &record, err);
}

int ask_step(struct ask *ask, struct err *err)
{
	const struct kernel_item *code =
		agent_find(ask->frame.items, ask->frame.count, AGENT_TAG_CODE);
	const size_t number = ask_keep_cell(ask, code->data, code->len);
	struct err why;

	ask_show_turn(ask);
	ask->view.number = ask->view.output.cell = number;
	ask->view.figures = 0;
	/* What is asked for is shown with the question. */
	if (!ask_needs_approval(ask) || !ask_shows_at_terminal(ask))
		ask_show_code(ask, code->data, code->len);
	if (run_input_check_source(code->data, code->len, &why) < 0)
		return refuse(ask, number, why.text, err);
	if (!ask_needs_approval(ask))
		return execute(ask, number, code, err);
	switch (ask_approval(ask, code->data, code->len)) {
	case 'y':
		return execute(ask, number, code, err);
	case 'n':
		return refuse(ask, number,
			      "The person did not allow this cell to run. Take another way, or "
			      "say what you would need it for.", err);
	default:
		return refuse(ask, number, "The person ended the session.", err);
	}
}
