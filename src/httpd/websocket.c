/*
 * websocket.c - WebSocket messages (RFC 6455) over a request's connection; wslay does the framing.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    frames of any client.
 * Never:    reads on while the handler has not taken a message, or while the client does not read.
 */
#include <errno.h>
#include <sha1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wslay/wslay.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/base64.h"
#include "httpd/server.h"

#define ACCEPT_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define KEY_LEN 24u /* 16 bytes in base64 */
#define PING_MS 30000u
#define REASON_MAX 120u
#define HEAD_MAX 14u /* of a frame: two bytes, 64 bits of length, the mask */
#define VERSION "13"

struct message {
	struct message *next;
	enum websocket_kind kind;
	size_t len;
	char bytes[];
};

struct websocket {
	struct conn *conn;
	wslay_event_context_ptr context;
	struct message *first, *last; /* not taken yet by the handler */
	struct message *taken;
	struct buf partial; /* of an incomplete message */
	/* The current frame. */
	unsigned char head[HEAD_MAX];
	size_t head_len;  /* 0: none has begun */
	uint64_t left;	  /* bytes of its payload still to come, once its head is complete */
	bool has_payload; /* some of its payload has come */
	bool is_control;  /* the current frame is a control frame, which is never fragmented */
	bool is_too_long;
	size_t read_at; /* in the connection's `in`: bytes that wslay has read */
};

bool websocket_is_lost(const struct request *request)
{
	return conn_of((struct request *)(uintptr_t)request)->is_dead;
}

void websocket_outlive(struct request *request)
{
	if (request->client != CLIENT_GONE)
		request->client = CLIENT_MAY_GO;
}

/* ---- heads of frames ------------------------------------------------------------------------ */

/*
 * wslay reports a frame only with its first byte of payload. A client that announces too long a message
 * and then sends nothing would keep the connection open, so heads are parsed here as well.
 */
static size_t head_size(const unsigned char *head, size_t len)
{
	const unsigned kind = len < 2 ? 0 : head[1] & 0x7f;

	if (len < 2)
		return 2;
	return 2u + (kind == 127 ? 8u : kind == 126 ? 2u : 0u) + ((head[1] & 0x80) != 0 ? 4u : 0u);
}

static uint64_t payload_length(const unsigned char *head)
{
	const unsigned kind = head[1] & 0x7f;
	const size_t bytes = kind == 127 ? 8 : kind == 126 ? 2 : 0;
	uint64_t length = 0;

	for (size_t i = 0; i < bytes; i++)
		length = length << 8 | head[2 + i];
	return bytes == 0 ? kind : length;
}

static void note_bytes(struct websocket *websocket, const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		if (websocket->left > 0) {
			const size_t more = len - at < websocket->left ? len - at
								       : (size_t)websocket->left;

			at += more;
			websocket->left -= more;
			websocket->has_payload = true;
		} else {
			websocket->head[websocket->head_len++] = bytes[at++];
			if (websocket->head_len <
			    head_size(websocket->head, websocket->head_len))
				continue;
			websocket->left = payload_length(websocket->head);
			websocket->has_payload = false;
		}
		if (websocket->left == 0)
			websocket->head_len = 0;
	}
}

/* Control frames are excluded: wslay itself refuses one that is too long. */
static bool announces_too_much(const struct websocket *websocket)
{
	return websocket->left > websocket->partial.max - websocket->partial.len &&
	       !websocket->has_payload && !wslay_is_ctrl_frame(websocket->head[0] & 0x0f);
}

/* ---- callbacks of wslay --------------------------------------------------------------------- */

