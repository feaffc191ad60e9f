/*
 * server.h - declarations shared by the files of httpd.
 *
 *   main.c           start, fence, accepting
 *   conn.c           one connection: bytes in, bytes out, time limits, requests one after the other
 *   handling.c       the coroutine of a request
 *   request.c        one request: its head, its key; wait.c: what its coroutine waits for
 *   conn_out.c       a connection's unsent output, and its end
 *   body.c           the body of a request
 *   answer.c         heads and bodies of answers; sse.c: events
 *   host_name.c      whether a request's Host is one of our names
 *   websocket.c      WebSocket messages over the connection of a request
 *   channel.c        a second connection of a handler; tunnel.c: joins both
 *   upstream.c       frames to and from reckond, matched to requests
 *   access_log.c     ids, traces, counts and the log line of each request
 *   auth_throttle.c  limits how many unknown keys an address can try
 *   note.c           lets a handler wake another one
 *   origin.c         requests that a foreign web page may have caused
 *   coroutine.c      stacks for handlers
 *   fence.c          drops privileges before the first byte
 *
 * Calls go from main.c and conn.c down to conn_out.c; calls in the other direction go
 * through struct server_calls.
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

#define CONN_OUT_LOW (64u * 1024u) /* above this much unsent output answer_write() waits */
#define CONN_OUT_MAX (128u * 1024u * 1024u)
#define KEEP_ALIVE_MS 75000u
#define STREAM_STALL_MS 15000u /* a reader of events must read something within this time */
#define LINGER_MS 2000u /* how long a closed connection waits for its client to close as well */
#define PROGRESS_BYTES 16384u /* minimum progress within each body time limit */
#define CANCELS_MAX 4u

struct conn;
struct server;

enum conn_state {
	CONN_HEAD,    /* reading a head */
	CONN_RUN,     /* a handler runs, or waits */
	CONN_SEND,    /* it returned; its output is being sent */
	CONN_CLOSING, /* all output is sent; the client should close */
};

/* What the coroutine of a request waits for. */
enum wait {
	WAIT_NOTHING,
	WAIT_BODY,
	WAIT_OUT,
	WAIT_REPLY,
	WAIT_ANSWER,  /* the reply to any question */
	WAIT_MESSAGE, /* input of a WebSocket, or the reply to any question */
	WAIT_NOTE,    /* request_wake() from another handler */
	WAIT_TIME,    /* only the timer */
	WAIT_CHANNEL, /* a second connection, or the client's */
};
/* Waits that do not depend on the client: the handler sets their time limit. */
static inline bool wait_is_on_others(enum wait wait)
{
	return wait >= WAIT_REPLY;
}

/* Whether the client is connected. */
enum client {
	CLIENT_THERE,  /* gone as soon as the connection is dead */
	CLIENT_MAY_GO, /* the handler continues, even if the connection is dead */
	CLIENT_GONE,   /* every wait ends at once */
};

/* What it means when the client has stopped sending. */
enum at_eof {
	AT_EOF_WAITS,	    /* the client waits for its answer */
	AT_EOF_GONE,	    /* the client is gone, also while the handler waits */
	AT_EOF_GONE_STREAM, /* the same, for a reader of a stream that may be silent for long */
};

enum answer {
	ANSWER_NONE,
	ANSWER_BEGUN, /* its head is written */
	ANSWER_ENDED,
};

/* A frame to reckond whose reply has not arrived, or was not taken by the handler yet. */
struct question {
	uint64_t id; /* 0: a free slot */
	struct conn *conn;
	struct question *next; /* in the same hash bucket */
	struct upstream_reply reply;
	bool has_reply;
};

/* Data for the access log; all zero between requests. */
struct access {
	uint64_t start_ns; /* 0: no request has begun */
	struct log_context about;
	bool is_sampled; /* the trace's flag, which is passed on */
	char route[128]; /* "": unknown */
	unsigned status;
	uint64_t received, sent;
};

struct request {
	struct coroutine *coroutine; /* NULL: no handler runs */
	enum wait wait, timer_of; /* `timer_of`: the wait that the connection's timer runs for */
	bool has_timed_out;
	enum client client;
	enum at_eof at_eof;
	enum answer answer;
	bool message_done; /* the request was read to its end */
	bool is_head;	   /* HEAD: a GET whose answer has no body */
	bool is_chunked;
	uint64_t answer_left;
	uint64_t wait_ms; /* time limit to make progress; 0: none */
	/* the body */
	request_body_fn *sink;
	void *sink_arg;
	bool sink_is_full;
	bool takes_encoded; /* the handler decodes a Content-Encoding itself */
	/* questions to reckond */
	struct question questions[UPSTREAM_QUESTIONS_MAX];
	const struct question *wanted; /* of WAIT_REPLY */
	bool has_note; /* another request woke it */
	uint64_t cancels[CANCELS_MAX];
	struct websocket *websocket; /* NULL: plain HTTP */
	struct channel *channel; /* the one that WAIT_CHANNEL waits for */
	bool (*channel_may_go_on)(const struct channel *channel);
	char key[FRONT_KEY_MAX + 1]; /* key found by the dialect; "": none */
	char headers[256];	     /* for its answer, whatever that is */
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
	size_t fed;    /* in `in`: bytes already parsed of an incomplete head */
	size_t out_at; /* in `out`: bytes already sent */
	bool has_shut; /* our side is closed; further input is dropped */
	bool read_ended;
	bool is_parting;   /* the socket stays open until the client has read the last answer */
	bool is_dead;	   /* free it when no function uses it any more */
	bool is_settling;  /* conn_settle() is running */
	unsigned hops;	   /* processes that passed it on since its last request */
	uint64_t progress; /* bytes since the timer was set */
	struct auth_peer peer;
	struct request request;
};

