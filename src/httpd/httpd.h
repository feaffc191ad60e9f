/*
 * httpd.h - HTTP/1.1 as a dialect sees it: a request, its body, its answer, what is asked of reckond.
 *
 * A handler is straight-line code. What takes time (a slow client, an answer of reckond) makes the
 * function that needs it wait; other requests go on meanwhile. There is one rule for all functions
 * that return int: **negative means that there is nobody left to answer**. Either the client is gone
 * or what was wrong has been answered already: release what you hold and return.
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
 * A connection serves one request at a time, which has at most UPSTREAM_QUESTIONS_MAX questions to
 * reckond unanswered.
 * What a client sends ahead is read up to HTTPD_AHEAD_MAX bytes and no further.
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
#define HTTPD_LENGTH_UNKNOWN UINT64_MAX /* of an answer: in chunks, or up to the end */

struct request;

/* What is wrong with a request, before a dialect gives it its form. Texts may be NULL. */
struct refusal {
	unsigned status;
	const char *code;    /* short, lower case, stable: "not_found" */
	const char *message; /* what happened */
	const char *cause, *remedy;
	unsigned retry_s;    /* of 429 and 503: for Retry-After; 0: 1 */
	const char *headers; /* further lines, each with CRLF */
	const void *more;    /* what the dialect's own code knows besides; NULL from httpd */
};

/* Where a key may stand; the first that is there counts. KEY_BASIC: the password, as of a URL
 * http://any:KEY@host, or the name where there is no password. KEY_PATH: the first segment of the
 * path that begins with `name`, for clients that take an address and no password in it. */
enum key_kind { KEY_NONE, KEY_BEARER, KEY_HEADER, KEY_QUERY, KEY_BASIC, KEY_PROTOCOL, KEY_PATH,
		KEY_SCHEME };
struct key_place {
	enum key_kind kind;
	/* Of the header, in lower case, or of the parameter; of a WebSocket's subprotocol what stands
	 * before the key; of KEY_PATH what it begins with; of KEY_SCHEME, which is the header
	 * Authorization, what stands before the key there, in lower case. */
	const char *name;
};

/* What speaks in this process. */
struct dialect {
	const char *name;
	const struct key_place *keys; /* KEY_NONE at the end */
	void (*handle)(struct request *request);
	/* Answers; `refusal` is complete. Called for what httpd itself refuses, too. */
	void (*refuse)(struct request *request, const struct refusal *refusal);
	/* The same when it has become a WebSocket; NULL: that is broken off. */
	void (*refuse_socket)(struct request *request, const struct refusal *refusal);
};

/* ---- what was asked ------------------------------------------------------------------------- */

const struct http *request_head(const struct request *request);
const struct dialect *request_dialect(const struct request *request);
/* For the access log: which pattern of a path it is, and whose. Copied; NULL: unknown. */
void request_note(struct request *request, const char *route, const char *session,
		  const char *execution);
/* As in the log: "" when there is none. The trace is 32 digits and 16 of the span. */
const char *request_id(const struct request *request);
void request_trace(const struct request *request, char *ret, size_t size);

/* The key that was presented; "" when there is none, or it is too long to be one. */
void request_key(const struct request *request, char *ret, size_t size);
/* Where the dialect found it, when that is none of its key_places; "" takes that back. */
void request_use_key(struct request *request, const char *key);
/* Whether a key from this address may be asked about, and what reckond said of one. */
bool request_may_present(const struct request *request, const char *key);
void request_learn_key(struct request *request, const char *key, bool is_good);

/* A client that sends no more is taken for gone while it waits, too. Without this only a reader of
 * a stream and a sender of a body are. */
void request_end_at_eof(struct request *request);

/* Whether whoever asks is on this machine; what forwards requests to us counts as well. */
bool request_is_local(const struct request *request);
/* Whether its Origin, if it has one, is a page of this machine or of the Host that it was sent to. */
bool request_origin_is_allowed(const struct request *request);

/* Waits until another request of this process calls request_wake(): 1; 0: nobody did within `wait_ms`
 * (0: however long it takes). What it is about both know: memory of the handlers, which lasts until
 * the one that waits returns. */
int request_wait_note(struct request *request, uint64_t wait_ms);
void request_wake(struct request *request);

/* Goes on after so long. Not while a question to reckond is unanswered. */
int request_pause(struct request *request, uint64_t ms);

/* ---- its body ------------------------------------------------------------------------------- */

