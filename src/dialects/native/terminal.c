/*
 * terminal.c - a process's input and output over one WebSocket.
 *
 * Runs in:  reckon-front-native.
 * Reads:    bytes of hostile programs; messages of any client.
 * Never:    decides who may write: reckond does, for each message.
 *
 * Binary messages are bytes of the terminal, or of standard input and output, in both directions. A
 * text message of the client is the body of one of the calls below; its members decide which.
 */
#include <string.h>

#include "api/json_in.h"
#include "api/json_out.h"
#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_read.h"
#include "dialects/native/native.h"

#define EVENT_MAX_BYTES ((size_t)256 * 1024)

/* The bytes of an event; 0: the event has no plain output. */
static int take_output(const struct api_event *event, struct buf *ret)
{
	struct json_value *json;
	const char *name, *data;
	struct err err;
	size_t len;
	int code = 0;

	if (strcmp(event->name, "stream") != 0 ||
	    json_read_parse(event->data.data, event->data.len, EVENT_MAX_BYTES, &json, &err) < 0)
		return 0;
	name = json_read_text(json_read_member(json, "name"), NULL);
	data = json_read_text(json_read_member(json, "data"), &len);
	if (name != NULL && data != NULL && strcmp(name, "stderr") != 0)
		code = base64_decode(data, len, ret, &err) == 0;
	json_read_free(json);
	return code;
}

int native_terminal_send(struct request *request, const struct api_event *event)
{
	cleanup_buf struct buf bytes = BUF_INIT(EVENT_MAX_BYTES);

	if (take_output(event, &bytes) == 0)
		return 0;
	return websocket_send(request, WEBSOCKET_BINARY, buf_text(&bytes), bytes.len) < 0 ? -1 : 1;
}

static int tell(struct request *request, const struct api_failure *failure)
{
	cleanup_buf struct buf text = BUF_INIT(16384);
	struct err err;

	if (buf_adds(&text, "{\"event\":\"error\",\"data\":", &err) < 0 ||
	    api_write_failure(failure, &text, &err) < 0 || buf_adds(&text, "}", &err) < 0) {
		answer_break_off(request);
		return -1;
	}
	return websocket_send(request, WEBSOCKET_TEXT, text.data, text.len);
}

static int make(struct request *request, enum api_id id, const void *in)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status = call_make(request, id, in, NULL, &call);

	if (status == CALL_FAILED)
		return tell(request, call.failure);
	return status == CALL_OK ? 0 : -1;
}

/* The call whose body has these members. */
static enum api_id call_of(const char *text, size_t len)
{
	struct json_value *json = NULL;
	enum api_id id = API_PROCESS_STDIN;
	struct err ignored;

	if (json_read_parse(text, len, len, &json, &ignored) < 0)
		return id;
	if (json_read_member(json, "rows") != NULL || json_read_member(json, "cols") != NULL)
		id = API_PROCESS_RESIZE;
	else if (json_read_member(json, "signal") != NULL)
		id = API_PROCESS_SIGNAL;
	json_read_free(json);
	return id;
}

static int control(struct request *request, const struct api_process_events_in *of,
		   const struct websocket_message *message)
{
	cleanup_arena struct arena arena = { 0 };
	union {
		struct api_process_stdin_in stdin_;
		struct api_process_signal_in signal;
		struct api_process_resize_in resize;
	} in = { 0 };
	const enum api_id id = call_of(message->bytes, message->len);
	struct err err;

	if (api_take_body(api_calls[id].takes, message->bytes, message->len, &arena, &in, &err) < 0)
		return tell(request, &(struct api_failure){ .error = API_ERR_INVALID,
							    .message = err.text });
	if (id == API_PROCESS_RESIZE) {
		in.resize.session = of->session;
		in.resize.process = of->process;
	} else if (id == API_PROCESS_SIGNAL) {
		in.signal.session = of->session;
		in.signal.process = of->process;
	} else {
		in.stdin_.session = of->session;
		in.stdin_.process = of->process;
	}
	return make(request, id, &in);
}

int native_terminal_take(struct request *request, const struct api_process_events_in *of,
			 const struct websocket_message *message)
{
	if (message->kind == WEBSOCKET_TEXT)
		return control(request, of, message);
	if (message->len == 0)
		return 0;
	return make(request, API_PROCESS_STDIN,
		    &(struct api_process_stdin_in){ .session = of->session,
						    .process = of->process,
						    .data = { message->bytes, message->len } });
}