static ssize_t give_bytes(wslay_event_context_ptr context, uint8_t *ret, size_t size, int flags,
			  void *arg)
{
	struct websocket *websocket = arg;
	struct buf *in = &websocket->conn->in;
	const size_t left = in->len - websocket->read_at;
	const size_t len = left < size ? left : size;

	(void)flags;
	if (len == 0 || websocket->first != NULL) {
		wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(ret, in->data + websocket->read_at, len);
	note_bytes(websocket, ret, len);
	websocket->read_at += len;
	return (ssize_t)len;
}

static ssize_t take_bytes(wslay_event_context_ptr context, const uint8_t *bytes, size_t len,
			  int flags, void *arg)
{
	struct websocket *websocket = arg;
	struct err err;

	(void)flags;
	if (buf_add(&websocket->conn->out, bytes, len, &err) < 0) {
		wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	return (ssize_t)len;
}

static void refuse_size(struct websocket *websocket)
{
	websocket->is_too_long = true;
	wslay_event_shutdown_read(websocket->context);
	(void)wslay_event_queue_close(websocket->context, WSLAY_CODE_MESSAGE_TOO_BIG, NULL, 0);
}

/* Bound the whole message here: wslay bounds only a single fragment, and stores each separately. */
static void take_start(wslay_event_context_ptr context,
		       const struct wslay_event_on_frame_recv_start_arg *got, void *arg)
{
	struct websocket *websocket = arg;

	(void)context;
	websocket->is_control = wslay_is_ctrl_frame(got->opcode);
	if (websocket->is_control ||
	    got->payload_length <= websocket->partial.max - websocket->partial.len)
		return;
	refuse_size(websocket);
}

static void take_piece(wslay_event_context_ptr context,
		       const struct wslay_event_on_frame_recv_chunk_arg *got, void *arg)
{
	struct websocket *websocket = arg;
	struct err err;

	if (websocket->is_control || websocket->is_too_long ||
	    buf_add(&websocket->partial, got->data, got->data_length, &err) == 0)
		return;
	websocket->is_too_long = true;
	wslay_event_set_error(context, WSLAY_ERR_NOMEM);
}

static void take_message(wslay_event_context_ptr context,
			 const struct wslay_event_on_msg_recv_arg *got, void *arg)
{
	struct websocket *websocket = arg;
	struct message *message;

	(void)context;
	if ((got->opcode != WSLAY_TEXT_FRAME && got->opcode != WSLAY_BINARY_FRAME) ||
	    websocket->is_too_long)
		return;
	message = mem_new0(1, sizeof(*message) + websocket->partial.len + 1);
	message->kind = got->opcode == WSLAY_TEXT_FRAME ? WEBSOCKET_TEXT : WEBSOCKET_BINARY;
	message->len = websocket->partial.len;
	if (message->len > 0)
		memcpy(message->bytes, websocket->partial.data, message->len);
	buf_done(&websocket->partial);
	if (websocket->last != NULL)
		websocket->last->next = message;
	else
		websocket->first = message;
	websocket->last = message;
}

/* ---- the handshake -------------------------------------------------------------------------- */

/* Whether a header's list contains `word`; only names of subprotocols are case-sensitive. */
static bool has_word(const char *list, const char *word, bool is_exact)
{
	const size_t want = strlen(word);

	for (const char *at = list; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
		size_t len;

		at += strspn(at, ", \t");
		len = strcspn(at, ", \t");
		if (len == want && (is_exact ? strncmp : strncasecmp)(at, word, len) == 0)
			return true;
	}
	return false;
}

bool websocket_is_requested(const struct request *request)
{
	const struct http *http = request_head(request);

	return http->verb == HTTP_VERB_GET && http->minor == 1 &&
	       has_word(http_header(http, "connection"), "upgrade", false) &&
	       has_word(http_header(http, "upgrade"), "websocket", false);
}

static int check(struct request *request)
{
	const struct http *http = request_head(request);
	const char *version = http_header(http, "sec-websocket-version");
	const char *key = http_header(http, "sec-websocket-key");

	if (!websocket_is_requested(request) || version == NULL || strcmp(version, VERSION) != 0) {
		answer_refuse(request, &(struct refusal){
					       .status = 426,
					       .code = "upgrade_required",
					       .message = "this is a WebSocket of version " VERSION,
					       .remedy = "connect with a WebSocket client",
					       .headers = "Upgrade: websocket\r\n"
							  "Sec-WebSocket-Version: " VERSION "\r\n",
				       });
		return -1;
	}
	if (key == NULL || strlen(key) != KEY_LEN || http->has_body) {
		answer_refuse_simple(request, 400, "invalid",
				     "a WebSocket begins with a Sec-WebSocket-Key of 16 bytes and "
				     "no body",
				     "connect with a WebSocket client");
		return -1;
	}
	return 0;
}

/* RFC 6455 §4.2.2: the key and a constant, as SHA-1 in base64. */
static int write_headers(const char *key, const char *protocol, struct buf *ret, struct err *err)
{
	unsigned char sum[SHA1_DIGEST_LENGTH];
	SHA1_CTX sha1;

	SHA1Init(&sha1);
	SHA1Update(&sha1, (const uint8_t *)key, strlen(key));
	SHA1Update(&sha1, (const uint8_t *)ACCEPT_GUID, strlen(ACCEPT_GUID));
	SHA1Final(sum, &sha1);
	if (buf_adds(ret, "Upgrade: websocket\r\nSec-WebSocket-Accept: ", err) < 0 ||
	    base64_encode(sum, sizeof(sum), ret, err) < 0 ||
	    (protocol != NULL &&
	     buf_addf(ret, err, "\r\nSec-WebSocket-Protocol: %s", protocol) < 0))
		return (int)err->code;
	return buf_adds(ret, "\r\n", err);
}

static const char *choose(const struct request *request, const char *const *protocols)
{
	const char *offers = http_header(request_head(request), "sec-websocket-protocol");

	for (; protocols != NULL && *protocols != NULL; protocols++)
		if (has_word(offers, *protocols, true))
			return *protocols;
	return NULL;
}

int websocket_begin(struct request *request, const char *const *protocols, size_t message_max,
		    const char **ret_protocol)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = give_bytes,
		.send_callback = take_bytes,
		.on_frame_recv_start_callback = take_start,
		.on_frame_recv_chunk_callback = take_piece,
		.on_msg_recv_callback = take_message,
	};
	cleanup_buf struct buf headers = BUF_INIT(1024);
	struct conn *conn = conn_of(request);
	struct websocket *websocket;
	struct err err;

	if (request->client == CLIENT_GONE || check(request) < 0)
		return -1;
	*ret_protocol = choose(request, protocols);
	if (write_headers(http_header(request_head(request), "sec-websocket-key"), *ret_protocol,
			  &headers, &err) < 0) {
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
		return -1;
	}
	websocket = mem_new0(1, sizeof(*websocket));
	websocket->conn = conn;
	websocket->partial = BUF_INIT(message_max);
	request->websocket = websocket;
	if (wslay_event_context_server_init(&websocket->context, &callbacks, websocket) != 0) {
		answer_refuse_simple(request, 500, "internal", "out of memory", NULL);
		return -1;
	}
	wslay_event_config_set_max_recv_msg_length(websocket->context, message_max);
	wslay_event_config_set_no_buffering(websocket->context, 1);
	conn->http.keep_alive = false;
	/* One that sends no more cannot close it as it should. */
	request->at_eof = AT_EOF_GONE_STREAM;
	if (conn->read_ended)
		conn_abort(conn);
	return answer_begin(request, 101, NULL, 0, buf_text(&headers));
}

