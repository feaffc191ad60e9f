/*
 * send.c - sends messages to a connection's client, including those of other connections for it.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    nothing.
 * Never:    sends a message that is too long for the client's format.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

#define CLOSE_DONE 1000u

static int write_frame(const struct channels *channels, const struct frame_out *out)
{
	cleanup_buf struct buf bytes = BUF_INIT(2 * FRAME_MAX);
	struct err err;

	if ((channels->is_binary ? frame_write_binary(out, &bytes, &err)
				 : frame_write_text(out, &bytes, &err)) < 0)
		return 0; /* too long: drop it */
	return websocket_send(channels->request,
			      channels->is_binary ? WEBSOCKET_BINARY : WEBSOCKET_TEXT, bytes.data,
			      bytes.len);
}

/* Sends a message, or stores it if the client is gone. */
static int send_here(struct channels *channels, const struct frame_out *out)
{
	if (write_frame(channels, out) == 0)
		return 0;
	if (!websocket_is_lost(channels->request))
		return -1;
	clients_keep(channels, out);
	return 0;
}

/* `content`: the message without id and header. */
static int send_new(struct channels *channels, const struct frame_out *content, bool is_for_others)
{
	cleanup_buf struct buf header = BUF_INIT(4096);
	struct frame_out out = *content;
	char id[FRAME_ID_SIZE];
	struct err err;

	if (clients_write_header(channels->clients, out.type, id, &header, &err) < 0)
		return 0;
	out.id = id;
	out.header = (struct frame_part){ header.data, header.len };
	if (is_for_others)
		clients_pass_on(channels, &out);
	return websocket_is_lost(channels->request) ? 0 : send_here(channels, &out);
}

int channels_send(struct channels *channels, const char *channel, const char *type,
		  const struct frame *parent, const struct buf *content)
{
	struct frame_out out = { .channel = channel,
				 .type = type,
				 .parent = { "{}", 2 },
				 .content = { buf_text(content), content->len } };

	if (parent != NULL)
		out.parent = (struct frame_part){ parent->header_text.data,
						  parent->header_text.len };
	return send_new(channels, &out, true);
}

int channels_complain(struct channels *channels, const struct frame *parent, const char *text)
{
	cleanup_buf struct buf content = BUF_INIT(4096);
	struct json_writer json;
	struct err err;

	json_write_begin_with(&json, &content, "name", "stderr");
	json_write_member_string(&json, "text", text);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : channels_send(channels, "iopub", "stream", parent, &content);
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

int channels_beat(struct channels *channels)
{
	static const char busy[] = "{\"execution_state\":\"busy\"}";
	const struct frame_out out = { .channel = "iopub",
				       .type = "status",
				       .parent = { "{}", 2 },
				       .content = { busy, sizeof(busy) - 1 } };

	return send_new(channels, &out, false);
}

/* ---- messages of other connections ---------------------------------------------------------- */

/* Reports dropped messages, with the next message's parent: without one no front end shows it. */
static int tell_dropped(struct channels *channels, const struct frame_out *next)
{
	char content[160];
	struct frame_out out = { .channel = "iopub", .type = "stream", .parent = next->parent };
	const int len = snprintf(content, sizeof(content),
				 "{\"name\":\"stderr\",\"text\":\"[%llu messages were left out: "
				 "they came too fast, or nobody was connected]\\n\"}",
				 (unsigned long long)channels->queue.dropped);

	channels->queue.dropped = 0;
	out.content = (struct frame_part){ content, (size_t)len };
	return send_new(channels, &out, false);
}

static int send_queued(struct channels *channels)
{
	struct queued *message;
	int code = 0;

	while (code == 0 && !channels->is_lost && channels->queue.first != NULL) {
		struct frame_out out = queued_frame(channels->queue.first);

		if (channels->queue.dropped > 0 && (code = tell_dropped(channels, &out)) < 0)
			break;
		/* Sending may have waited, and the queue may have dropped the message meanwhile. */
		message = queue_take(&channels->queue);
		if (message == NULL)
			break;
		out = queued_frame(message);
		code = send_here(channels, &out);
		free(message);
	}
	return code;
}

int channels_next(struct channels *channels, uint64_t wait_ms, struct websocket_message *ret)
{
	if (send_queued(channels) < 0)
		return -1;
	if (channels->is_replaced)
		websocket_leave(channels->request, CLOSE_DONE, "another connection has its session");
	return websocket_next(channels->request, wait_ms, ret);
}
