/*
 * channels.c - the WebSocket of a kernel: cells one after the other, and what is asked beside them.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of anybody.
 * Never:    reads ahead without a bound.
 *
 *   message ──▶ control, stdin: at once          shell: when nothing runs, else it waits in a queue
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "dialects/jupyter/server.h"

#define WAITING_MAX 256u
#define WAITING_BYTES_MAX ((size_t)64 * 1024 * 1024)
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
static int take_beside(struct channels *channels, const struct websocket_message *message)
{
	struct frame frame;
	int code = 0;

	if (!frame_read(message->bytes, message->len, message->kind == WEBSOCKET_BINARY, &frame)) {
		frame_done(&frame);
		return 0;
	}
	if (strcmp(frame.type, "input_reply") == 0)
		code = cell_answer(channels, &frame);
	else if (strcmp(frame.channel, "control") != 0 &&
		 strcmp(frame.type, "kernel_info_request") != 0)
		return keep_waiting(channels, channels->waiting, &frame);
	else
		code = answers_handle(channels, &frame);
	frame_done(&frame);
	return code;
}

int channels_wait_beside(struct channels *channels)
{
	struct websocket_message message;
	const int what = websocket_next(channels->request, BUSY_MS, &message);

	if (what < 0)
		return -1;
	if (what == 0)
		return channels_status(channels, NULL, "busy");
	return what == 1 ? take_beside(channels, &message) : 0;
}

void channels_fail(struct channels *channels)
{
	channels->to_abort = channels->waiting->count;
}

/*
 * Cells that wait behind one that failed are not run; other messages are answered. A client that has
 * heard of the error, and sends another cell before the end of the one that failed, wants it to run.
 */
static int abort_waiting(struct channels *channels)
{
	struct frame frame;
	int code = 0;

	for (; code == 0 && channels->to_abort > 0 && take_waiting(channels->waiting, &frame);
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
		return 0; /* nobody asks any more */
	if (strcmp(frame->type, EXECUTE) != 0)
		return answers_handle(channels, frame);
	code = cell_run(channels, frame);
	return code > 0 ? abort_waiting(channels) : code;
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

	channels->waiting = &waiting;
	while (code == 0 && !channels->is_over && next_frame(channels, &waiting, &frame) == 0) {
		code = handle(channels, &frame);
		frame_done(&frame);
	}
	if (channels->is_over && code == 0)
		websocket_close(channels->request, CLOSE_DONE, NULL);
	waiting_done(&waiting);
}

void channels_serve(struct request *request, const char *uuid)
{
	struct channels channels = { .request = request };
	const char *protocol = NULL;

	(void)snprintf(channels.id, sizeof(channels.id), "%.36s", uuid);
	if (call_check_key(request) < 0 || kernels_find(request, uuid, &channels.kernel) < 0)
		return;
	request_note(request, NULL, channels.kernel.session, NULL);
	if (websocket_begin(request, protocols, FRAME_MAX, &protocol) < 0)
		return;
	channels.is_binary = protocol != NULL;
	serve(&channels);
}
