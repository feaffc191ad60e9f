/*
 * step.c - one cell of the model: stores, shows, approves and runs it, and reports the result.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    code from the agent, which goes to the box unchanged; records.
 * Never:    runs anything outside the box, or without an approval that it needs.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/session/interrupt.h"
#include "codec/json_read.h"
#include "agent_client/record.h"

#define LOST_NOTE                                                                                \
	"\nThe session was lost, with its variables and the files made in it. A new one has "      \
	"begun, in which the person's files are again."

/* ---- before it runs ---- */

void ask_step_begin(const struct driver_cell *cell, void *arg)
{
	struct ask *ask = arg;
	const size_t number = ask_keep_cell(ask, cell);

	ask_status_clear(ask);
	ask_show_turn(ask);
	ask->view.number = ask->view.output.cell = number;
	ask->view.figures = 0;
	/* If the person must approve the cell at this terminal, ask_approval() shows the code. */
	if (!ask_needs_approval(ask) || !ask_shows_at_terminal(ask))
		ask_show_code(ask, cell->code, cell->len);
}

const char *ask_step_approve(const struct driver_cell *cell, void *arg)
{
	struct ask *ask = arg;

	if (!ask_needs_approval(ask))
		return NULL;
	switch (ask_approval(ask, cell->code, cell->len)) {
	case 'y':
		return NULL;
	case 'n':
		return "The person did not allow this cell to run. Take another way, or say what "
		       "you would need it for.";
	default:
		return "The person ended the session.";
	}
}

/* ---- after it ran ---- */

static int report(struct ask *ask, const struct buf *json, struct err *err)
{
	struct json_value *record = NULL;
	struct driver_cell_end end = { .record = buf_text(json) };
	int rc;

	if (json_read_parse(buf_text(json), json->len, RUN_JSON_MAX, &record, err) < 0)
		return err_wrap(err, "record");
	agent_client_result_read(record, &end.result);
	end.status = end.result.status;
	end.owner = record;
	rc = driver_cell_done(&ask->driver, &end, err);
	json_read_free(record);
	return rc;
}

void ask_step_end(const struct driver_cell_end *end, void *arg)
{
	struct ask *ask = arg;

	if (end->owner == NULL) {
		ask_keep_brief(ask, ask->view.number, "refused", end->result.text, end->result.len,
			       0);
		return;
	}
	ask_keep_record(ask, ask->view.number, end->record, &end->result);
	ask_show_record(ask, end->owner);
}

/* A new session is reported to the person, the stored run and the model. */
enum driver_session ask_step_session(struct buf *note, struct err *err, void *arg)
{
	struct ask *ask = arg;
	const int rc = ask_place_renew(ask, err);

	if (rc <= 0)
		return rc < 0 ? DRIVER_SESSION_FAILED : DRIVER_SESSION_LIVE;
	run_output_line("reckon: the session was lost, with its variables and the files made in "
			"it; a new one has begun");
	ask_keep_note(ask, "The session was lost; a new one has begun.");
	return buf_adds(note, LOST_NOTE, err) < 0 ? DRIVER_SESSION_FAILED : DRIVER_SESSION_NEW;
}

/* The session was gone before the cell could run. */
static int go_on_elsewhere(struct ask *ask, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	const struct err why = *err;

	if (buf_adds(&text, "This cell was not run.", err) < 0)
		return (int)err->code;
	switch (ask_step_session(&text, err, ask)) {
	case DRIVER_SESSION_NEW:
		return driver_cell_refuse(&ask->driver, "lost_session", buf_text(&text), err);
	case DRIVER_SESSION_LIVE: /* the session exists, so the first error stands */
		*err = why;
		return (int)err->code;
	case DRIVER_SESSION_LOST:
	case DRIVER_SESSION_FAILED:
		break;
	}
	return (int)err->code;
}

int ask_step_execute(const struct driver_cell *cell, struct err *err, void *arg)
{
	cleanup_buf struct buf record = BUF_INIT(RUN_JSON_MAX);
	struct ask *ask = arg;
	int rc;

	ask_status_cell(ask);
	rc = ask_place_execute(ask, cell->code, cell->len, &record, err);
	ask_status_clear(ask);

	if (rc == ERR_LOST)
		return go_on_elsewhere(ask, err);
	if (rc == ERR_TIMEOUT && interrupt_is_late() && interrupt_count() == 0)
		return driver_cell_refuse(&ask->driver, "refused",
					  "Not run: the time for the question is over.", err);
	return rc < 0 ? rc : report(ask, &record, err);
}
