/*
 * httpd.h - HTTP/1.1 for dialects: a request, its body, its answer, calls to reckond.
 *
 * A handler is straight-line code. A function that needs something slow (a client's bytes, a reply
 * of reckond) waits for it; other requests continue meanwhile. All functions that return int follow
 * one rule: **negative means that there is nothing left to answer**. Either the client is gone or
 * an error has been sent already: release what you hold and return.
 *
 *   static void hello(struct request *request)
 *   {
 *           cleanup_buf struct buf body = BUF_INIT(4096);
 *
 *           if (request_body(request, 4096, &body) < 0)
 *                   return;
 *           answer_text(request, 200, "text/plain", &body, NULL);
 *   }
 *
 * A connection serves one request at a time, with at most UPSTREAM_QUESTIONS_MAX unanswered
 * questions to reckond. It reads at most HTTPD_AHEAD_MAX bytes ahead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "codec/http.h"

#define HTTPD_AHEAD_MAX (64u * 1024u)
#define UPSTREAM_QUESTIONS_MAX 4u
#define HTTPD_LENGTH_UNKNOWN UINT64_MAX /* of an answer: in chunks, or until the connection ends */

struct request;

/* A refusal, before the dialect formats it. Texts may be NULL. */
struct refusal {
	unsigned status;
	const char *code;    /* short, lower case, stable: "not_found" */
	const char *message; /* what happened */
	const char *cause, *remedy;
	unsigned retry_s;    /* for 429 and 503: Retry-After; 0 means 1 */
	const char *headers; /* additional header lines, each with CRLF */
	const void *more;    /* the dialect's own details; NULL from httpd */
};

/* Where a request may have its key; the first match counts. KEY_BASIC: the password, as in a URL
 * http://any:KEY@host, or the name if there is no password. KEY_PATH: the first segment of the path
 * that begins with `name`, for clients that accept an address but no password in it. */
enum key_kind { KEY_NONE, KEY_BEARER, KEY_HEADER, KEY_QUERY, KEY_BASIC, KEY_PROTOCOL, KEY_PATH,
		KEY_SCHEME };
struct key_place {
	enum key_kind kind;
	/* KEY_HEADER: the header in lower case; KEY_QUERY: the parameter; KEY_PROTOCOL: the text
	 * before the key in a WebSocket's subprotocol; KEY_PATH: the beginning of the segment;
	 * KEY_SCHEME: the text before the key in the header Authorization, in lower case. */
	const char *name;
};

/* The dialect of this process. */
struct dialect {
	const char *name;
	const struct key_place *keys; /* ends with KEY_NONE */
	void (*handle)(struct request *request);
	/* Sends the answer for a complete `refusal`. Also called for httpd's own refusals. */
	void (*refuse)(struct request *request, const struct refusal *refusal);
	/* The same after the request became a WebSocket; NULL: the connection is broken off. */
	void (*refuse_socket)(struct request *request, const struct refusal *refusal);
};

/* ---- the request ---------------------------------------------------------------------------- */

const struct http *request_head(const struct request *request);
const struct dialect *request_dialect(const struct request *request);
/* For the access log: the pattern of the path, the session, the execution. Copied; NULL:
 * unknown. */
void request_note(struct request *request, const char *route, const char *session,
		  const char *execution);
/* As in the log: "" if there is none. The trace is 32 hex digits, and 16 of the span. */
const char *request_id(const struct request *request);
void request_trace(const struct request *request, char *ret, size_t size);

/* The key that the client sent; "" if there is none, or if it is too long. */
void request_key(const struct request *request, char *ret, size_t size);
/* Sets a key that the dialect found outside its key_places; "" removes it. */
void request_use_key(struct request *request, const char *key);
/* Whether this address may present a key, and how to record reckond's verdict on one. */
bool request_may_present(const struct request *request, const char *key);
void request_learn_key(struct request *request, const char *key, bool is_good);

/* Treats a client that stops sending as gone, even while it waits. Otherwise that applies only to
 * readers of a stream and senders of a body. */
void request_end_at_eof(struct request *request);

/*
 * Lets the handler continue after its answer, for work that nobody waits for. Call
 * request_outlive() before the answer, which then ends the connection, and request_part() behind
 * answer_end(): only a short answer is sure to arrive. Functions that wait for reckond work as
 * before. The handler keeps its stack and its connection slot until it returns.
 */
void request_outlive(struct request *request);
void request_part(struct request *request);

/* Whether the client is on this machine; a local proxy counts, too. */
bool request_is_local(const struct request *request);
/* Whether the Origin, if any, is a page of this machine or of the request's Host. */
bool request_origin_is_allowed(const struct request *request);
/* Whether a cookie may stand in for a key: the request only reads, or no page of another origin
 * sent it. The cookie must be SameSite, Lax or Strict. */