void websocket_free(struct websocket *websocket)
{
	struct message *next;

	if (websocket == NULL)
		return;
	for (struct message *at = websocket->first; at != NULL; at = next) {
		next = at->next;
		free(at);
	}
	free(websocket->taken);
	buf_done(&websocket->partial);
	wslay_event_context_free(websocket->context);
	free(websocket);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Whether frames can still come: neither side has sent a close. */
static bool is_open(const struct websocket *websocket)
{
	return wslay_event_get_read_enabled(websocket->context) != 0;
}

/* Processes the input; queues answers (a pong, a close). False: the client is gone. */
static bool pump(struct websocket *websocket)
{
	struct conn *conn = websocket->conn;

	/* For a broken frame wslay has already queued a close, or cannot send one. */
	if (is_open(websocket) && wslay_event_recv(websocket->context) != 0)
		wslay_event_shutdown_read(websocket->context);
	if (is_open(websocket) && announces_too_much(websocket))
		refuse_size(websocket);
	buf_consume(&conn->in, websocket->read_at);
	websocket->read_at = 0;
	if (wslay_event_send(websocket->context) == 0)
		return true;
	conn_abort(conn);
	return false;
}

/* Both sides have closed, or the client did and got its answer: ends the handler. */
static void end(struct websocket *websocket)
{
	struct request *request = &websocket->conn->request;

	buf_clear(&websocket->conn->in);
	request->answer = ANSWER_ENDED;
	if (request->client == CLIENT_THERE)
		request->client = CLIENT_GONE;
	if (request->client == CLIENT_MAY_GO)
		conn_part(websocket->conn);
}

static bool take_first(struct websocket *websocket, struct websocket_message *ret)
{
	struct message *message = websocket->first;

	if (message == NULL)
		return false;
	free(websocket->taken);
	websocket->taken = message;
	websocket->first = message->next;
	if (websocket->first == NULL)
		websocket->last = NULL;
	*ret = (struct websocket_message){ message->kind, message->bytes, message->len };
	return true;
}

/* Pings a silent client; one that has read nothing since the last ping is gone. */
static bool ping(struct websocket *websocket)
{
	const struct wslay_event_msg message = { .opcode = WSLAY_PING };
	struct conn *conn = websocket->conn;
	const bool is_stuck = conn->out.len > conn->out_at && conn->progress == 0;

	if (is_stuck || wslay_event_queue_msg(websocket->context, &message) != 0) {
		conn_abort(conn);
		return false;
	}
	conn->progress = 0;
	return pump(websocket);
}

/* Takes a message that a client sent before it left. */
static int take_last(struct websocket *websocket, struct websocket_message *ret)
{
	if (is_open(websocket) && websocket->first == NULL &&
	    wslay_event_recv(websocket->context) != 0)
		wslay_event_shutdown_read(websocket->context);
	buf_consume(&websocket->conn->in, websocket->read_at);
	websocket->read_at = 0;
	return take_first(websocket, ret) ? 1 : -1;
}

static int wait_for_room(struct request *request)
{
	const struct conn *conn = conn_of(request);
	int code = 0;

	if (conn->out.len - conn->out_at > CONN_OUT_LOW)
		code = request_wait(request, WAIT_OUT, STREAM_STALL_MS);
	if (code > 0)
		conn_abort(conn_of(request));
	return code == 0 && !websocket_is_lost(request) ? 0 : -1;
}

int websocket_next(struct request *request, uint64_t wait_ms, struct websocket_message *ret)
{
	struct websocket *websocket = request->websocket;
	uint64_t left = wait_ms;

	for (;;) {
		const uint64_t slice = wait_ms != 0 && left < PING_MS ? left : PING_MS;
		int code;

		if (request->client != CLIENT_GONE && websocket_is_lost(request))
			return take_last(websocket, ret);
		if (request->client == CLIENT_GONE || wait_for_room(request) < 0 || !pump(websocket))
			return -1;
		if (take_first(websocket, ret))
			return 1;
		if (!is_open(websocket)) {
			end(websocket);
			return -1;
		}
		if (request_has_reply(request))
			return 2;
		if (request->has_note) {
			request->has_note = false;
			return 3;
		}
		code = request_wait(request, WAIT_MESSAGE, slice);
		if (code < 0)
			return -1;
		if (code > 0 && !ping(websocket))
			return -1;
		if (code > 0 && wait_ms != 0) {
			left -= slice;
			if (left == 0)
				return 0;
		}
	}
}

int websocket_send(struct request *request, enum websocket_kind kind, const void *bytes, size_t len)
{
	struct websocket *websocket = request->websocket;
	const struct wslay_event_msg message = { .opcode = (uint8_t)kind,
						 .msg = bytes,
						 .msg_length = len };

	if (request->client == CLIENT_GONE || websocket_is_lost(request))
		return -1;
	if (wslay_event_queue_msg(websocket->context, &message) != 0 ||
	    wslay_event_send(websocket->context) != 0) {
		conn_abort(websocket->conn);
		return -1;
	}
	return wait_for_room(request);
}

void websocket_close(struct request *request, unsigned code, const char *reason)
{
	struct websocket *websocket = request->websocket;
	size_t len = reason != NULL ? strlen(reason) : 0;

	if (request->client == CLIENT_GONE || websocket_is_lost(request))
		return;
	if (len > REASON_MAX)
		for (len = REASON_MAX; len > 0 && ((unsigned char)reason[len] & 0xc0) == 0x80;
		     len--)
			;
	if (wslay_event_queue_close(websocket->context, (uint16_t)code, (const uint8_t *)reason,
				    len) != 0 ||
	    wslay_event_send(websocket->context) != 0)
		conn_abort(websocket->conn);
	buf_clear(&websocket->conn->in);
	request->answer = ANSWER_ENDED;
}

void websocket_leave(struct request *request, unsigned code, const char *reason)
{
	struct conn *conn = conn_of(request);

	if (websocket_is_lost(request))
		return;
	websocket_close(request, code, reason);
	conn_part(conn);
}
