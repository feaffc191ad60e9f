/*
 * talk.c - the driver of a run: begun, stepped by the loop, ended; its events.
 *
 * Runs in:  reckond's loop.
 * Reads:    words of a model, which go out as JSON text.
 * Never:    waits for the agent, or keeps the key once it was told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/host.h"

#define EVENT_MAX ((size_t)8 * 1024 * 1024)
#define RECORDS_MAX ((size_t)16 * 1024 * 1024) /* in an answer; the rest is in the history */

/* ---- events --------------------------------------------------------------------------------- */

void inquiry_event_begin(struct json_writer *writer, struct buf *json, const char *name)
{
	json_write_init(writer, json);
	json_write_object_begin(writer);
	json_write_member_string(writer, "event", name);
}

void inquiry_event_end(struct inquiry *inquiry, struct json_writer *writer, const char *name)
{
	struct err err;

	json_write_object_end(writer);
	if (json_write_finish(writer, &err) == 0)
		ring_push(inquiry->ring, name, writer->out->data, writer->out->len);
	else
		log_line(LOG_WARN, "an event could not be told", "run=%s why=\"%s\"", inquiry->id,
			 err.text);
}

static void push_text(struct inquiry *inquiry, const char *name, const char *text, size_t len)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, name);
	json_write_member_text(&writer, "text", text, len);
	inquiry_event_end(inquiry, &writer, name);
}

static void push_code(struct inquiry *inquiry, const struct driver_event *event)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, "code");
	json_write_member_uint(&writer, "call", event->call);
	json_write_member_text(&writer, "text", event->text, event->len);
	inquiry_event_end(inquiry, &writer, "code");
}

static void push_begin(struct inquiry *inquiry)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, "run");
	json_write_member_string(&writer, "id", inquiry->id);
	json_write_member_string(&writer, "session", inquiry->session_id);
	json_write_member_string(&writer, "model", inquiry->model);
	inquiry_event_end(inquiry, &writer, "run");
}

static void push_turn(struct inquiry *inquiry)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, "turn");
	outcome_write_usage(&writer, &inquiry->driver.usage);
	inquiry_event_end(inquiry, &writer, "turn");
}

static void on_event(const struct driver_event *event, void *arg)
{
	switch (event->kind) {
	case DRIVER_EVENT_TEXT:
		push_text(arg, "text", event->text, event->len);
		return;
	case DRIVER_EVENT_THOUGHT:
		push_text(arg, "thought", event->text, event->len);
		return;
	case DRIVER_EVENT_NOTICE:
		push_text(arg, "notice", event->text, event->len);
		return;
	case DRIVER_EVENT_DISCARD:
		push_text(arg, "notice", event->text, event->len);
		push_text(arg, "discard", event->text, event->len);
		return;
	case DRIVER_EVENT_TURN:
		push_turn(arg);
		return;
	case DRIVER_EVENT_CODE: /* the cell tells all of it in a moment */
		push_code(arg, event);
		return;
	}
}

/* ---- the driver ----------------------------------------------------------------------------- */

/* A converse_open_fn: of this talk's cells alone. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	const struct inquiry *inquiry = arg;
	reckon_error error;
	uint64_t size;

	if (reckon_artifact_open(inquiry->host->engine, handle, ret_fd, &size, &error) == RECKON_OK)
		return 0;
	return err_set(err, (enum err_code)error.code, "%s", error.message);
}

static const struct driver_ops ops = {
	.event = on_event,
	.execute = inquiry_cell_execute,
	.end = inquiry_cell_end,
	.open_output = open_output,
};

void inquiry_driver_init(struct inquiry *inquiry)
{
	driver_init(&inquiry->driver, &ops, inquiry, RECORDS_MAX);
}

static void on_readable(unsigned ready, void *arg)
{
	struct inquiry *inquiry = arg;
	struct err err;

	(void)ready;
	inquiry_act(inquiry);
	switch (driver_step(&inquiry->driver, &err)) {
	case DRIVER_WAITS:
	case DRIVER_RUNS:
		inquiry_tell(inquiry);
		break;
	case DRIVER_PARKED:
	case DRIVER_ENDED:
		inquiry_end(inquiry, inquiry->driver.stop, inquiry->driver.message);
		break;
	case DRIVER_FAILED:
		inquiry_end(inquiry, AGENT_STOP_FAILED, err.text);
		break;
	}
	answer_end(inquiry->host);
}

static int start(struct inquiry *inquiry, struct models_choice *choice, struct err *err)
{
	const struct host *host = inquiry->host;
	struct converse_model model = {
		.settings = inquiry->settings,
		.model = choice->model,
		.base_url = choice->base_url,
		.key = choice->key,
		.headers = choice->entry != NULL ? choice->entry->headers : NULL,
		.language = inquiry->session->row.language,
	};
	char path[600];

	converse_network(&model);
	(void)snprintf(path, sizeof(path), "%s/reckon-agent", host->libexec);
	if (driver_open(&inquiry->driver, path, &model, err) < 0)
		return (int)err->code;
	if (inquiry->load.len > 0) {
		if (driver_load(&inquiry->driver, inquiry->load.data, inquiry->load.len, err) < 0)
			return (int)err->code;
		buf_done(&inquiry->load);
		if (inquiry->question.len == 0)
			return driver_continue(&inquiry->driver, inquiry->results,
					       inquiry->result_count, err);
	}
	return driver_ask(&inquiry->driver,
			  &(struct driver_question){
				  .text = buf_text(&inquiry->question),
				  .len = inquiry->question.len,
				  .files = (const char *const *)inquiry->files,
				  .file_count = inquiry->file_count,
			  }, err);
}

int inquiry_ask(struct inquiry *inquiry, struct err *err)
{
	struct models_choice choice;
	int rc;

	if (inquiry->session == NULL)
		return err_set(err, ERR_LOST, "the session is gone");
	/* The key is fetched when it is needed, and not before. */
	if (inquiry_model_choose(inquiry->host, inquiry->model, &choice, err) < 0)
		return (int)err->code;
	rc = start(inquiry, &choice, err);
	models_choice_done(&choice);
	if (rc < 0 || loop_io_new(inquiry->host->loop, driver_fd(&inquiry->driver), on_readable, inquiry,
				  &inquiry->io, err) < 0)
		return (int)err->code;
	loop_io_want(inquiry->io, LOOP_READ);
	inquiry->state = INQUIRY_ASKING;
	inquiry->was_asked = true;
	push_begin(inquiry);
	inquiry_tell(inquiry);
	return 0;
}

void inquiry_hang_up(struct inquiry *inquiry)
{
	loop_io_free(TAKE_PTR(inquiry->io));
	driver_close(&inquiry->driver);
}
