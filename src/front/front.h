/*
 * front.h - what the files of reckon-front share.
 *
 *   main.c      start, fence, accepting
 *   upstream.c  frames to and from reckond, which connection waits for which
 *   conn.c      one connection: bytes in, bytes out, time limits
 *   call.c      what the field table (src/api) knows: a request as a typed call, its answer
 *   endpoint.c  the table of the rest: method and path, what is asked, how the answer looks
 *   request.c   a request's head and body, and what is wrong with them
 *   build.c     what a client asks, as fields of a frame; query.c: what follows the "?"
 *   reply.c     what reckond says, as HTTP
 *   shape.c     fields of a frame as JSON
 *   refusal.c   what an error says besides
 *   guess.c     who tried unknown keys too often
 *   stream.c    events (SSE), pieces of files
 *   download.c  a file as HTTP: type, name, conditions, ranges
 *   build_files.c shape_files.c   the same for files, archives, links; build_run.c for questions
 *   trail.c     ids, traces, counts and a line of the log for each request
 *   fence.c     what is given up before the first byte
 *
 * A connection serves one request at a time, and has at most one frame unanswered: while it
 * waits, what a client sends ahead is read up to CONN_AHEAD_MAX bytes and no further.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/describe.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "codec/http.h"
#include "codec/json_write.h"
#include "front/guess.h"
#include "loop/loop.h"
#include "wire/front.h"
#include "wire/front_page.h"

#define CONN_AHEAD_MAX (64u * 1024u)
#define CONN_OUT_LOW (64u * 1024u)  /* below this, more of a file or of events is fetched */
#define CONN_OUT_MAX (128u * 1024u * 1024u)
#define KEEP_ALIVE_MS 75000u
#define EVENTS_FIRST_MS 1000u  /* without an event so long, the head of a stream is sent */
#define EVENTS_BEAT_MS 15000u  /* a comment, so that proxies keep a silent stream open */
#define PROGRESS_BYTES 16384u  /* at least so much in each body time limit */
#define BODY_BEFORE_AUTH (64u * 1024u) /* a longer body is read after the key was looked at */

#define MEDIA_JSON "application/json"

struct conn;

/* What a query may say; an endpoint names those that it takes. */
struct query {
	uint64_t limit, after, offset, length;
	char before[FRONT_ID_MAX + 1];
	enum { QUERY_UNSAID, QUERY_YES, QUERY_NO } recursive;
	char format[16];
	char path[4096];   /* of a folder */
	char cursor[4096]; /* `next` of the page before */
};

/* Fields of a request; ERR_INVALID names what is wrong with it. */
typedef int build_fn(struct conn *conn, const struct query *query, struct buf *payload,
		     struct err *err);
/* Fields of an answer as JSON. */
typedef int shape_fn(const struct kernel_item *items, size_t count, struct buf *ret,
		     struct err *err);

enum endpoint_kind {
	ENDPOINT_JSON,	   /* JSON in (POST, PATCH), JSON out */
	ENDPOINT_UPLOAD,   /* the body goes to the descriptor that the answer brings, then COMMIT */
	ENDPOINT_BYTES,	   /* the answer is a file */
	ENDPOINT_EVENTS,   /* the answer is a stream of events */
	ENDPOINT_DOCUMENT, /* the OpenAPI document: nothing is asked */
	ENDPOINT_CALL,	   /* a row of the field table */
};

/* What one method does at one path. `{name}` in a path is an id, `{path}` the rest of it. */
struct endpoint {
	const char *path; /* behind /reckon/v1/; the whole path when it begins with "/" */
	enum http_verb verb;
	enum endpoint_kind kind;
	enum front_type type;
	build_fn *build;
	const char *query; /* names it takes, a space around each; NULL: none */
	unsigned status;   /* of success; 0: 200 */
	shape_fn *shape;   /* of an answer in fields */
	const char *media; /* of an answer with a BODY that is no JSON */
	const char *wrap;  /* of an answer with a BODY: {"wrap": BODY}; NULL: as it is */
	/* Instead of shape. */
	void (*take)(struct conn *conn, const struct kernel_item *items, size_t count);
};

/* What a request line names, decoded. */
struct target {
	const struct endpoint *endpoint; /* NULL: the path knows no such method */
	const struct api_call *call;	 /* of an ENDPOINT_CALL */
	unsigned verbs;			 /* that the path knows */
	char session[FRONT_ID_MAX + 1];
	char execution[FRONT_ID_MAX + 1];
	char id[FRONT_ID_MAX + 1]; /* any other {name} */
	char handle[48];
	char word[96]; /* {token} */
	char *path; /* of a file; allocated */
};

enum conn_state {
	CONN_HEAD,    /* reading a head */
	CONN_AUTH,    /* the key of a long body is looked at */
	CONN_BODY,    /* reading a body */
	CONN_WAIT,    /* a frame is unanswered */
	CONN_SEND,    /* an answer is on its way */
	CONN_EVENTS,  /* a stream of events */
	CONN_CLOSING, /* what is left is sent, then it is closed */
};

