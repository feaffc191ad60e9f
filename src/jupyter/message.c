/*
 * message.c - receives, builds and sends messages.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    frames from anybody who can reach the ports.
 * Never:    accepts a message with a wrong signature, or one that repeats a recent message.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "jupyter/inner.h"

#define HEADER_MAX 4096u

/* ---- receiving ------------------------------------------------------------------------------ */

void message_done(struct message *message)
{
	json_read_free(TAKE_PTR(message->header));
	json_read_free(TAKE_PTR(message->content));
	for (size_t i = 0; i < message->count; i++)
		buf_done(&message->parts[i]);
	message->count = 0;
}

/*
 * Receives one part; drops the parts beyond WIRE_PARTS_MAX. 1: received one; *ret_more: others
 * follow.
 */
static int receive_part(void *socket, int flags, struct message *ret, bool *ret_more, bool *ret_bad)
{
	struct err err;
	zmq_msg_t part;

	(void)zmq_msg_init(&part);
	if (zmq_msg_recv(&part, socket, flags) < 0) {
		(void)zmq_msg_close(&part);
		return errno == EINTR && flags == 0 ? -1 : 0;
	}
	*ret_more = zmq_msg_more(&part) != 0;
	if (ret->count == WIRE_PARTS_MAX) {
		*ret_bad = true;
	} else {
		struct buf *to = &ret->parts[ret->count++];

		*to = BUF_INIT(MESSAGE_MAX);
		if (buf_add(to, zmq_msg_data(&part), zmq_msg_size(&part), &err) < 0)
			*ret_bad = true;
	}
	(void)zmq_msg_close(&part);
	return 1;
}

static bool parse(struct message *ret)
{
	const struct wire_message *wire = &ret->wire;
	struct err err;

	if (json_read_parse(wire->header.data, wire->header.len, MESSAGE_MAX, &ret->header, &err) <
		    0 ||
	    json_read_parse(wire->content.data, wire->content.len, MESSAGE_MAX, &ret->content,
			    &err) < 0) {
		(void)fprintf(stderr, "reckon: a message was dropped: %s\n", err.text);
		return false;
	}
	ret->type = json_read_text(json_read_member(ret->header, "msg_type"), NULL);
	return ret->type != NULL;
}

static bool judge(const struct kernel *kernel, struct message *ret)
{
	struct wire_part parts[WIRE_PARTS_MAX];
	struct err err;

	for (size_t i = 0; i < ret->count; i++)
		parts[i] = (struct wire_part){ buf_text(&ret->parts[i]), ret->parts[i].len };
	if (wire_read(parts, ret->count, kernel->connection->key, &ret->wire, &err) < 0) {
		(void)fprintf(stderr, "reckon: a message was dropped: %s\n", err.text);
		return false;
	}
	return parse(ret);
}

/* Whether the message repeats a recent one. The list is per thread, as each has its own sockets. */
static bool is_repeated(const struct message *message)
{
	static _Thread_local char recent[RECENT_SIGNATURES][WIRE_SIGNATURE_LEN];
	static _Thread_local size_t next;

	if (message->wire.signature.len != WIRE_SIGNATURE_LEN)
		return false;
	for (size_t i = 0; i < RECENT_SIGNATURES; i++)
		if (memcmp(recent[i], message->wire.signature.data, WIRE_SIGNATURE_LEN) == 0)
			return true;
	memcpy(recent[next++ % RECENT_SIGNATURES], message->wire.signature.data,
	       WIRE_SIGNATURE_LEN);
	return false;
}

int message_receive(const struct kernel *kernel, void *socket, bool wait, struct message *ret)
{
	bool more = true, is_bad = false;

	*ret = (struct message){ .socket = socket };
	while (more)
		if (receive_part(socket, wait || ret->count > 0 ? 0 : ZMQ_DONTWAIT, ret, &more,
				 &is_bad) <= 0) {
			message_done(ret);
			return 0;
		}
	if (!is_bad && judge(kernel, ret) && !is_repeated(ret))
		return 1;
	message_done(ret);
	return wait ? 0 : message_receive(kernel, socket, false, ret);
}

