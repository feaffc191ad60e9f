/*
 * server.h - what the files of httpd share.
 *
 *   main.c           start, fence, accepting
 *   conn.c           one connection: bytes in, bytes out, time limits, requests one after the other
 *   handling.c       the coroutine of a request, from its beginning to its end
 *   request.c        one request: its head, its key; wait.c: what its coroutine waits for
 *   conn_out.c       what a connection still has to send, and its end
 *   body.c           the body of a request
 *   answer.c         heads and bodies of answers; sse.c: events
 *   host_name.c      whether the name that a request was sent to is ours
 *   websocket.c      WebSocket messages over the connection of a request
 *   channel.c        another connection beside the client's; tunnel.c: both as one
 *   upstream.c       frames to and from reckond, and which request waits for which
 *   access_log.c     ids, traces, counts and a line of the log for each request
 *   auth_throttle.c  who tried unknown keys too often
 *   note.c           a handler wakes another one
 *   origin.c         whether a page of somebody else's may be behind a request
 *   coroutine.c      stacks for handlers
 *   fence.c          what is given up before the first byte
 *
 * Calls go from main.c and conn.c down to conn_out.c; what those below have to tell goes through
 * struct server_calls.
 */
#pragma once

#include <sys/types.h>

#include "base/log.h"
#include "httpd/guard/auth_throttle.h"
#include "httpd/coroutine.h"
#include "httpd/httpd.h"
#include "loop/loop.h"
#include "wire/front.h"
#include "wire/front_stats.h"

#define CONN_OUT_LOW (64u * 1024u) /* with more than this unsent, answer_write() waits */
#define CONN_OUT_MAX (128u * 1024u * 1024u)
#define KEEP_ALIVE_MS 75000u
#define STREAM_STALL_MS 15000u /* a reader of events takes at least something in that time */
#define PROGRESS_BYTES 16384u /* at least so much in each body time limit */
#define CANCELS_MAX 4u

struct conn;
struct server;

enum conn_state {
	CONN_HEAD,    /* reading a head */
	CONN_RUN,     /* a handler runs, or waits */
	CONN_SEND,    /* it has returned; what it wrote is on its way */
	CONN_CLOSING, /* everything is sent; the client is to close */
};

/* What the coroutine of a request waits for. */
enum wait {
	WAIT_NOTHING,
	WAIT_BODY,
	WAIT_OUT,
	WAIT_REPLY,
	WAIT_ANSWER,  /* the reply to any question */
	WAIT_MESSAGE, /* bytes of a WebSocket, or the reply to any question */
	WAIT_NOTE,    /* another handler's word */
	WAIT_TIME,    /* nothing: it goes on after a while */
	WAIT_CHANNEL, /* another connection, or the client's */
};
/* Those in which the client owes nothing: they last as long as whoever waits says. */
static inline bool wait_is_on_others(enum wait wait)
{
	return wait >= WAIT_REPLY;
}

/* Whoever asked. */
enum client {
	CLIENT_THERE, /* gone as soon as the connection is dead */
	CLIENT_MAY_GO, /* the connection is dead, perhaps: the handler goes on all the same */
	CLIENT_GONE, /* every wait ends at once */
};

/* Whoever asked sends no more. */
enum at_eof {
	AT_EOF_WAITS, /* for its answer */
	AT_EOF_GONE, /* also while the handler waits */
	AT_EOF_GONE_STREAM, /* the same, and what it reads comes now and then */
};

enum answer {
	ANSWER_NONE,
	ANSWER_BEGUN, /* its head is written */
	ANSWER_ENDED,
};

/* A frame that reckond has not answered, or whose answer nobody took yet. */
struct question {
	uint64_t id; /* 0: a free place */
	struct conn *conn;
	struct question *next; /* of the same bucket */
	struct upstream_reply reply;
	bool has_reply;
};

/* What a request leaves behind; all zero between requests. */
struct access {
	uint64_t start_ns; /* 0: none has begun */
	struct log_context about;
	bool is_sampled; /* the trace's flag, passed on */
	char route[128]; /* "" : none that is known */
	unsigned status;
	uint64_t received, sent;
};

struct request {
	struct coroutine *coroutine; /* NULL: none runs */
	enum wait wait, timer_of; /* that the timer of the connection runs for */
	bool has_timed_out;
	enum client client;
	enum at_eof at_eof;
	enum answer answer;
	bool message_done; /* the request was read to its end */
	bool is_head;	   /* HEAD: a GET whose answer has no body */
	bool is_chunked;
	uint64_t answer_left;
	uint64_t wait_ms; /* how long, before it has to have moved on; 0: however long it takes */
	/* its body */
	request_body_fn *sink;
	void *sink_arg;
	bool sink_is_full;
	bool takes_encoded; /* the handler undoes a Content-Encoding */
	/* its questions */
	struct question questions[UPSTREAM_QUESTIONS_MAX];
	const struct question *wanted; /* of WAIT_REPLY */
	bool has_note; /* another request woke it */
	uint64_t cancels[CANCELS_MAX];
	struct websocket *websocket; /* NULL: plain HTTP */
	struct channel *channel; /* that WAIT_CHANNEL is for */
	bool (*channel_may_go_on)(const struct channel *channel);
	char key[FRONT_KEY_MAX + 1]; /* that the dialect found; "" : none */
	char headers[256];	     /* of its answer, whatever that is */
	struct access access;
};

