/*
 * cell.c - runs one cell, and sends its outputs and requests for input as messages.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of any client; events of hostile programs, as JSON that libreckon wrote.
 * Never:    sends idle before all outputs of the cell, or uses an answer for a later question.
 *
 *   cell ──▶ events of its execution ──▶ stream, display_data, … ──▶ execute_reply ──▶ idle
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/jupyter/jupyter.h"
#include "dialects/jupyter/server.h"

#define TEXT_FRAME_MAX 1000000u /* the limit of Python clients */
#define WAIT_MS (24u * 3600u * 1000u) /* how long a cell waits for a line of input */

/* ---- outputs -------------------------------------------------------------------------------- */

/* Replaces an output for which some clients would close the connection. */
static int send_notice(const struct cell *cell, size_t len)
{
	char text[160];

	(void)snprintf(text, sizeof(text), "[an output of %zu bytes was left out]\n", len);
	return channels_complain(cell->channels, cell->frame, text);
}

static int send_event(struct cell *cell, const char *name, const struct json_value *event)
{
	struct channels *channels = cell->channels;
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	struct err err;

	if (cell->silent && strcmp(name, "execute_result") == 0)
		return 0;
	if (strcmp(name, "error") == 0) {
		cell->has_error = true;
		channels_fail(channels);
	}
	if (!jupyter_content(name, event, cell->number, &content, &err))
		return 0;
	if (!channels->is_binary && content.len > TEXT_FRAME_MAX)
		return send_notice(cell, content.len);
	return channels_send(channels, "iopub", name, cell->frame, &content);
}

/* ---- input ---------------------------------------------------------------------------------- */

/* Asks the client that started the cell for a line of input. */
static int ask(struct cell *cell, const struct json_value *event)
{
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	const char *prompt;
	struct json_writer json;
	bool is_secret = false;
	int64_t number = 0;
	size_t len = 0;
	struct err err;

	prompt = json_read_text(json_read_member(event, "prompt"), &len);
	(void)json_read_bool(json_read_member(event, "password"), &is_secret);
	(void)json_read_int(json_read_member(event, "seq"), &number);
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_text(&json, "prompt", prompt != NULL ? prompt : "", len);
	json_write_member_bool(&json, "password", is_secret);
	json_write_object_end(&json);
	if (number <= 0 || json_write_finish(&json, &err) < 0)
		return 0;
	cell->question = (uint64_t)number;
	return channels_send(cell->channels, "stdin", "input_request", cell->frame, &content);
}

/* Keeps the record of `done` for the reply. */
static int take_event(struct cell *cell, const struct api_event *event)
{
	struct json_value *parsed;
	cleanup_buf struct buf record = BUF_INIT(ANSWER_MAX);
	struct err err;
	int sent = 0;

	if (json_read_parse(event->data.data, event->data.len, ANSWER_MAX, &parsed, &err) < 0)
		return 0;
	if (strcmp(event->name, "input_request") == 0)
		sent = ask(cell, parsed);
	else if (strcmp(event->name, "done") != 0)
		sent = send_event(cell, event->name, parsed);
	else if (json_read_dump(json_read_member(parsed, "record"), &record, &err) == 0 &&
		 cell->record == NULL)
		(void)json_read_parse(record.data, record.len, ANSWER_MAX, &cell->record, &err);
	json_read_free(parsed);
	return sent;
}

/* ---- a cell --------------------------------------------------------------------------------- */

static int follow(struct cell *cell)
{
	struct channels *channels = cell->channels;
	struct api_execution_events_in in = { .session = channels->kernel.session,
					      .execution = cell->execution };
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;

	events_open(&reader, channels->request, API_EXECUTION_EVENTS, &in);
	events_go_on(&reader);
	for (;;) {
		int code = 0;

		switch (events_next(&reader, EVENTS_POLL, &call, &next)) {
		case EVENT_GONE:
			return -1;
		case EVENT_NEXT:
			code = take_event(cell, &next.event);
			break;
		case EVENT_QUIET:
			code = channels_wait_during_cell(channels);
			break;
		case EVENT_GAP:
			break;
		case EVENT_FAILED:
			(void)snprintf(cell->why, sizeof(cell->why), "%s", next.failure->message);
			return 0;
		case EVENT_END:
			return 0;
		}
		if (code < 0)
			return -1;
	}
}