/* What a request leaves behind; all zero between requests. */
struct trail {
	uint64_t start_ns; /* 0: none has begun */
	struct log_context about;
	bool is_sampled; /* the trace's flag, passed on */
	unsigned status;
	uint64_t received, sent;
};

struct conn {
	struct conn *next, *previous;
	struct conn *next_waiting; /* in upstream.c's table */
	struct front *front;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer;
	enum conn_state state;
	struct http http;
	struct target target;
	struct buf in, out, body;
	size_t out_at;	   /* of `out`: sent already */
	bool message_done; /* the request was read to its end */
	bool is_head;	   /* HEAD: a GET whose answer has no body */
	bool is_muted;	   /* its head is written, the rest is left out */
	bool has_shut;	   /* our side is closed, what still comes is thrown away */
	uint64_t waiting; /* id of the unanswered frame, or 0 */
	bool read_ended;
	bool is_dead;	  /* to be freed when nobody is inside it */
	unsigned inside;
	uint64_t progress; /* bytes since the timer was set */
	/* a file on its way out */
	int file;
	uint64_t file_at, file_left;
	uint64_t want_first, want_length; /* ?offset, ?length */
	const char *archive_type; /* of an archive that is asked for, else NULL */
	char archive_name[256];
	/* an upload on its way in */
	int upload;
	uint64_t ticket, upload_max;
	bool disk_full;
	/* events */
	uint64_t last_event;
	bool head_sent, is_chunked;
	bool wants_events; /* this EXECUTE or RUN_CREATE is followed by its events */
	bool follows_run;  /* the events are those of a run */
	bool ends_at_eof;  /* whoever sends no more is taken for gone, also while it waits */
	uint64_t holds;	   /* the frame that these events began with; a CANCEL of it tells the end */
	bool wants_csv;
	struct guess_peer peer;
	struct trail trail;
};

struct front {
	struct loop *loop;
	struct loop_io *upstream_io, *listen_io;
	struct loop_timer *end_timer, *accept_timer;
	struct conn *conns;
	unsigned conn_count, conn_max;
	struct front_page *page;
	uint64_t next_id;
	bool is_ending;
	bool is_local; /* a unix socket, for one user */
	uid_t local_uid;
	struct waiting_table *waiting;
	struct outbox *outbox;
	struct buf payload; /* of the frame that is looked at */
	struct kernel_item *items;
	char *chunk; /* CONN_AHEAD_MAX bytes, for reading */
	struct guess *guess;
};

/* ---- upstream.c ---- */
int upstream_open(struct front *front, struct err *err);
/* Sends a frame; its answer comes to reply_take(). */
void upstream_ask(struct conn *conn, enum front_type type, const struct buf *payload);
/* A typed call; its answer comes to call_answer(), or is an error and comes to reply_take(). */
void upstream_call(struct conn *conn, uint16_t number, const struct buf *payload);
void upstream_forget(struct conn *conn); /* tells reckond that nobody waits */
void upstream_ready(struct front *front);

