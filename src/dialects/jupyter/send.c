/*
 * send.c - a message to the client of a kernel.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    nothing.
 * Never:    sends what the client's form does not hold.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/jupyter/server.h"

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