/* All of it, appended to `ret`; longer than `max` is refused with 413. */
int request_body(struct request *request, uint64_t max, struct buf *ret);
/* Straight into a file. 507 when that is full. */
int request_body_to(struct request *request, int fd, uint64_t max);
/* A body with a Content-Encoding is refused with 415, unless the handler undoes that itself: after
 * this call the functions above and below give it as it came. */
void request_take_encoded(struct request *request);
/* Piece by piece. `fn` returns false when it wants no more: request_body_each() returns 1 then. */
typedef bool request_body_fn(const char *bytes, size_t len, void *arg);
int request_body_each(struct request *request, uint64_t max, request_body_fn *fn, void *arg);
/* The next piece, however long that takes, for a body that goes on while it is worked on. 1: that was
 * the end. */
int request_body_some(struct request *request, request_body_fn *fn, void *arg);

/* ---- its answer ----------------------------------------------------------------------------- */

/* `headers`: further lines, each with CRLF; NULL: none. Then answer_write() and answer_end(). */
int answer_begin(struct request *request, unsigned status, const char *media, uint64_t length,
		 const char *headers);
int answer_write(struct request *request, const void *bytes, size_t len);
int answer_file(struct request *request, int fd, uint64_t at, uint64_t length);
void answer_end(struct request *request);
/* All of it. */
void answer_text(struct request *request, unsigned status, const char *media,
		 const struct buf *text, const char *headers);
/* Lines that its answer has, whatever it will be; each with CRLF. They replace those before. */
void answer_note_headers(struct request *request, const char *headers);
/* Through the dialect. */
void answer_refuse(struct request *request, const struct refusal *refusal);
void answer_refuse_simple(struct request *request, unsigned status, const char *code,
			  const char *message, const char *remedy);
/* 413 for ERR_LIMIT, else 400, with what is wrong. */
void answer_refuse_invalid(struct request *request, const struct err *err);
/* Ends the connection in the middle of the answer: the client sees that it is not whole. */
void answer_break_off(struct request *request);

/* An answer that goes on for long, piece by piece: a client that goes away is gone at once. */
int stream_begin(struct request *request, const char *media, const char *headers);
/* What keeps proxies from closing a silent stream; negative also when the client has taken nothing
 * since the last one. */
int stream_beat(struct request *request, const void *bytes, size_t len);

/* Server-sent events, which are such an answer. */
int sse_begin(struct request *request, const char *headers);
/* `id` 0: none; `data` has no line break. */
int sse_event(struct request *request, uint64_t id, const char *name, const char *data, size_t len);
/* The same with an id that is not a number: at most SSE_ID_MAX bytes without a line break; NULL: none. */
#define SSE_ID_MAX 1024u
int sse_event_named(struct request *request, const char *id, const char *name, const char *data,
		    size_t len);
int sse_beat(struct request *request);

/* ---- WebSocket (RFC 6455) -------------------------------------------------------------------- */

enum websocket_kind { WEBSOCKET_TEXT = 1, WEBSOCKET_BINARY = 2 }; /* opcodes */
struct websocket_message {
	enum websocket_kind kind;
	const char *bytes; /* until the next one is asked for; text is UTF-8 */
	size_t len;
};

/* Whether the request wants to become one. */
bool websocket_is_asked(const struct request *request);
/*
 * Becomes one, or refuses with 400 or 426. `protocols`: the subprotocols that are spoken, NULL at the
 * end, the first that the client knows is chosen; NULL: none is. `message_max`: bytes of a message of
 * the client; one that is longer ends the connection with 1009. Whether a page of somebody else's may
 * be behind it the handler has judged before.
 */
int websocket_begin(struct request *request, const char *const *protocols, size_t message_max,
		    const char **ret_protocol);
/*
 * What happens next: 1: a message; 2: reckond answered a question, see upstream_is_answered(); 3:
 * another request of this process called request_wake(); 0: nothing of these within `wait_ms` (0:
 * however long it takes). Negative: it has been closed, by either side.
 * Pings are answered, and sent to a client that is silent; one that takes nothing is gone.
 */
int websocket_next(struct request *request, uint64_t wait_ms, struct websocket_message *ret);
/* Waits until the client has taken enough of what was sent before. */
int websocket_send(struct request *request, enum websocket_kind kind, const void *bytes,
		   size_t len);