/* ---- conn.c ---- */
void conn_new(struct front *front, int fd, const struct guess_peer *peer);
void conn_free(struct conn *conn);
void conn_process(struct conn *conn);	/* what is in the buffers */
void conn_read_body(struct conn *conn); /* the head was found good */
void conn_write(struct conn *conn, const void *bytes, size_t len);
void conn_writef(struct conn *conn, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void conn_finish(struct conn *conn); /* the answer is complete in `out` and `file` */
void conn_abort(struct conn *conn);  /* close without another byte */
void conn_flush(struct conn *conn);

/* ---- endpoint.c ---- */
/* 0 when there is such a path, else ERR_NOT_FOUND or ERR_INVALID. */
int endpoint_find(enum http_verb verb, const char *path, struct target *ret, struct err *err);
void target_done(struct target *target);
/* Whether it can be asked without a key. */
bool target_is_open(const struct target *target);

/* ---- call.c ---- */
void call_ask(struct conn *conn); /* the whole request is there */
void call_answer(struct conn *conn, const char *image, size_t len);

/* ---- request.c ---- */
void request_head(struct conn *conn); /* the head is there */
void request_done(struct conn *conn); /* all of it is there */
bool request_takes_json(const struct conn *conn);

/* ---- query.c ---- */
/* Only the names in `known` (NULL: none) are taken. */
int query_take(const struct conn *conn, const char *known, struct query *ret, struct err *err);
int query_u64(const char *name, const char *value, uint64_t *ret, struct err *err);

/* ---- build.c ---- */
/* The presented key, or "". */
void build_key_text(const struct conn *conn, char ret[FRONT_KEY_MAX + 1]);
int build_key(const struct conn *conn, struct buf *payload, struct err *err);
build_fn build_list;	   /* key, session if there is one, limit, before, tenant */
build_fn build_in_session; /* key and whatever the path names */
build_fn build_empty;	   /* the same; the body, if there is one, has no fields */
build_fn build_events;
build_fn build_upload;
build_fn build_artifact;
int build_target(const struct conn *conn, struct buf *payload, struct err *err);
int build_idempotency(const struct conn *conn, struct buf *payload, struct err *err);
struct api_leave;
int build_leave(const struct api_leave *leave, struct buf *payload, struct err *err);

/* ---- refusal.c ---- */
/* The members of an error that only some have. */
void shape_refusal(struct json_writer *json, const struct kernel_item *items, size_t count);

/* ---- build_files.c ---- */
build_fn build_file_list, build_file_put, build_file_delete, build_move, build_mkdir;
build_fn build_archive_get, build_archive_put;
build_fn build_artifacts, build_receipts, build_links, build_link, build_follow;

/* ---- build_run.c ---- */
build_fn build_run, build_run_events;
shape_fn shape_run;
void take_run(struct conn *conn, const struct kernel_item *items, size_t count);

/* ---- reply.c ---- */
void reply_take(struct conn *conn, const struct front_head *head, const struct kernel_item *items,
		size_t count, int fd);
void reply_text(struct conn *conn, unsigned status, const char *media, const struct buf *text);
void reply_json(struct conn *conn, unsigned status, const struct buf *json);
void reply_error_json(struct conn *conn, unsigned status, const struct buf *json,
		      unsigned retry_s);
void reply_error(struct conn *conn, unsigned status, const char *code, const char *message,
		 const char *cause, const char *remedy, unsigned retry_s);
void reply_err(struct conn *conn, unsigned status, const struct err *err);
/* The head; `length` UINT64_MAX: chunks, or to the end of the connection. */
void reply_head(struct conn *conn, unsigned status, const char *type, uint64_t length,
		const char *extra);
/* JSON, or other text of ours, that is too long for a frame. */
void reply_json_file(struct conn *conn, unsigned status, const char *type, int fd, uint64_t size);
const char *reply_error_name(enum front_error error, unsigned *ret_status);

/* ---- shape_list.c ---- */
/* One entry of an answer as a JSON value. */
typedef void shape_one_fn(struct json_writer *json, const struct kernel_item *items, size_t count);
int shape_one(shape_one_fn *one, const struct kernel_item *items, size_t count, struct buf *ret,
	      struct err *err);
/* {"key": [one, …], "next": of the last the field `first`, or null}; each begins with `first`. */
int shape_list(const char *key, enum front_tag first, bool has_next, shape_one_fn *one,
	       const struct kernel_item *items, size_t count, struct buf *ret, struct err *err);
/* How many fields the entry at `items` has. */
size_t shape_entry(const struct kernel_item *items, size_t count, enum front_tag first);
/* "key": the text of that field; nothing when there is none. */
void shape_member(struct json_writer *json, const char *key, const struct kernel_item *items,
		  size_t count, enum front_tag tag);
void shape_member_or_null(struct json_writer *json, const char *key,
			  const struct kernel_item *items, size_t count, enum front_tag tag);

/* ---- shape.c ---- */
shape_fn shape_nothing, shape_interrupt;
shape_fn shape_put, shape_moved, shape_deleted, shape_archive;	/* shape_files.c */
shape_fn shape_artifacts, shape_versions, shape_receipts, shape_links, shape_link;
int shape_error(const char *code, const char *message, const char *cause, const char *remedy,
		struct buf *ret, struct err *err);
/* The same with what `items` say besides. */
int shape_error_more(const char *code, const char *message, const char *cause, const char *remedy,
		     const struct kernel_item *items, size_t count, struct buf *ret,
		     struct err *err);

/* ---- download.c ---- */
void download_reply(struct conn *conn, const struct kernel_item *items, size_t count, int fd);
const char *download_archive_type(const char *format); /* NULL: there is no such format */
void download_archive_name(struct conn *conn, const char *path, const char *format);

/* ---- stream.c ---- */
void stream_begin(struct conn *conn, const char *execution);
void stream_begin_run(struct conn *conn, const char *run);
void stream_take(struct conn *conn, const struct front_head *head,
		 const struct kernel_item *items, size_t count);
void stream_more(struct conn *conn); /* the client has taken what there was */
void stream_beat(struct conn *conn);
void stream_file(struct conn *conn); /* the next piece of a file into `out` */
/* {"wrap": what the file holds, which is JSON} */
void stream_wrapped(struct conn *conn, const char *wrap, int fd, uint64_t size);

/* ---- trail.c ---- */
void trail_settings(const struct front_page *page); /* of the log, as they are now */
void trail_begin(struct conn *conn); /* a head is there */
/* A well-formed traceparent; the rest of `ret` stays. */
bool trail_parse(const char *header, struct trail *ret);
int trail_pack(const struct conn *conn, struct buf *payload, struct err *err);
void trail_answer(struct conn *conn, unsigned status, char *ret_headers, size_t size);
void trail_bytes(struct conn *conn, size_t received, size_t sent);
void trail_end(struct conn *conn, bool is_whole); /* nothing when none had begun */

/* The OpenAPI document, embedded. */
extern const char openapi_json[];
extern const unsigned openapi_json_len;
