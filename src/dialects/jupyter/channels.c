/*
 * channels.c - the WebSocket of a kernel: runs cells one after the other, handles other messages.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of any client.
 * Never:    reads ahead without a limit.
 *
 *   message ──▶ control, stdin: at once          shell: when no cell runs, until then it waits
 */
#include <stdio.h>
#include <string.h>

#include "dialects/jupyter/server.h"

#define CLOSE_DONE 1000u
#define EXECUTE "execute_request"

static const char *const protocols[] = { "v1.kernel.websocket.jupyter.org", NULL };

/* ---- messages that wait --------------------------------------------------------------------- */

/*
 * Aborts cells that waited when a cell failed, and answers other messages. A cell that the client
 * sends after it was told of the error is not aborted, even if the failed cell has not ended yet.
 */
static int abort_waiting(struct channels *channels)
{
	struct frame frame;
	int code = 0;

	for (; code == 0 && channels->to_abort > 0 && waiting_take(channels->waiting, &frame);
	     channels->to_abort--) {
		code = strcmp(frame.type, EXECUTE) == 0 ? cell_abort(channels, &frame)
							: answers_handle(channels, &frame);
		frame_done(&frame);
	}
	return code;
}

/* ---- the connection ------------------------------------------------------------------------- */

static int handle(struct channels *channels, const struct frame *frame)
{
	int code;

	if (strcmp(frame->type, "input_reply") == 0)
		return channels_answer(channels, frame);
	if (strcmp(frame->type, EXECUTE) != 0)
		return answers_handle(channels, frame);
	code = cell_run(channels, frame);
	return code > 0 ? abort_waiting(channels) : code;
}

static int next_frame(struct channels *channels, struct waiting *waiting, struct frame *ret)
{
	struct websocket_message message;

	while (!waiting_take(waiting, ret)) {
		const int what = channels_next(channels, 0, &message);

		if (what < 0 || channels->is_over)
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

	channels->waiting = &waiting; /* cppcheck-suppress autoVariables ; until the end of this function */
	while (code == 0 && !channels->is_over && next_frame(channels, &waiting, &frame) == 0) {
		code = handle(channels, &frame);
		frame_done(&frame);
	}
	if (channels->is_over)
		websocket_close(channels->request, CLOSE_DONE, NULL);
	waiting_done(&waiting);
	channels->waiting = NULL;
}

/* Reads session_id, which identifies a client that reconnects; one that is too long is ignored. */
static void read_session(const struct request *request, char ret[SESSION_SIZE])
{
	const char *query = request_head(request)->query;
	char name[64], value[SESSION_SIZE];
	struct err err;

	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "session_id") == 0)
			(void)snprintf(ret, SESSION_SIZE, "%s", value);
}

void channels_serve(struct request *request, const char *uuid)
{
	struct channels channels = { .request = request };
	const char *protocol = NULL;

	(void)snprintf(channels.uuid, sizeof(channels.uuid), "%.36s", uuid);
	if (call_check_key(request) < 0 || kernels_find(request, uuid, &channels.kernel) < 0)
		return;
	request_note(request, NULL, channels.kernel.session, NULL);
	if (websocket_begin(request, protocols, FRAME_MAX, &protocol) < 0)
		return;
	channels.is_binary = protocol != NULL;
	read_session(request, channels.session);
	websocket_outlive(request);
	clients_join(&channels);
	serve(&channels);
	clients_leave(&channels);
}