/* How files below conn.c and main.c call them. */
struct server_calls {
	void (*settle)(struct conn *conn); /* the event it waited for may have come */
	void (*on_connection)(struct server *server, int fd); /* its bytes are in server->payload */
	void (*on_end)(struct server *server); /* reckond stops, or is gone */
};

struct server {
	struct server_calls calls;
	const struct dialect *dialect;
	unsigned number; /* the dialect's number */
	unsigned (*recognise)(const struct http *http);
	struct loop *loop;
	struct loop_io *upstream_io, *listen_io;
	struct loop_timer *end_timer, *accept_timer, *note_timer;
	struct conn *conns;
	unsigned conn_count, conn_max;
	unsigned lingerers;
	struct front_stats *page;
	uint64_t next_id;
	unsigned end_steps; /* checks for open connections since the shutdown began */
	bool is_ending;
	const char *allowed_hosts; /* names of this server besides IP addresses and localhost */
	bool is_local; /* a Unix socket, for one user */
	uid_t local_uid;
	struct waiting_table *waiting;
	struct outbox *outbox;
	struct buf payload; /* of the current frame */
	char *chunk; /* HTTPD_AHEAD_MAX bytes, for reading */
	struct auth_throttle *throttle;
};

/* ---- conn.c ---- */
/* `early`: bytes that another process has read from it. */
struct conn *conn_new(struct server *server, int fd, const struct auth_peer *peer,
		      const void *early, size_t early_len, unsigned hops);
void conn_free(struct conn *conn);
void conn_settle(struct conn *conn); /* does everything that is possible now */
bool conn_feed_body(struct conn *conn); /* false: more input is needed */

/* ---- conn_out.c ---- */
void conn_flush(struct conn *conn);
void conn_abort(struct conn *conn); /* closes without sending another byte */
void conn_part(struct conn *conn);  /* closes once the client has read what was sent */
struct conn *conn_of(struct request *request);

/* ---- linger.c ---- */
/* Closes `fd`, which is its own from now on, once the client has closed it, or in a while. */
void linger(struct server *server, int fd);

/* ---- handling.c ---- */
void request_start(struct conn *conn, coroutine_fn *fn);
/* Continues the handler if possible; false: it waits. */
bool request_go_on(struct conn *conn);
/* Whether the handler continues although the connection is dead. */
bool request_stays(const struct request *request);
void request_drop(struct conn *conn); /* the client is gone: runs the handler to its end */
void request_reset(struct request *request);

/* ---- wait.c ---- */
/* Waits. Negative: the client is gone; 0: the event came; 1: the time is over. */
int request_wait(struct request *request, enum wait wait, uint64_t ms);
bool request_may_go_on(const struct conn *conn);
bool request_has_reply(const struct request *request); /* for any question */

/* ---- channel.c ---- */
struct request *channel_request(const struct channel *channel);

/* ---- origin.c ---- */
/* Whether the request's Host may be a foreign name; origin_refuse_misdirected() then answers it. */
bool origin_is_misdirected(const struct conn *conn);
void origin_refuse_misdirected(void *conn);

/* ---- upstream.c ---- */
int upstream_open(struct server *server, struct err *err);
void upstream_forget(struct conn *conn); /* cancels the request's frames at reckond */
void upstream_end(struct conn *conn);			/* after a request has ended */
void upstream_ready(struct server *server);
/* Passes a connection and the bytes read from it to reckond; closes the descriptor. */
void upstream_hand_off(struct server *server, unsigned number, unsigned hops, int fd,
		       const struct buf *bytes);

/* ---- websocket.c ---- */
void websocket_free(struct websocket *websocket); /* NULL is fine */

/* ---- note.c ---- */
int note_open(struct server *server, struct err *err);

/* ---- access_log.c ---- */
void access_settings(const struct front_stats *page); /* current log settings */
void access_begin(struct conn *conn);		     /* a head was read */
/* Parses a valid traceparent; leaves the rest of `ret` alone. */
bool access_parse_trace(const char *header, struct access *ret);
/* Header lines for an answer's head. */
void access_answer(struct conn *conn, unsigned status, char *ret_headers, size_t size);
void access_bytes(struct conn *conn, size_t received, size_t sent);
void access_end(struct conn *conn, bool is_whole); /* does nothing if no request had begun */