static const char *status_of(const struct cell *cell)
{
	const char *status = json_read_text(json_read_member(cell->record, "status"), NULL);

	return status != NULL ? status : "";
}

static void write_outcome(struct json_writer *json, const struct cell *cell)
{
	if (cell->record != NULL) {
		jupyter_write_failure(json, cell->record);
		return;
	}
	json_write_member_string(json, "ename", "KernelDied");
	json_write_member_string(json, "evalue", cell->why);
	jupyter_write_value(json, "traceback", NULL, "[]");
}

/* Sends the error, if no event had it. */
static int send_failure(const struct cell *cell)
{
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	struct json_writer json;
	struct err err;

	channels_fail(cell->channels);
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	write_outcome(&json, cell);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? 0
						  : channels_send(cell->channels, "iopub", "error",
								  cell->frame, &content);
}

/* Runs the expression as a cell, and writes its result. Negative: the connection ends. */
static int write_expression(const struct cell *cell, struct json_writer *json, const char *code,
			    size_t len)
{
	const struct kernel_ref *kernel = &cell->channels->kernel;
	struct cell expression = { .channels = cell->channels };
	cleanup_call struct call call = CALL_INIT;
	struct api_execute_out out;
	struct err err;
	const enum call_status status =
		call_make(cell->channels->request, API_EXECUTE,
			  &(struct api_execute_in){ .session = kernel->session,
						    .context = kernels_context(kernel),
						    .code = { code, len } },
			  &out, &call);

	if (status == CALL_GONE)
		return -1;
	if (status == CALL_OK)
		(void)json_read_parse(out.record.data, out.record.len, ANSWER_MAX,
				      &expression.record, &err);
	else
		(void)snprintf(expression.why, sizeof(expression.why), "%s", call.failure->message);
	json_write_object_begin(json);
	if (strcmp(status_of(&expression), "ok") == 0) {
		json_write_member_string(json, "status", "ok");
		jupyter_write_bundle(json, json_read_at(json_read_member(expression.record,
									 "results"), 0));
	} else {
		json_write_member_string(json, "status", "error");
		write_outcome(json, &expression);
	}
	json_write_object_end(json);
	json_read_free(expression.record);
	return 0;
}

static int write_expressions(const struct cell *cell, struct json_writer *json)
{
	const struct json_value *wanted = json_read_member(cell->frame->body, "user_expressions");
	const struct json_value *value;
	const char *name, *code;
	size_t len;

	json_write_key(json, "user_expressions");
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(wanted, i, &name, &value); i++) {
		json_write_key(json, name);
		code = jupyter_expression_code(json, i, value, &len);
		if (code != NULL && write_expression(cell, json, code, len) < 0)
			return -1;
	}
	json_write_object_end(json);
	return 0;
}

static int send_reply(const struct cell *cell, const char *status)
{
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	const bool is_good = strcmp(status, "ok") == 0;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", status);
	json_write_member_uint(&json, "execution_count", cell->number);
	if (strcmp(status, "error") == 0)
		write_outcome(&json, cell);
	if (is_good && write_expressions(cell, &json) < 0)
		return -1;
	jupyter_write_value(&json, "payload", NULL, "[]");
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : channels_send(cell->channels, cell->frame->channel, "execute_reply",
				       cell->frame, &content);
}

static int send_input(const struct cell *cell, const char *code, size_t len)
{
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", code, len);
	json_write_member_uint(&json, "execution_count", cell->number);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : channels_send(cell->channels, "iopub", "execute_input", cell->frame,
				       &content);
}

