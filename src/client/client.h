/*
 * client.h - a daemon as its clients see it: requests, events as they come, files, typed errors.
 *
 *   client_open(&options, &client, &err)          where, with which key; starts the private daemon
 *   client_call(client, "GET", "sessions", …)     one request, its JSON
 *   client_execute(client, …), client_follow()    a cell, or what runs, and its events; goes on where
 *                                                 a stream broke
 *   client_upload(), client_download()            bytes of any size, from and to descriptors
 *   client_close(client)
 *
 * Errors are struct err, like everywhere: what the server said of it is in text and remedy, and
 * client_last() has its code ("session_lost") for callers that tell cases apart. The codes:
 *
 *   400 405 409 413 …   ERR_INVALID       what was asked is wrong              exit 2
 *   404                 ERR_NOT_FOUND                                          exit 2
 *   401 403             ERR_DENIED        no key, or not allowed               exit 125
 *   410                 ERR_LOST          it was there; the text says what became of it
 *   429                 ERR_LIMIT         client_last()->retry_s
 *   503, nobody there   ERR_UNAVAILABLE
 *   504, too slow       ERR_TIMEOUT
 *   no Reckon answers   ERR_PROTOCOL
 *
 * Texts may quote what a server sent: show them through cli_complain(), which escapes. A key never
 * stands in one. Nothing here prints. A struct client is one thread's.
 *
 *   url.c       "http://host:port", "unix:/path"          daemon.c   the user's private daemon
 *   transfer.c  one exchange, on libcurl                  stream.c   an execution's events
 *   tunnel.c    a connection to a port
 *   exchange.c  several requests at once, of other protocols
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define CLIENT_JSON_MAX ((size_t)512 * 1024 * 1024) /* of one answer or one event */

struct client;

/* What to leave NULL or false says what happens then. */
struct client_options {
	const char *url; /* $RECKON_URL; without that the user's private daemon */
	const char *key; /* $RECKON_API_KEY; the private daemon needs none */
	bool no_start;	 /* a private daemon that never ran is ERR_NOT_FOUND instead of started */
	bool only_running; /* so is one that does not run; RECKON_URL is not looked at */
	/*
	 * A request that is refused with 429 or 503 and a Retry-After has done nothing: it is made
	 * again then, as long as all the waiting of this client takes no more than that; 0: never.
	 */
	unsigned wait_s;
	/* Before each wait of `seconds`; `why` is what the server said. */
	void (*on_wait)(unsigned seconds, const char *why, void *arg);
	void *on_wait_arg;
	/* What somebody should know who did not ask; `remedy` may be "". */
	void (*on_note)(const char *text, const char *remedy, void *arg);
	void *on_note_arg;
};

/* *ret belongs to the caller. Nothing is sent yet, but a private daemon runs afterwards. */
int client_open(const struct client_options *options, struct client **ret, struct err *err);
void client_close(struct client *client); /* NULL is fine */

/* For messages: "http://127.0.0.1:7263", "your private daemon". */
const char *client_name(const struct client *client);
bool client_is_private(const struct client *client);
/* Whether the key travels unencrypted to another machine: worth a warning. */
bool client_is_exposed(const struct client *client);

/* Of the private daemon that client_open() found. */
struct client_private {
	pid_t pid;
	char socket[512]; /* its path */
	size_t kernels; /* sessions that would lose variables if it ended */
};
int client_private(struct client *client, struct client_private *ret, struct err *err);
/* Ends it, and waits for that. */
int client_private_end(struct client *client, struct err *err);

/* What the server said last; zero and "" when it said nothing. */
struct client_answer {
	unsigned status;
	char code[48];
	unsigned retry_s; /* Retry-After */
	char archive[128]; /* Reckon-Archive: "files=3, …" */
};
const struct client_answer *client_last(const struct client *client);

/*
 * One request. `path` is below /reckon/v1/, with its query ("sessions?limit=5"); build it with
 * client_path_add() when any of it comes from somebody. `body` is JSON, or NULL. *ret (may be
 * NULL) is the answer, for json_read_free(); one that is not JSON is an error.
 */
int client_call(struct client *client, const char *method, const char *path,
		const struct buf *body, struct json_value **ret, struct err *err);

/* Appends `text` percent-encoded. With `slashes` they stay: the path of a file. */
int client_path_add(struct buf *path, const char *text, bool slashes, struct err *err);

/* GET into `fd`, from where it stands; *ret_size (may be NULL) is how much came. */
int client_download(struct client *client, const char *path, int fd, uint64_t *ret_size,
		    struct err *err);
/* PUT of `size` bytes of `fd`, from where it stands. *ret (may be NULL) is the answer. */
int client_upload(struct client *client, const char *path, int fd, uint64_t size,
		  struct json_value **ret, struct err *err);
