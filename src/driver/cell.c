/*
 * cell.c - a cell that the model requests: approval, execution, result.
 *
 * Runs in:  reckon ask, libreckon, reckond.
 * Reads:    code of a model, which goes to the box unchanged.
 * Never:    runs a cell without approval, or sends the model a result that the owner has not
 *           persisted.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "driver/driver.h"

#define GRACE_NS (UINT64_C(30) * 1000000000u)
#define NOTE_MAX ((size_t)65536)

static const char no_text[] = "This is not source code: it holds NUL, or bytes that are not UTF-8.";
static const char stopped[] = "The question was ended.";
static const char out_of_time[] = "The time for the question is over.";

static bool is_source(const struct kernel_item *code)
{
	return utf8_is_valid(code->data, code->len) && memchr(code->data, '\0', code->len) == NULL;
}

/* Returns NULL if the cell may run, else the reason. */
static const char *refusal(struct driver *driver, const struct driver_cell *cell)
{
	const char *why = NULL;

	if (driver->ops->approve != NULL)
		why = driver->ops->approve(cell, driver->arg);
	if (why == NULL && driver->ops->wants_stop != NULL && driver->ops->wants_stop(driver->arg))
		why = stopped;
	if (why == NULL && driver_left_ns(driver, clock_mono_ns()) == 0)
		why = out_of_time;
	return why != NULL || !driver->is_stopping ? why : stopped;
}

int driver_take_cell(struct driver *driver, const struct agent_client_frame *frame, struct err *err)
{
	const struct kernel_item *code = agent_find(frame->items, frame->count, AGENT_TAG_CODE);
	cleanup_buf struct buf call = BUF_INIT(AGENT_ARGUMENTS_MAX);
	struct driver_command command = { 0 };
	struct driver_cell cell = {
		.step = driver->step,
		.prose = buf_text(&driver->prose),
		.prose_len = driver->prose.len,
		.code = code->data,
		.len = code->len,
	};
	const int is_command = agent_client_read_command(frame, &command.limits, &call, err);
	const char *why;

	if (is_command < 0)
		return is_command;
	if (is_command == 1 && !driver->has_shell)
		return err_set(err, ERR_PROTOCOL, "reckon-agent: there is no shell");
	command.call = buf_text(&call);
	command.len = call.len;
	cell.command = is_command == 1 ? &command : NULL;
	driver->state = DRIVER_RUNNING;
	outcome_add_step(&driver->outcome, cell.prose, cell.prose_len, cell.code, cell.len);
	if (cell.command != NULL)
		outcome_set_command(&driver->outcome, command.call, command.len);
	if (driver->ops->begin != NULL)
		driver->ops->begin(&cell, driver->arg);
	buf_clear(&driver->prose);
	why = is_source(code) ? refusal(driver, &cell) : no_text;
	if (why != NULL)
		return driver_cell_refuse(driver, "refused", why, err);
	return driver->ops->execute(&cell, err, driver->arg);
}

/* Ends a cell: calls the owner first, because the agent may end the question after this. */
static int report(struct driver *driver, const struct agent_client_result *result, struct err *err)
{
	const uint64_t later = clock_mono_ns() + GRACE_NS;
	int rc = driver_tell_stop(driver, err);

	driver->step++;
	driver->state = DRIVER_THINKING;
	if (later > driver->deadline_ns)
		driver->deadline_ns = later;
	if (rc == 0)
		rc = agent_client_answer(driver->client, result, err);
	return rc;
}

static void settle(struct driver *driver, const struct driver_cell_end *end)
{
	outcome_end_step(&driver->outcome, end->status, end->execution, end->record);
	for (size_t i = 0; i < end->file_count; i++)
		outcome_add_file(&driver->outcome,
				 end->files[i].is_deleted ? "deleted" : "modified", &end->files[i]);
	if (driver->ops->end != NULL)
		driver->ops->end(end, driver->arg);
}

int driver_cell_refuse(struct driver *driver, const char *status, const char *why,
		       struct err *err)
{
	const struct driver_cell_end end = {
		.status = status,
		.result = { .status = status, .text = why, .len = strlen(why) },
	};

	if (driver->state != DRIVER_RUNNING)
		return err_set(err, ERR_INVALID, "no cell runs");
	settle(driver, &end);
	return report(driver, &end.result, err);
}

/* Shortens the output to make room for the note behind it. */
static void add_note(struct agent_client_result *result, const struct buf *note, struct buf *text)
{
	const size_t room = AGENT_RESULT_MAX - NOTE_MAX;
	size_t len = result->len;
	struct err full; /* always fits */

	if (len > room)
		len = room - utf8_incomplete_tail(result->text, room);
	(void)buf_add(text, result->text, len, &full);
	(void)buf_add(text, buf_text(note), note->len, &full);
	result->text = buf_text(text);
	result->len = text->len;
}

void driver_cell_begun(struct driver *driver, const char *execution)
{
	if (driver->state == DRIVER_RUNNING)
		outcome_begin_step(&driver->outcome, execution);
}

int driver_cell_done(struct driver *driver, const struct driver_cell_end *end, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(AGENT_RESULT_MAX), note = BUF_INIT(NOTE_MAX);
	enum driver_session session = DRIVER_SESSION_LIVE;
	struct agent_client_result result = end->result;

	if (driver->state != DRIVER_RUNNING)
		return err_set(err, ERR_INVALID, "no cell runs");
	settle(driver, end);
	if (driver->ops->session != NULL)
		session = driver->ops->session(&note, err, driver->arg);
	switch (session) {
	case DRIVER_SESSION_FAILED:
		return (int)err->code;
	case DRIVER_SESSION_NEW:
		add_note(&result, &note, &text);
		break;
	case DRIVER_SESSION_LOST:
		result = (struct agent_client_result){ .status = "lost",
						       .text = buf_text(&note),
						       .len = note.len };
		break;
	case DRIVER_SESSION_LIVE:
		break;
	}
	return report(driver, &result, err);
}
