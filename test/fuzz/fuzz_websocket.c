/*
 * fuzz_websocket.c - frames of a WebSocket: the messages are the same however the bytes are split.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a piece size, and the bytes after the handshake.
 * Never:    keeps state between inputs.
 *
 * There is no connection: waiting for more bytes fails at once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "httpd/server.h"

#define MESSAGE_MAX 4096u
#define ALL_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_request_wait(struct request *request, enum wait wait, uint64_t ms);
int __wrap_answer_begin(struct request *request, unsigned status, const char *media,
			uint64_t length, const char *headers);
void __wrap_conn_abort(struct conn *conn);

int __wrap_request_wait(struct request *request, enum wait wait, uint64_t ms)
{
	(void)request;
	(void)wait;
	(void)ms;
	return -1;
}

int __wrap_answer_begin(struct request *request, unsigned status, const char *media,
			uint64_t length, const char *headers)
{
	(void)request;
	(void)media;
	(void)length;
	(void)headers;
	return status == 101 ? 0 : -1;
}

void __wrap_conn_abort(struct conn *conn)
{
	conn->request.client = CLIENT_GONE;
}

static struct conn *open_one(void)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
				   "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
				   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	struct conn *conn = mem_new0(1, sizeof(*conn));
	const char *protocol;
	size_t used;

	conn->in = BUF_INIT(ALL_MAX);
	conn->out = BUF_INIT(ALL_MAX);
	http_init(&conn->http);
	if (http_feed(&conn->http, head, sizeof(head) - 1, &used) != HTTP_STEP_HEAD ||
	    websocket_begin(&conn->request, NULL, MESSAGE_MAX, &protocol) < 0)
		abort();
	return conn;
}

static void close_one(struct conn *conn)
{
	websocket_free(conn->request.websocket);
	http_done(&conn->http);
	buf_done(&conn->in);
	buf_done(&conn->out);
	free(conn);
}

static void note(const struct websocket_message *message, struct buf *ret)
{
	struct err err;

	if (message->len > MESSAGE_MAX ||
	    (message->kind == WEBSOCKET_TEXT && !utf8_is_valid(message->bytes, message->len)) ||
	    buf_addf(ret, &err, "%d %zu ", (int)message->kind, message->len) < 0 ||
	    buf_add(ret, message->bytes, message->len, &err) < 0)
		abort();
}

/* Feeds the bytes in pieces of `step` and notes all messages in `ret`. */
static void feed(const uint8_t *data, size_t size, size_t step, struct buf *ret)
{
	struct conn *conn = open_one();
	struct websocket_message message;
	struct err err;

	for (size_t at = 0; at < size && conn->request.client != CLIENT_GONE; at += step) {
		if (buf_add(&conn->in, data + at, size - at < step ? size - at : step, &err) < 0)
			abort();
		while (websocket_next(&conn->request, 0, &message) == 1)
			note(&message, ret);
	}
	if (websocket_send(&conn->request, WEBSOCKET_TEXT, "x", 1) == 0)
		websocket_close(&conn->request, 1000, "the end");
	close_one(conn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf whole = BUF_INIT(ALL_MAX), pieces = BUF_INIT(ALL_MAX);

	if (size < 2)
		return 0;
	feed(data + 1, size - 1, size, &whole);
	feed(data + 1, size - 1, data[0] > 0 ? data[0] : 1, &pieces);
	if (whole.len != pieces.len ||
	    (whole.len > 0 && memcmp(whole.data, pieces.data, whole.len) != 0))
		abort();
	return 0;
}