/* While either goes on, often; `total` is 0 when nobody said it. NULL: no more. */
typedef void client_progress_fn(uint64_t done, uint64_t total, void *arg);
void client_on_progress(struct client *client, client_progress_fn *fn, void *arg);

/* ---- ports ---- */

/* A connection to a port of a session, as bytes. A forked child may open and use one. */
struct client_tunnel;
/* `path` is "sessions/ID/ports/PORT". ERR_UNAVAILABLE: nothing listens there. */
int client_tunnel_open(const struct client *client, const char *path, struct client_tunnel **ret,
		       struct err *err);
void client_tunnel_close(struct client_tunnel *tunnel); /* NULL is fine */
/* To wait for. Read until there is nothing before waiting: what was decrypted is not seen in it. */
int client_tunnel_fd(const struct client_tunnel *tunnel);
/* Without waiting: how many bytes, 0: the end, CLIENT_TUNNEL_AGAIN, or -1. */
#define CLIENT_TUNNEL_AGAIN (-2)
ssize_t client_tunnel_read(struct client_tunnel *tunnel, void *ret, size_t size);
ssize_t client_tunnel_write(struct client_tunnel *tunnel, const void *bytes, size_t len);
/* Nothing more will be written. False: over TLS the other side cannot be told, but by closing. */
bool client_tunnel_end(struct client_tunnel *tunnel);

/* The daemon's address as a URL, without a slash at the end; NULL: it has none, but a socket. */
const char *client_url(const struct client *client);

/* ---- executions ---- */

/*
 * One event, in order, each once: its name and its JSON (docs/events.md). The last one is "done",
 * whose "record" is the record. "gap" says that the server forgot some. A negative result ends the
 * stream with *err as set.
 */
typedef int client_event_fn(const char *name, const char *json, size_t len, void *arg,
			    struct err *err);

struct client_execution {
	const char *session;	/* id */
	const struct buf *body; /* of POST …/executions, without "stream" */
	client_event_fn *on_event;
	void *on_event_arg;
	/* Or NULL: told the id once, before the first event; with on_event's argument. */
	void (*on_begun)(const char *id, void *arg);
	/*
	 * A descriptor (or -1) that becomes readable when the user wants something: then on_wake
	 * is called, which reads it; `id` is the execution's, "" until the server has said it. A
	 * negative result leaves the stream; the cell goes on.
	 */
	int wake_fd;
	int (*on_wake)(const char *id, void *arg, struct err *err);
	void *on_wake_arg;
};

/*
 * Runs a cell and hands out its events until "done". A connection that broke is taken up again
 * where it was; the cell does not run twice. When it stays broken: ERR_UNAVAILABLE. An execution
 * that ended without a record: the error that the server gives for it.
 */
int client_execute(struct client *client, const struct client_execution *execution,
		   struct err *err);

/* ---- other streams of events ---- */

struct client_stream {
	const char *path; /* below /reckon/v1/: "sessions/ID/processes/ID/events" */
	const char *last; /* name of the event after which there are no more */
	client_event_fn *on_event;
	void *on_event_arg;
	int wake_fd; /* or -1; as above, without an id */
	int (*on_wake)(void *arg, struct err *err);
	void *on_wake_arg;
};

/* Hands out events from the first that the server has until the last, over connections that break. */
int client_follow(struct client *client, const struct client_stream *plan, struct err *err);

/* ---- several requests at once, of protocols other than the native API ---- */

struct client_exchange;
struct client_request {
	const char *method;
	const char *path;		  /* from the root: "/mcp" */
	const char *const *headers; /* lines without CRLF, NULL at the end; or NULL */
	const struct buf *body;	  /* copied; NULL: none */
	void *arg;
	void (*on_header)(const char *line, size_t len, void *arg); /* or NULL */
	bool (*on_bytes)(const char *bytes, size_t len, void *arg); /* false: no more */
	/* Once. `why`: the answer is not whole; `unreached`: the request was not even sent. */
	void (*on_end)(void *arg, unsigned status, const char *why, bool unreached);
};
/* *ret is the caller's, also after its end. */
int client_exchange_begin(struct client *client, const struct client_request *request,
			  struct client_exchange **ret, struct err *err);
void client_exchange_end(struct client_exchange *exchange); /* before its end: breaks it off */
/* Moves all of them on; waits at most `wait_ms` for one, or for `wake_fd` (-1: none) to be readable. */
int client_exchange_poll(struct client *client, int wake_fd, int wait_ms, bool *ret_ready,
			 struct err *err);
/* Finds, or starts, the private daemon again; ERR_UNAVAILABLE of another one. */
int client_revive(struct client *client, struct err *err);