struct conn {
	struct conn *next, *previous;
	struct server *server;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer;
	enum conn_state state;
	struct http http;
	struct buf in, out;
	size_t fed;    /* of `in`: bytes of a head that is not whole yet */
	size_t out_at; /* of `out`: sent already */
	bool has_shut; /* our side is closed, what still comes is thrown away */
	bool read_ended;
	bool is_dead;	   /* to be freed when nobody is inside it */
	bool is_settling;  /* somebody is */
	unsigned hops;	   /* processes that handed it on since its last request */
	uint64_t progress; /* bytes since the timer was set */
	struct auth_peer peer;
	struct request request;
};

/* What those below conn.c and main.c tell them. */
struct server_calls {
	void (*settle)(struct conn *conn); /* what it waited for may be there */
	void (*on_connection)(struct server *server, int fd); /* with server->payload */
	void (*on_end)(struct server *server); /* reckond stops, or is gone */
};

struct server {
	struct server_calls calls;
	const struct dialect *dialect;
	unsigned number; /* of the dialect */
	unsigned (*recognise)(const struct http *http);
	struct loop *loop;
	struct loop_io *upstream_io, *listen_io;
	struct loop_timer *end_timer, *accept_timer, *note_timer;
	struct conn *conns;
	unsigned conn_count, conn_max;
	struct front_stats *page;
	uint64_t next_id;
	bool is_ending;
	const char *allowed_hosts; /* names that are ours besides addresses and localhost */
	bool is_local; /* a unix socket, for one user */
	uid_t local_uid;
	struct waiting_table *waiting;
	struct outbox *outbox;
	struct buf payload; /* of the frame that is looked at */
	char *chunk; /* HTTPD_AHEAD_MAX bytes, for reading */
	struct auth_throttle *throttle;
};

/* ---- conn.c ---- */
/* `early`: bytes that somebody else has read from it. */
struct conn *conn_new(struct server *server, int fd, const struct auth_peer *peer,
		      const void *early, size_t early_len, unsigned hops);
void conn_free(struct conn *conn);
void conn_settle(struct conn *conn); /* does what can be done now */
bool conn_feed_body(struct conn *conn); /* false: more has to come first */

/* ---- conn_out.c ---- */
void conn_flush(struct conn *conn);
void conn_abort(struct conn *conn); /* close without another byte */
struct conn *conn_of(struct request *request);

/* ---- handling.c ---- */
void request_start(struct conn *conn, coroutine_fn *fn);
/* Goes on with it if it can; false: it waits. */
bool request_go_on(struct conn *conn);
/* Whether a handler goes on though the connection is dead. */
bool request_stays(const struct request *request);
void request_drop(struct conn *conn); /* whoever asked is gone: runs it to its end */
void request_reset(struct request *request);

/* ---- wait.c ---- */
/* Waits. Negative: the client is gone; 0: it came; 1: the time is over. */
int request_wait(struct request *request, enum wait wait, uint64_t ms);
bool request_may_go_on(const struct conn *conn);
bool request_has_reply(const struct request *request); /* to any question */

/* ---- channel.c ---- */
struct request *channel_request(const struct channel *channel);

/* ---- origin.c ---- */
/* Whether the request was sent to a name that may be anybody's; then the second answers it. */
bool origin_is_misdirected(const struct conn *conn);
void origin_refuse_misdirected(void *conn);

/* ---- upstream.c ---- */
int upstream_open(struct server *server, struct err *err);
void upstream_forget(struct conn *conn); /* tells reckond that nobody waits */
void upstream_end(struct conn *conn);			/* of a request that is over */
void upstream_ready(struct server *server);
/* Hands a connection on, with the bytes that were read from it; the descriptor is closed. */
void upstream_hand_off(struct server *server, unsigned number, unsigned hops, int fd,
		       const struct buf *bytes);

/* ---- websocket.c ---- */
void websocket_free(struct websocket *websocket); /* NULL is fine */

/* ---- note.c ---- */
int note_open(struct server *server, struct err *err);

/* ---- access_log.c ---- */
void access_settings(const struct front_stats *page); /* of the log, as they are now */
void access_begin(struct conn *conn);		     /* a head is there */
/* A well-formed traceparent; the rest of `ret` stays. */
bool access_parse_trace(const char *header, struct access *ret);
/* Lines of an answer's head. */
void access_answer(struct conn *conn, unsigned status, char *ret_headers, size_t size);
void access_bytes(struct conn *conn, size_t received, size_t sent);
void access_end(struct conn *conn, bool is_whole); /* nothing when none had begun */