static int start(struct cell *cell, const char *code, size_t len)
{
	const struct kernel_ref *kernel = &cell->channels->kernel;
	cleanup_call struct call call = CALL_INIT;
	struct api_execute_out out;
	const enum call_status status =
		call_make(cell->channels->request, API_EXECUTE,
			  &(struct api_execute_in){ .session = kernel->session,
						    .context = kernels_context(kernel),
						    .code = { code, len },
						    .has_stream = true,
						    .stream = true,
						    .has_allow_input = cell->may_ask,
						    .allow_input = cell->may_ask,
						    .has_wait_ms = cell->may_ask,
						    .wait_ms = WAIT_MS },
			  &out, &call);

	if (status == CALL_GONE)
		return -1;
	if (status == CALL_OK && out.execution != NULL)
		(void)snprintf(cell->execution, sizeof(cell->execution), "%s", out.execution->id);
	else
		(void)snprintf(cell->why, sizeof(cell->why), "%s",
			       status == CALL_FAILED ? call.failure->message : "it did not begin");
	return 0;
}

static bool is_blank(const char *code, size_t len)
{
	return strspn(code, " \t\r\n") >= len;
}

/* Gives the cell the next number, and adds it to the history. A blank or silent cell, or one that
 * must not be stored, keeps the last number. */
static void number(struct cell *cell, const char *code, size_t len)
{
	struct clients *clients = cell->channels->clients;

	cell->number = clients->cells;
	if (is_blank(code, len) || cell->silent || !frame_flag(cell->frame, "store_history", true))
		return;
	cell->number = ++clients->cells;
	jupyter_history_add(&clients->history, cell->number, code, len);
}

/* Whether the kernel died in this cell. A cell that ran to its end only reports an earlier loss. */
static bool has_lost_kernel(const struct cell *cell)
{
	const struct json_value *diagnostics = json_read_member(cell->record, "diagnostics");
	const char *status = status_of(cell);

	if (strcmp(status, "ok") == 0 || strcmp(status, "error") == 0)
		return false;
	for (size_t i = 0; i < json_read_count(diagnostics); i++) {
		const char *code = json_read_text(
			json_read_member(json_read_at(diagnostics, i), "code"), NULL);

		if (code != NULL && strcmp(code, "kernel_lost") == 0)
			return true;
	}
	return false;
}

/* Cells that wait must also not run in a kernel that was restarted. */
static bool is_to_abort(struct channels *channels, bool has_failed)
{
	if (channels->was_restarted)
		channels_fail(channels);
	return channels->was_restarted || has_failed;
}

int cell_run(struct channels *channels, const struct frame *frame)
{
	struct cell cell = { .channels = channels,
			     .frame = frame,
			     .silent = frame_flag(frame, "silent", false),
			     .may_ask = frame_flag(frame, "allow_stdin", false) };
	size_t len;
	const char *code = frame_text(frame, "code", &len);
	const bool runs = !is_blank(code, len);
	bool is_good;
	int sent;

	channels->was_restarted = false;
	number(&cell, code, len);
	sent = channels_status(channels, frame, "busy");
	if (sent == 0 && !cell.silent)
		sent = send_input(&cell, code, len);
	if (sent == 0 && runs)
		sent = start(&cell, code, len);
	channels->cell = &cell;
	if (sent == 0 && cell.execution[0] != '\0')
		sent = follow(&cell);
	channels->cell = NULL;
	is_good = !runs || strcmp(status_of(&cell), "ok") == 0;
	if (sent == 0 && !is_good && !cell.has_error)
		sent = send_failure(&cell);
	if (sent == 0)
		sent = send_reply(&cell, is_good ? "ok" : "error");
	if (sent == 0)
		sent = channels_status(channels, frame, "idle");
	/* After all messages of the cell, because clients reset when they receive this. */
	if (sent == 0 && has_lost_kernel(&cell))
		clients_died(channels->clients->kernel);
	json_read_free(cell.record);
	if (sent < 0)
		return -1;
	return is_to_abort(channels, !is_good && frame_flag(frame, "stop_on_error", true));
}

int cell_abort(struct channels *channels, const struct frame *frame)
{
	const struct cell cell = { .channels = channels,
				   .frame = frame,
				   .number = channels->clients->cells };

	if (channels_status(channels, frame, "busy") < 0 || send_reply(&cell, "aborted") < 0 ||
	    channels_status(channels, frame, "idle") < 0)
		return -1;
	return 0;
}