/* The last thing to do. `code`: RFC 6455 §7.4; `reason`: UTF-8, cut after 120 bytes, or NULL. */
void websocket_close(struct request *request, unsigned code, const char *reason);
/*
 * From now on the handler may go on when its client is gone: functions that wait for reckond work as
 * before, websocket_next() still gives what the client had sent and is negative then, as
 * websocket_send() is. It holds its stack and its place among the connections until it returns.
 */
void websocket_outlive(struct request *request);
bool websocket_is_lost(const struct request *request); /* it is without its client now */
/* websocket_close(), and the handler goes on without its client. After websocket_outlive(). */
void websocket_leave(struct request *request, unsigned code, const char *reason);

/* ---- another connection --------------------------------------------------------------------- */

/*
 * A socket that reckond gave, used beside the client's connection by one handler. Its other end is
 * taken for hostile. Reading and writing do not wait, channel_wait() does.
 */
struct channel;
#define CHANNEL_READ 1u	  /* it has sent something, or its end */
#define CHANNEL_WRITE 2u  /* it takes something */
#define CHANNEL_CLIENT 4u /* the client has sent something, or its end */
#define CHANNEL_ROOM 8u	  /* the client has taken enough of what there was to have more */
#define CHANNEL_AGAIN (-2)

int channel_open(struct request *request, int fd, struct channel **ret); /* takes `fd` */
void channel_close(struct channel *channel);				 /* NULL is fine */
/* Which of `want` hold, at least one; 0: none within `ms` (0: however long it takes). */
int channel_wait(struct channel *channel, unsigned want, uint64_t ms);
/* 0: the end; -1: it is broken; CHANNEL_AGAIN: nothing now. */
ssize_t channel_read(struct channel *channel, void *ret, size_t size);
ssize_t channel_write(struct channel *channel, const void *bytes, size_t len);
/* The error of a socket that was still connecting, once it is writable; 0: none. */
int channel_error(const struct channel *channel);
/* Lets others have their turn: for a loop in which neither side makes the other wait. */
int channel_breathe(struct channel *channel);
/* What channel_read() reads into: shared by all requests, good until the next wait. */
char *channel_buffer(const struct channel *channel, size_t *ret_size);

/* Of the request's body what has come, without waiting. 1: that was the end. */
int request_body_now(struct request *request, request_body_fn *fn, void *arg);
/* Whether answer_write() would not wait; and a write that does not. */
bool answer_has_room(struct request *request);
int answer_write_now(struct request *request, const void *bytes, size_t len);

/*
 * After answer_begin() with 101: both directions, as bytes, until both have ended. Either side that
 * sends no more leaves the other one open. What the client sent ahead belongs to it.
 */
int channel_tunnel(struct channel *channel);

/* ---- reckond -------------------------------------------------------------------------------- */

struct upstream_reply {
	uint16_t type;
	struct buf payload;
	int fd; /* the reader's to close; -1: none */
};
#define UPSTREAM_REPLY_INIT ((struct upstream_reply){ .fd = -1 })
void upstream_reply_done(struct upstream_reply *reply);
#define cleanup_reply __attribute__((cleanup(upstream_reply_done)))

/* Sends a frame; its id, for upstream_take(). 0: nobody waits any more, or too many are unanswered. */
uint64_t upstream_ask(struct request *request, uint16_t type, const struct buf *payload);
/* The answer to it: 1. 0: not within `wait_ms` (0: however long it takes); ask for it again. */
int upstream_take(struct request *request, uint64_t id, uint64_t wait_ms,
		  struct upstream_reply *ret);
bool upstream_is_answered(const struct request *request, uint64_t id);
/* Until any question has an answer that nobody took, or `wait_ms` are over (0: however long it takes). */
int upstream_wait(struct request *request, uint64_t wait_ms);
/* When the client goes away, reckond is told so of this frame too, though it was answered; 0 takes
 * the last such wish back. */
void upstream_cancel_when_gone(struct request *request, uint64_t id);
/* Takes back the wish for this frame; 0 is none. */
void upstream_cancel_no_more(struct request *request, uint64_t id);
/* The same at once: what was begun for this request is not gone on with. */
void upstream_cancel_now(struct request *request);

/* ---- the process ---------------------------------------------------------------------------- */

/* Serves until reckond stops. `recognise`: the number of the dialect that a head belongs to. */
int httpd_main(int argc, char **argv, const struct dialect *dialect, unsigned number,
	       unsigned (*recognise)(const struct http *http));
