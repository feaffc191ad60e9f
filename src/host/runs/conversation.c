/*
 * conversation.c - the driver of a run: starts it, steps it from the loop, and encodes its events.
 *
 * Runs in:  reckond's loop.
 * Reads:    text of a model, which it encodes as JSON.
 * Never:    waits for the agent, or keeps the model's key after passing it on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/host.h"
#include "host/about.h"
#include "languages/languages.h"

#define EVENT_MAX ((size_t)8 * 1024 * 1024)
#define RECORDS_MAX ((size_t)16 * 1024 * 1024) /* in an answer; the history has all */

static void push_text(struct run *run, const char *name, const char *text, size_t len)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	run_event_begin(&writer, &json, name);
	json_write_member_text(&writer, "text", text, len);
	run_event_end(run, &writer, name);
}

static void push_code(struct run *run, const struct driver_event *event)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	run_event_begin(&writer, &json, "code");
	json_write_member_uint(&writer, "call", event->call);
	json_write_member_text(&writer, "text", event->text, event->len);
	run_event_end(run, &writer, "code");
}

static void push_sealed(struct run *run, const char *object, size_t len)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	run_event_begin(&writer, &json, "sealed");
	json_write_key(&writer, "sealed");
	json_write_raw(&writer, object, len);
	run_event_end(run, &writer, "sealed");
}

static void push_begin(struct run *run)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	struct json_writer writer;

	run_event_begin(&writer, &json, "run");
	json_write_member_string(&writer, "id", run->id);
	json_write_member_string(&writer, "session", run->session_id);
	json_write_member_string(&writer, "model", run->model);
	run_event_end(run, &writer, "run");
}

static void push_turn(struct run *run)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	struct json_writer writer;

	run_event_begin(&writer, &json, "turn");
	outcome_write_usage(&writer, &run->driver.usage);
	run_event_end(run, &writer, "turn");
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
	case DRIVER_EVENT_SEALED:
		push_sealed(arg, event->text, event->len);
		return;
	case DRIVER_EVENT_TURN:
		push_turn(arg);
		return;
	case DRIVER_EVENT_CODE: /* the "cell" event later has the whole code */
		push_code(arg, event);
		return;
	}
}

/* ---- the driver ----------------------------------------------------------------------------- */

/* An agent_client_open_fn. The agent client passes only handles from this conversation. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	const struct run *run = arg;
	reckon_error error;
	uint64_t size;

	if (reckon_artifact_open(run->host->engine, handle, ret_fd, &size, &error) == RECKON_OK)
		return 0;
	return err_set(err, (enum err_code)error.code, "%s", error.message);
}

/* Entries are "NAME (12 bytes)", or only the name. */
static bool has_file(const struct run *run, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < run->file_count; i++)
		if (strncmp(run->files[i], name, len) == 0 &&
		    (run->files[i][len] == '\0' || strncmp(run->files[i] + len, " (", 2) == 0))
			return true;
	return false;
}

/*
 * An agent_client_look_fn. The workspace belongs to the session's thread, so the loop knows only
 * files that the run's own cells changed. In an existing session, a file may come from other cells.
 */
static char look(const char *name, void *arg)
{
	const struct run *run = arg;
	const struct outcome *outcome = &run->driver.outcome;

	for (size_t i = 0; i < outcome->file_count; i++)
		if (strcmp(outcome->files[i].path, name) == 0)
			return outcome->files[i].is_deleted ? AGENT_FILE_MISSING
							    : AGENT_FILE_THERE;
	if (has_file(run, name))
		return AGENT_FILE_THERE;
	return run->made_session && outcome->file_count < OUTCOME_FILES_MAX ? AGENT_FILE_MISSING
									    : AGENT_FILE_UNKNOWN;
}

static const struct driver_ops ops = {
	.event = on_event,
	.execute = run_cell_execute,
	.end = run_cell_end,
	.look = look,
	.open_output = open_output,
};

void run_driver_init(struct run *run)
{
	driver_init(&run->driver, &ops, run, RECORDS_MAX);
}

static void on_readable(unsigned ready, void *arg)
{
	struct run *run = arg;
	struct err err;

	(void)ready;
	run_act(run);
	switch (driver_step(&run->driver, &err)) {
	case DRIVER_WAITS:
	case DRIVER_RUNS:
		run_tell(run);
		break;
	case DRIVER_PARKED:
	case DRIVER_ENDED:
		run_end(run, run->driver.stop, run->driver.message);
		break;
	case DRIVER_FAILED:
		run_end(run, AGENT_STOP_FAILED, err.text);
		break;
	}
	about_end(run->host);
}

static int start(struct run *run, struct models_choice *choice, struct err *err)
{
	const struct host *host = run->host;
	struct agent_client_model model = {
		.settings = run->settings,
		.model = choice->model,
		.base_url = choice->base_url,
		.key = choice->key,
		.headers = choice->entry != NULL ? choice->entry->headers : NULL,
		.language = run->session->row.language,
		.tools = run->tools,
	};
	char path[600];

	model.settings.has_shell = language_shell() != NULL;
	agent_client_network(&model);
	(void)snprintf(path, sizeof(path), "%s/reckon-agent", host->place.libexec);
	if (driver_open(&run->driver, path, &model, err) < 0)
		return (int)err->code;
	if (run->load.len > 0) {
		if (driver_load(&run->driver, run->load.data, run->load.len, err) < 0)
			return (int)err->code;
		buf_done(&run->load);
		if (run->question.len == 0)
			return driver_continue(&run->driver, run->results,
					       run->result_count, err);
	}
	return driver_ask(&run->driver,
			  &(struct driver_question){
				  .text = buf_text(&run->question),
				  .len = run->question.len,
				  .files = (const char *const *)run->files,
				  .file_count = run->file_count,
			  }, err);
}

int run_ask(struct run *run, struct err *err)
{
	struct models_choice choice;
	int rc;

	if (run->session == NULL)
		return err_set(err, ERR_LOST, "the session is gone");
	/* The key is read only when it is needed. */
	if (run_model_choose(run->host, run->model, &choice, err) < 0)
		return (int)err->code;
	rc = start(run, &choice, err);
	models_choice_done(&choice);
	if (rc < 0 || loop_io_new(run->host->loop, driver_fd(&run->driver), on_readable, run,
				  &run->io, err) < 0)
		return (int)err->code;
	loop_io_want(run->io, LOOP_READ);
	run->state = RUN_ASKING;
	run->has_called_model = true;
	push_begin(run);
	run_tell(run);
	return 0;
}
