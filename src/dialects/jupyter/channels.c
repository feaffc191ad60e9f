/*
 * channels.c - the WebSocket of a kernel: cells one after the other, and what is asked beside them.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of anybody; events of hostile programs, as JSON that libreckon wrote.
 * Never:    says idle before all that a cell gave was said, or reads ahead without a bound.
 *
 *   message ──▶ control: at once          shell: when nothing runs, else it waits in a queue
 *   cell ──▶ events of its execution ──▶ stream, display_data, … ──▶ execute_reply ──▶ idle
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jupyter.h"
#include "dialects/jupyter/server.h"

#define WAITING_MAX 256u
#define WAITING_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define TEXT_FRAME_MAX 1000000u /* Python's clients take no more */
#define CLOSE_DONE 1000u
#define CLOSE_TOO_MUCH 1009u
#define BUSY_MS 20000u /* a sign of life for clients that wait for one */
#define EXECUTE "execute_request"

static const char *const protocols[] = { "v1.kernel.websocket.jupyter.org", NULL };

/* Messages that came while a cell ran. */
struct waiting {
	struct frame *frames;
	size_t first, count, bytes;
};

struct cell {
	struct channels *channels;
	const struct frame *frame;
	char execution[64];
	bool silent, has_error;
	struct json_value *record; /* NULL: it has not ended, or has none */
	char why[256];		   /* of one that has none */
};

/* ---- sending -------------------------------------------------------------------------------- */

static int write_header(struct channels *channels, const char *type, char ret_id[64],
			struct buf *ret, struct err *err)
{
	struct json_writer json;
	char date[40];

	(void)snprintf(ret_id, 64, "%s_%llu", channels->id,
		       (unsigned long long)++channels->messages);
	clock_rfc3339_now(date);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "msg_id", ret_id);
	json_write_member_string(&json, "msg_type", type);
	json_write_member_string(&json, "username", "reckon");
	json_write_member_string(&json, "session", channels->id);
	json_write_member_string(&json, "date", date);
	json_write_member_string(&json, "version", "5.4");
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int channels_send(struct channels *channels, const char *channel, const char *type,
		  const struct frame *parent, const struct buf *content)
{
	cleanup_buf struct buf header = BUF_INIT(4096), bytes = BUF_INIT(2 * FRAME_MAX);
	char id[64];
	struct frame_out out = { .channel = channel,
				 .id = id,
				 .type = type,
				 .parent = { "{}", 2 },
				 .content = { buf_text(content), content->len } };
	struct err err;

	if (write_header(channels, type, id, &header, &err) < 0)
		return 0;
	out.header = (struct frame_part){ header.data, header.len };
	if (parent != NULL)
		out.parent = (struct frame_part){ parent->header_text.data,
						  parent->header_text.len };
	if ((channels->is_binary ? frame_write_binary(&out, &bytes, &err)
				 : frame_write_text(&out, &bytes, &err)) < 0)
		return 0; /* too long to be said */
	return websocket_send(channels->request,
			      channels->is_binary ? WEBSOCKET_BINARY : WEBSOCKET_TEXT, bytes.data,
			      bytes.len);
}

int channels_status(struct channels *channels, const struct frame *parent, const char *state)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "execution_state", state);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : channels_send(channels, "iopub", "status", parent, &content);
}

/* ---- what a cell gives ---------------------------------------------------------------------- */

/* Instead of what some clients would close the connection at. */
static int send_notice(const struct cell *cell, size_t len)
{
	cleanup_buf struct buf content = BUF_INIT(1024);
	struct json_writer json;
	char text[160];
	struct err err;

	(void)snprintf(text, sizeof(text), "[an output of %zu bytes was left out]\n", len);
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "name", "stderr");
	json_write_member_string(&json, "text", text);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? 0
						  : channels_send(cell->channels, "iopub", "stream",
								  cell->frame, &content);
}

static int send_event(struct cell *cell, const char *name, const struct json_value *event)
{
	struct channels *channels = cell->channels;
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	struct err err;

	if (cell->silent && strcmp(name, "execute_result") == 0)
		return 0;
	cell->has_error = cell->has_error || strcmp(name, "error") == 0;
	if (!jupyter_content(name, event, channels->count, &content, &err))
		return 0;
	if (!channels->is_binary && content.len > TEXT_FRAME_MAX)
		return send_notice(cell, content.len);
	return channels_send(channels, "iopub", name, cell->frame, &content);
}

