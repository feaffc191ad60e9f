/*
 * socket.c - events over a WebSocket, one message each.
 *
 * Runs in:  reckon-front-native.
 * Reads:    events of hostile programs, as JSON that libreckon wrote; messages of any client.
 * Never:    fetches more before the client has read all earlier events.
 *
 * Messages of the client are ignored, except those of a terminal. The stream ends with a close:
 * 1000 after the last event, 1011 after `failed`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/native/native.h"

#define MESSAGE_MAX 4096u
#define INPUT_MAX (64u * 1024u)
#define TERMINAL "reckon.terminal.v1"
#define CLOSE_DONE 1000u
#define CLOSE_FAILED 1011u

/* The first one is chosen; a browser adds its key as reckon.key.KEY. */
static const char *const protocols[] = { "reckon.v1", NULL };
static const char *const process_protocols[] = { TERMINAL, "reckon.v1", NULL };

struct events_socket {
	struct request *request;
	const struct api_process_events_in *terminal; /* NULL: the client only reads */
};

static int send(struct request *request, uint64_t id, const char *name, const char *data,
		size_t len)
{
	cleanup_buf struct buf text = BUF_INIT(len + 256);
	struct err err;

	if (buf_adds(&text, "{", &err) < 0 ||
	    (id != 0 && buf_addf(&text, &err, "\"id\":%" PRIu64 ",", id) < 0) ||
	    buf_addf(&text, &err, "\"event\":\"%s\",\"data\":", name) < 0 ||
	    buf_add(&text, data, len, &err) < 0 || buf_adds(&text, "}", &err) < 0) {
		answer_break_off(request);
		return -1;
	}
	return websocket_send(request, WEBSOCKET_TEXT, text.data, text.len);
}

static int send_failure(struct request *request, const struct api_failure *failure)
{
	cleanup_buf struct buf json = BUF_INIT(16384);
	const struct api_failure summary = { .error = failure->error, .message = failure->message };
	struct err err;

	if (api_write_failure(&summary, &json, &err) < 0) {
		answer_break_off(request);
		return -1;
	}
	return send(request, 0, "failed", json.data, json.len);
}

static int send_gap(struct request *request, uint64_t missing)
{
	char gap[64];
	const int len = snprintf(gap, sizeof(gap), "{\"event\":\"gap\",\"missing\":%" PRIu64 "}",
				 missing);

	return send(request, 0, "gap", gap, (size_t)len);
}

/* Waits until there are events, or a message of the client. */
static int wait(const struct events_socket *self)
{
	struct websocket_message message;
	const int code = websocket_next(self->request, 0, &message);

	if (code == 1 && self->terminal != NULL)
		return native_terminal_take(self->request, self->terminal, &message);
	return code < 0 ? -1 : 0;
}

static int send_next(const struct events_socket *self, const struct next_event *next)
{
	struct request *request = self->request;
	int code;

	switch (next->kind) {
	case EVENT_NEXT:
		code = self->terminal != NULL ? native_terminal_send(request, &next->event) : 0;
		if (code != 0)
			return code < 0 ? -1 : 0;
		return send(request, next->event.id, next->event.name, next->event.data.data,
			    next->event.data.len);
	case EVENT_QUIET:
		return wait(self);
	case EVENT_GAP:
		return send_gap(request, next->missing);
	case EVENT_FAILED:
		return send_failure(request, next->failure);
	case EVENT_GONE:
	case EVENT_END:
		break;
	}
	return 0;
}

void native_events_socket(struct request *request, struct event_reader *reader)
{
	cleanup_call struct call call = CALL_INIT;
	struct events_socket self = { .request = request };
	const bool is_process = reader->id == API_PROCESS_EVENTS;
	struct next_event next;
	const char *protocol;

	/* Find out whether it can be followed at all while an error can still have a status. */
	if (events_next(reader, 1, &call, &next) == EVENT_GONE)
		return;
	if (next.kind == EVENT_FAILED && next.is_refused) {
		call_refuse(request, next.failure);
		return;
	}
	if (websocket_begin(request, is_process ? process_protocols : protocols,
			    is_process ? INPUT_MAX : MESSAGE_MAX, &protocol) < 0)
		return;
	if (protocol != NULL && strcmp(protocol, TERMINAL) == 0)
		self.terminal = reader->in;
	while (send_next(&self, &next) == 0) {
		if (next.kind == EVENT_FAILED || next.kind == EVENT_END) {
			websocket_close(request,
					next.kind == EVENT_END ? CLOSE_DONE : CLOSE_FAILED, NULL);
			return;
		}
		if (events_next(reader, EVENTS_POLL, &call, &next) == EVENT_GONE)
			return;
	}
}