bool request_may_use_cookie(const struct request *request);

/* Waits until another request of this process calls request_wake(): 1; 0: not within `wait_ms` (0:
 * no limit). The two handlers share the memory that the wake-up is about; it must stay valid until
 * the waiting one returns. */
int request_wait_note(struct request *request, uint64_t wait_ms);
void request_wake(struct request *request);

/* Sleeps. Not allowed while a question to reckond is unanswered. */
int request_pause(struct request *request, uint64_t ms);

/* ---- its body ------------------------------------------------------------------------------- */

/* Appends the whole body to `ret`; refuses a body longer than `max` with 413. */
int request_body(struct request *request, uint64_t max, struct buf *ret);
/* Writes it straight into a file. 507 if the disk is full. */
int request_body_to(struct request *request, int fd, uint64_t max);
/* Lets the functions above and below return a body with a Content-Encoding undecoded, for a handler
 * that decodes it itself. Without this call such a body is refused with 415. */
void request_take_encoded(struct request *request);
/* Reads piece by piece. When `fn` returns false to stop, request_body_each() returns 1. */
typedef bool request_body_fn(const char *bytes, size_t len, void *arg);
int request_body_each(struct request *request, uint64_t max, request_body_fn *fn, void *arg);
/* Waits for the next piece without a time limit, for a body that the handler processes as it comes.
 * 1: the end. */
int request_body_some(struct request *request, request_body_fn *fn, void *arg);

/* ---- its answer ----------------------------------------------------------------------------- */

/* `headers`: additional lines, each with CRLF; NULL: none. Then answer_write() and answer_end(). */
int answer_begin(struct request *request, unsigned status, const char *media, uint64_t length,
		 const char *headers);
int answer_write(struct request *request, const void *bytes, size_t len);
int answer_file(struct request *request, int fd, uint64_t at, uint64_t length);
void answer_end(struct request *request);
/* Sends the whole answer. */
void answer_text(struct request *request, unsigned status, const char *media,
		 const struct buf *text, const char *headers);
/* Sets header lines for the answer, whatever it will be; each with CRLF. Replaces earlier ones. */
void answer_note_headers(struct request *request, const char *headers);
/* Sends a refusal through the dialect. */
void answer_refuse(struct request *request, const struct refusal *refusal);
void answer_refuse_simple(struct request *request, unsigned status, const char *code,
			  const char *message, const char *remedy);
/* 413 for ERR_LIMIT, else 400, with what is wrong. */
void answer_refuse_invalid(struct request *request, const struct err *err);
/* Ends the connection in the middle of the answer: the client sees that it is not whole. */
void answer_break_off(struct request *request);

/* A long-lasting answer, piece by piece: the handler notices at once when the client leaves. */
int stream_begin(struct request *request, const char *media, const char *headers);
/* Sends a heartbeat, so that proxies do not close a silent stream; also negative if the client has
 * read nothing since the last one. */
int stream_beat(struct request *request, const void *bytes, size_t len);

/* Server-sent events, in such a stream. */
int sse_begin(struct request *request, const char *headers);
/* `id` 0: none; `data` must not contain a line break. */
int sse_event(struct request *request, uint64_t id, const char *name, const char *data, size_t len);
/* The same with a text id: at most SSE_ID_MAX bytes without a line break; NULL: none. */
#define SSE_ID_MAX 1024u
int sse_event_named(struct request *request, const char *id, const char *name, const char *data,
		    size_t len);
int sse_beat(struct request *request);

/* ---- WebSocket (RFC 6455) -------------------------------------------------------------------- */

enum websocket_kind { WEBSOCKET_TEXT = 1, WEBSOCKET_BINARY = 2 }; /* opcodes */
struct websocket_message {
	enum websocket_kind kind;
	const char *bytes; /* valid until the next websocket_next(); text is UTF-8 */
	size_t len;
};

/* Whether the request asks for an upgrade to WebSocket. */
bool websocket_is_requested(const struct request *request);
/*
 * Upgrades the request, or refuses with 400 or 426. `protocols`: supported subprotocols,
 * NULL-terminated; the first one that the client offers is chosen; NULL: none. `message_max`:
 * longest message of the client; a longer one ends the connection with 1009. The handler has
 * checked the Origin before.
 */
int websocket_begin(struct request *request, const char *const *protocols, size_t message_max,
		    const char **ret_protocol);
/*
 * Waits for the next event: 1: a message; 2: reckond answered a question, see
 * upstream_is_answered(); 3: another request of this process called request_wake(); 0: none within
 * `wait_ms` (0: no limit). Negative: either side has closed. Answers pings, and pings a silent
 * client; a client that does not read is treated as gone.
 */