/* The record of `done` is what the reply is made of. */
static int take_event(struct cell *cell, const struct api_event *event)
{
	struct json_value *parsed;
	cleanup_buf struct buf record = BUF_INIT(ANSWER_MAX);
	struct err err;
	int sent = 0;

	if (json_read_parse(event->data.data, event->data.len, ANSWER_MAX, &parsed, &err) < 0)
		return 0;
	if (strcmp(event->name, "done") != 0)
		sent = send_event(cell, event->name, parsed);
	else if (json_read_dump(json_read_member(parsed, "record"), &record, &err) == 0 &&
		 cell->record == NULL)
		(void)json_read_parse(record.data, record.len, ANSWER_MAX, &cell->record, &err);
	json_read_free(parsed);
	return sent;
}

/* ---- messages that wait --------------------------------------------------------------------- */

static int keep_waiting(struct channels *channels, struct waiting *waiting, struct frame *frame)
{
	if (waiting->frames == NULL)
		waiting->frames = mem_new0(WAITING_MAX, sizeof(*waiting->frames));
	if (waiting->count == WAITING_MAX ||
	    waiting->bytes + frame->bytes.len > WAITING_BYTES_MAX) {
		frame_done(frame);
		websocket_close(channels->request, CLOSE_TOO_MUCH, "too many messages wait");
		return -1;
	}
	waiting->bytes += frame->bytes.len;
	waiting->frames[(waiting->first + waiting->count++) % WAITING_MAX] = *frame;
	return 0;
}

static bool take_waiting(struct waiting *waiting, struct frame *ret)
{
	if (waiting->count == 0)
		return false;
	*ret = waiting->frames[waiting->first];
	waiting->first = (waiting->first + 1) % WAITING_MAX;
	waiting->count--;
	waiting->bytes -= ret->bytes.len;
	return true;
}

static void waiting_done(struct waiting *waiting)
{
	struct frame frame;

	while (take_waiting(waiting, &frame))
		frame_done(&frame);
	free(waiting->frames);
}

/* While a cell runs. What asks the kernel something would wait for it, and we would with it. */
static int take_beside(struct channels *channels, struct waiting *waiting,
		       const struct websocket_message *message)
{
	struct frame frame;
	int code = 0;

	if (!frame_read(message->bytes, message->len, message->kind == WEBSOCKET_BINARY, &frame)) {
		frame_done(&frame);
		return 0;
	}
	if (strcmp(frame.channel, "control") != 0 &&
	    strcmp(frame.type, "kernel_info_request") != 0)
		return keep_waiting(channels, waiting, &frame);
	code = answers_handle(channels, &frame);
	frame_done(&frame);
	return code;
}

/* ---- a cell --------------------------------------------------------------------------------- */

static int wait_beside(struct channels *channels, struct waiting *waiting)
{
	struct websocket_message message;
	const int what = websocket_next(channels->request, BUSY_MS, &message);

	if (what < 0)
		return -1;
	if (what == 0)
		return channels_status(channels, NULL, "busy");
	return what == 1 ? take_beside(channels, waiting, &message) : 0;
}