const char *message_text(const struct message *message, const char *key, size_t *ret_len)
{
	const char *text = json_read_text(json_read_member(message->content, key), ret_len);

	if (text == NULL && ret_len != NULL)
		*ret_len = 0;
	return text != NULL ? text : "";
}

bool message_flag(const struct message *message, const char *key, bool otherwise)
{
	bool flag = otherwise;

	(void)json_read_bool(json_read_member(message->content, key), &flag);
	return flag;
}

/* ---- sending -------------------------------------------------------------------------------- */

bool content_end(struct json_writer *json)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) == 0)
		return true;
	(void)fprintf(stderr, "reckon: a message was dropped: %s\n", err.text);
	return false;
}

static bool write_header(struct kernel *kernel, const char *type, struct buf *ret)
{
	const unsigned long number = atomic_fetch_add(&kernel->messages, 1) + 1;
	char id[SESSION_SIZE + 24], date[40];
	struct json_writer json;

	(void)snprintf(id, sizeof(id), "%s_%lu", kernel->id, number);
	clock_rfc3339_now(date);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "msg_id", id);
	json_write_member_string(&json, "msg_type", type);
	json_write_member_string(&json, "username", "reckon");
	json_write_member_string(&json, "session", kernel->id);
	json_write_member_string(&json, "date", date);
	json_write_member_string(&json, "version", "5.4");
	return content_end(&json);
}

static void send_part(void *socket, const void *data, size_t len, bool more)
{
	int flags = more ? ZMQ_SNDMORE : 0;

	while (zmq_send(socket, data, len, flags) < 0 && errno == EINTR)
		;
}

/* Sends the parts after the identities or the topic. */
static void send_rest(struct kernel *kernel, void *socket, const struct message *parent,
		      const char *type, const struct buf *content)
{
	cleanup_buf struct buf header = BUF_INIT(HEADER_MAX);
	char signature[WIRE_SIGNATURE_LEN + 1];
	struct wire_part four[4] = { [1] = { "{}", 2 },
				     [2] = { "{}", 2 },
				     [3] = { buf_text(content), content->len } };

	if (!write_header(kernel, type, &header))
		return;
	four[0] = (struct wire_part){ buf_text(&header), header.len };
	if (parent != NULL)
		four[1] = parent->wire.header;
	wire_sign(kernel->connection->key, four, signature);
	send_part(socket, WIRE_DELIMITER, strlen(WIRE_DELIMITER), true);
	send_part(socket, signature, strlen(signature), true);
	for (size_t i = 0; i < 4; i++)
		send_part(socket, four[i].data, four[i].len, i < 3);
}

void message_send(struct kernel *kernel, void *socket, const struct message *parent,
		  const char *type, const struct buf *content)
{
	for (size_t i = 0; i < parent->wire.identities; i++)
		send_part(socket, buf_text(&parent->parts[i]), parent->parts[i].len, true);
	send_rest(kernel, socket, parent, type, content);
}

void message_publish(struct kernel *kernel, struct publisher *publisher,
		     const struct message *parent, const char *type, const struct buf *content)
{
	/* The topic is the message type, so that clients can subscribe to one type. */
	send_part(publisher->push, type, strlen(type), true);
	send_rest(kernel, publisher->push, parent, type, content);
}

void publish_status(struct kernel *kernel, struct publisher *publisher,
		    const struct message *parent, const char *state)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "execution_state", state);
	if (content_end(&json))
		message_publish(kernel, publisher, parent, "status", &content);
}

void reply_ok(struct kernel *kernel, const struct message *request, const char *type)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", "ok");
	if (content_end(&json))
		message_send(kernel, request->socket, request, type, &content);
}