int websocket_next(struct request *request, uint64_t wait_ms, struct websocket_message *ret);
/* Waits until the client has read enough of the earlier output. */
int websocket_send(struct request *request, enum websocket_kind kind, const void *bytes,
		   size_t len);
/* Call this last. `code`: RFC 6455 §7.4; `reason`: UTF-8, cut after 120 bytes, or NULL. */
void websocket_close(struct request *request, unsigned code, const char *reason);
/*
 * Lets the handler continue after its client is gone: functions that wait for reckond work as
 * before; websocket_next() still returns the client's earlier messages and is negative after them;
 * websocket_send() is negative. The handler holds its stack and its connection slot until it
 * returns.
 */
void websocket_outlive(struct request *request);
bool websocket_is_lost(const struct request *request); /* whether the client is gone */
/* As websocket_close(), but the handler continues without its client. After websocket_outlive(). */
void websocket_leave(struct request *request, unsigned code, const char *reason);

/* ---- a second connection -------------------------------------------------------------------- */

/*
 * A socket from reckond that one handler uses along with the client's connection. Treat the peer as
 * hostile. Reading and writing do not wait; channel_wait() does.
 */
struct channel;
#define CHANNEL_READ 1u	  /* the peer sent something, or closed */
#define CHANNEL_WRITE 2u  /* the peer can take bytes */
#define CHANNEL_CLIENT 4u /* the client sent something, or closed */
#define CHANNEL_ROOM 8u	  /* the client's unsent output is low enough to add more */
#define CHANNEL_AGAIN (-2)

int channel_open(struct request *request, int fd, struct channel **ret); /* then owns `fd` */
void channel_close(struct channel *channel);				 /* NULL is fine */
/* Waits until at least one of `want` holds and returns those; 0: none within `ms` (0: no limit). */
int channel_wait(struct channel *channel, unsigned want, uint64_t ms);
/* 0: the end; -1: an error; CHANNEL_AGAIN: nothing now. */
ssize_t channel_read(struct channel *channel, void *ret, size_t size);
ssize_t channel_write(struct channel *channel, const void *bytes, size_t len);
/* The result of connect(), once the socket is writable; 0: no error. */
int channel_error(const struct channel *channel);
/* Lets other requests run: for a loop in which both sides are always ready. */
int channel_breathe(struct channel *channel);
/* A buffer for channel_read(): shared by all requests, valid until the next wait. */
char *channel_buffer(const struct channel *channel, size_t *ret_size);

/* Passes on the part of the request's body that has arrived, without waiting. 1: the end. */
int request_body_now(struct request *request, request_body_fn *fn, void *arg);
/* Whether answer_write() would not wait; and a write that never waits. */
bool answer_has_room(struct request *request);
int answer_write_now(struct request *request, const void *bytes, size_t len);

/*
 * After answer_begin() with 101: passes bytes in both directions until both have ended. When one
 * side stops sending, the other direction stays open. Includes bytes that the client sent ahead.
 */
int channel_tunnel(struct channel *channel);

/* ---- reckond -------------------------------------------------------------------------------- */

struct upstream_reply {
	uint16_t type;
	struct buf payload;
	int fd; /* the reader closes it; -1: none */
};
#define UPSTREAM_REPLY_INIT ((struct upstream_reply){ .fd = -1 })
void upstream_reply_done(struct upstream_reply *reply);
#define cleanup_reply __attribute__((cleanup(upstream_reply_done)))

/* Sends a frame and returns its id for upstream_take(). 0: the client is gone, or too many are
 * unanswered. */
uint64_t upstream_ask(struct request *request, uint16_t type, const struct buf *payload);
/* Waits for the reply: 1; 0: not within `wait_ms` (0: no limit), may be called again. */
int upstream_take(struct request *request, uint64_t id, uint64_t wait_ms,
		  struct upstream_reply *ret);
bool upstream_is_answered(const struct request *request, uint64_t id);
/* Waits until any question has an untaken reply, or for `wait_ms` (0: no limit). */
int upstream_wait(struct request *request, uint64_t wait_ms);
/* When the client leaves, tells reckond to cancel this frame, too, although it was answered; 0
 * undoes the last such call. */
void upstream_cancel_when_gone(struct request *request, uint64_t id);
/* Undoes it for this frame; 0: does nothing. */
void upstream_cancel_no_more(struct request *request, uint64_t id);
/* Cancels at once what this request began. */
void upstream_cancel_now(struct request *request);

/* ---- the process ---------------------------------------------------------------------------- */

/* Serves until reckond stops. `recognise` returns the number of the dialect that a head belongs
 * to. */
int httpd_main(int argc, char **argv, const struct dialect *dialect, unsigned number,
	       unsigned (*recognise)(const struct http *http));