static int follow(struct cell *cell, struct waiting *waiting)
{
	struct channels *channels = cell->channels;
	struct api_execution_events_in in = { .session = channels->session,
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
			code = wait_beside(channels, waiting);
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

/* The error, where no event told it. */
static int send_failure(const struct cell *cell)
{
	cleanup_buf struct buf content = BUF_INIT(FRAME_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	write_outcome(&json, cell);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? 0
						  : channels_send(cell->channels, "iopub", "error",
								  cell->frame, &content);
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
	json_write_member_uint(&json, "execution_count", cell->channels->count);
	if (strcmp(status, "error") == 0)
		write_outcome(&json, cell);
	if (is_good)
		jupyter_write_value(&json, "user_expressions", NULL, "{}");
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
	json_write_member_uint(&json, "execution_count", cell->channels->count);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : channels_send(cell->channels, "iopub", "execute_input", cell->frame,
				       &content);
}

static int start(struct cell *cell, const char *code, size_t len)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_execute_out out;
	const enum call_status status = call_make(
		cell->channels->request, API_EXECUTE,
		&(struct api_execute_in){ .session = cell->channels->session,
					  .code = { code, len },
					  .has_stream = true,
					  .stream = true },
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

/* 1: what waits behind it is not to run. */
static int run_cell(struct channels *channels, const struct frame *frame, struct waiting *waiting)
{
	struct cell cell = { .channels = channels,
			     .frame = frame,
			     .silent = frame_flag(frame, "silent", false) };
	size_t len;
	const char *code = frame_text(frame, "code", &len);
	const bool runs = !is_blank(code, len);
	bool is_good;
	int sent;

	if (!cell.silent && runs)
		channels->count++;
	sent = channels_status(channels, frame, "busy");
	if (sent == 0 && !cell.silent)
		sent = send_input(&cell, code, len);
	if (sent == 0 && runs)
		sent = start(&cell, code, len);
	if (sent == 0 && cell.execution[0] != '\0')
		sent = follow(&cell, waiting);
	is_good = !runs || strcmp(status_of(&cell), "ok") == 0;
	if (sent == 0 && !is_good && !cell.has_error)
		sent = send_failure(&cell);
	if (sent == 0)
		sent = send_reply(&cell, is_good ? "ok" : "error");
	if (sent == 0)
		sent = channels_status(channels, frame, "idle");
	json_read_free(cell.record);
	return sent < 0 ? -1 : !is_good && frame_flag(frame, "stop_on_error", true);
}

/* Cells that wait behind one that failed are not run; other messages are answered. */
static int abort_waiting(struct channels *channels, struct waiting *waiting)
{
	struct frame frame;
	int code = 0;

	while (code == 0 && take_waiting(waiting, &frame)) {
		const struct cell cell = { .channels = channels, .frame = &frame };

		if (strcmp(frame.type, EXECUTE) != 0)
			code = answers_handle(channels, &frame);
		else if (channels_status(channels, &frame, "busy") < 0 ||
			 send_reply(&cell, "aborted") < 0 ||
			 channels_status(channels, &frame, "idle") < 0)
			code = -1;
		frame_done(&frame);
	}
	return code;
}

/* ---- the connection ------------------------------------------------------------------------- */

static int handle(struct channels *channels, const struct frame *frame, struct waiting *waiting)
{
	int code;

	if (strcmp(frame->type, EXECUTE) != 0)
		return answers_handle(channels, frame);
	code = run_cell(channels, frame, waiting);
	return code > 0 ? abort_waiting(channels, waiting) : code;
}

static int next_frame(struct channels *channels, struct waiting *waiting, struct frame *ret)
{
	struct websocket_message message;

	while (!take_waiting(waiting, ret)) {
		const int what = websocket_next(channels->request, 0, &message);

		if (what < 0)
			return -1;
		if (what != 1)
			continue;
		if (frame_read(message.bytes, message.len, message.kind == WEBSOCKET_BINARY, ret))
			return 0;
		frame_done(ret);
	}
	return 0;
}

static void serve(struct channels *channels)
{
	struct waiting waiting = { 0 };
	struct frame frame = { 0 };
	int code = 0;

	while (code == 0 && !channels->is_over && next_frame(channels, &waiting, &frame) == 0) {
		code = handle(channels, &frame, &waiting);
		frame_done(&frame);
	}
	if (channels->is_over && code == 0)
		websocket_close(channels->request, CLOSE_DONE, NULL);
	waiting_done(&waiting);
}

static int find(struct channels *channels, const char *uuid)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	enum call_status status = CALL_FAILED;

	if (server_session_of(uuid, channels->session))
		status = call_make(channels->request, API_SESSION_SHOW,
				   &(struct api_session_show_in){ .session = channels->session },
				   &session, &call);
	if (status == CALL_FAILED && call.failure != NULL &&
	    call.failure->error == API_ERR_UNAUTHORIZED)
		call_refuse(channels->request, call.failure);
	else if (status == CALL_FAILED)
		answer_refuse_simple(channels->request, 404, "not_found", "Kernel does not exist",
				     NULL);
	if (status != CALL_OK)
		return -1;
	(void)snprintf(channels->language, sizeof(channels->language), "%s", session.language);
	return 0;
}

void channels_serve(struct request *request, const char *uuid)
{
	struct channels channels = { .request = request };
	const char *protocol = NULL;

	(void)snprintf(channels.id, sizeof(channels.id), "%.36s", uuid);
	if (call_check_key(request) < 0 || find(&channels, uuid) < 0)
		return;
	request_note(request, NULL, channels.session, NULL);
	if (websocket_begin(request, protocols, FRAME_MAX, &protocol) < 0)
		return;
	channels.is_binary = protocol != NULL;
	serve(&channels);
}
