/*
 * client.h - the client side of a daemon: requests, event streams, files, typed errors.
 *
 *   client_open(&options, &client, &err)          by address and key; may start the private daemon
 *   client_call(client, "GET", "sessions", …)     one request and its JSON reply
 *   client_execute(client, …), client_follow()    runs a cell or follows a stream, event by event;
 *                                                 resumes broken streams
 *   client_upload(), client_download()            bytes of any size, from and to descriptors
 *   client_close(client)
 *
 * Errors are struct err, like everywhere: `text` and `remedy` have the server's message, in terms of
 * commands and options (words.c), and client_last() has its error code ("session_lost") for callers
 * that need it. The mapping:
 *
 *   400 405 409 413 …   ERR_INVALID       the request is invalid               exit 2
 *   404                 ERR_NOT_FOUND                                          exit 2
 *   401 403             ERR_DENIED        no key, or not allowed               exit 125
 *   410                 ERR_LOST          it is gone; the text says why
 *   429                 ERR_LIMIT         client_last()->retry_s
 *   503, no connection  ERR_UNAVAILABLE
 *   504, too slow       ERR_TIMEOUT
 *   no Reckon answers   ERR_PROTOCOL
 *
 * Texts may quote the server: show them through cli_complain(), which escapes. They never contain a
 * key. These functions print nothing. Only one thread may use a struct client.
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

#define CLIENT_JSON_MAX ((size_t)512 * 1024 * 1024) /* of one reply or one event */

struct client;

/* NULL or false selects the default that the comment names. */
struct client_options {
	const char *url; /* default: $RECKON_URL, else the user's private daemon */
	const char *key; /* default: $RECKON_API_KEY; the private daemon needs none */
	bool no_start;	 /* ERR_NOT_FOUND instead of starting a private daemon that never ran */
	bool only_running; /* ERR_NOT_FOUND instead of starting a daemon; ignores RECKON_URL */
	bool only_private; /* the private daemon; ignores RECKON_URL */
	/*
	 * A request that the server refused with 429 or 503 and a Retry-After had no effect: the
	 * client repeats it after that time, as long as all waits of this client stay within
	 * wait_s; 0: never.
	 */
	unsigned wait_s;
	/* Called before each wait of `seconds`; `why` is the server's message. */
	void (*on_wait)(unsigned seconds, const char *why, void *arg);
	void *on_wait_arg;
	/* Called with information that the user did not request; `remedy` may be "". */
	void (*on_note)(const char *text, const char *remedy, void *arg);
	void *on_note_arg;
};

/* The caller owns *ret. Sends nothing to a named daemon, but makes sure that a private one runs. */
int client_open(const struct client_options *options, struct client **ret, struct err *err);
void client_close(struct client *client); /* NULL is fine */

/* For messages: "http://127.0.0.1:7263", "your private daemon". */
const char *client_name(const struct client *client);
bool client_is_private(const struct client *client);
/* Whether the key travels unencrypted to another machine: worth a warning. */
bool client_is_exposed(const struct client *client);

/* About the private daemon that client_open() found. */
struct client_private {
	pid_t pid;
	char socket[512]; /* path of its socket */
	size_t kernels; /* sessions that would lose variables if the daemon ended */
};
int client_private(struct client *client, struct client_private *ret, struct err *err);
/* Ends the private daemon and waits until it has ended. */
int client_private_end(struct client *client, struct err *err);

/* The server's last reply; zero and "" where it said nothing. */
struct client_answer {
	unsigned status;
	char code[48];
	unsigned retry_s; /* Retry-After */
	char archive[128]; /* Reckon-Archive: "files=3, …" */
};
const struct client_answer *client_last(const struct client *client);

/*
 * One request. `path` is below /reckon/v1/, with its query ("sessions?limit=5"); use
 * client_path_add() for parts that come from a user. `body` is JSON, or NULL. *ret (may be NULL) is
 * the reply, for json_read_free(); a reply that is not JSON is an error.
 */
int client_call(struct client *client, const char *method, const char *path,
		const struct buf *body, struct json_value **ret, struct err *err);

/* Appends `text` percent-encoded; `slashes` keeps slashes, for a file's path. */
int client_path_add(struct buf *path, const char *text, bool slashes, struct err *err);

/* GET into `fd` at its current offset; *ret_size (may be NULL) is the number of bytes. */
int client_download(struct client *client, const char *path, int fd, uint64_t *ret_size,
		    struct err *err);
/* PUT of `size` bytes of `fd` from its current offset. *ret (may be NULL) is the reply. */
int client_upload(struct client *client, const char *path, int fd, uint64_t size,
		  struct json_value **ret, struct err *err);
/* Called often during both; `total` is 0 if unknown. NULL: stop calling. */
typedef void client_progress_fn(uint64_t done, uint64_t total, void *arg);
void client_on_progress(struct client *client, client_progress_fn *fn, void *arg);

/* ---- ports ---- */

/* A connection to a port of a session, as a byte stream. A forked child may open and use one. */
struct client_tunnel;
/* `path` is "sessions/ID/ports/PORT". ERR_UNAVAILABLE: no program listens on the port. */
int client_tunnel_open(const struct client *client, const char *path, struct client_tunnel **ret,
		       struct err *err);
void client_tunnel_close(struct client_tunnel *tunnel); /* NULL is fine */
/* The descriptor to poll. Read until CLIENT_TUNNEL_AGAIN first: poll() does not see decrypted
 * bytes. */
int client_tunnel_fd(const struct client_tunnel *tunnel);
/* Does not block. Returns the number of bytes, 0 at the end, CLIENT_TUNNEL_AGAIN, or -1. */
#define CLIENT_TUNNEL_AGAIN (-2)
ssize_t client_tunnel_read(struct client_tunnel *tunnel, void *ret, size_t size);
ssize_t client_tunnel_write(struct client_tunnel *tunnel, const void *bytes, size_t len);
/* Ends the writing side. False over TLS, where only closing the tunnel tells the other side. */
bool client_tunnel_end(struct client_tunnel *tunnel);

/* The daemon's address as a URL, without a trailing slash; NULL: it has only a socket. */
const char *client_url(const struct client *client);

/* ---- executions ---- */

/*
 * Called once per event, in order, with its name and JSON (docs/events.md). The last event is
 * "done", whose "record" is the record. "gap" means that the server dropped some events. A negative
 * result ends the stream with *err as set.
 */
typedef int client_event_fn(const char *name, const char *json, size_t len, void *arg,
			    struct err *err);

struct client_execution {
	const char *session;	/* id */
	const struct buf *body; /* of POST …/executions, without "stream" */
	client_event_fn *on_event;
	void *on_event_arg;
	/* Or NULL: called once with the id, before the first event, with on_event's argument. */
	void (*on_begun)(const char *id, void *arg);
	/*
	 * A descriptor (or -1) that becomes readable when the user wants something. Then the client
	 * calls on_wake, which reads it; `id` is the execution's, "" while unknown. A negative
	 * result leaves the stream; the cell continues.
	 */
	int wake_fd;
	int (*on_wake)(const char *id, void *arg, struct err *err);
	void *on_wake_arg;
};

/*
 * Runs a cell and passes its events on until "done". Resumes the stream after a broken connection;
 * the cell does not run twice. ERR_UNAVAILABLE: reconnecting failed. If the execution ended without
 * a record, the result is the server's error for it.
 */
int client_execute(struct client *client, const struct client_execution *execution,
		   struct err *err);

/* ---- other streams of events ---- */

struct client_stream {
	const char *path; /* below /reckon/v1/: "sessions/ID/processes/ID/events" */
	const char *last; /* name of the stream's last event */
	client_event_fn *on_event;
	void *on_event_arg;
	int wake_fd; /* or -1; as above, but without an id */
	int (*on_wake)(void *arg, struct err *err);
	void *on_wake_arg;
};

/* Passes on the events from the server's first to the last, and reconnects after a broken
 * connection. */
int client_follow(struct client *client, const struct client_stream *plan, struct err *err);

/* ---- parallel requests of protocols other than the native API ---- */

struct client_exchange;
struct client_request {
	const char *method;
	const char *path;		  /* absolute path: "/mcp" */
	const char *const *headers; /* lines without CRLF, NULL-terminated; or NULL */
	const struct buf *body;	  /* copied; NULL: none */
	void *arg;
	void (*on_header)(const char *line, size_t len, void *arg); /* or NULL */
	bool (*on_bytes)(const char *bytes, size_t len, void *arg); /* false: stop the exchange */
	/* Called once. `why`: the reply is incomplete; `unreached`: the request was not even
	 * sent. */
	void (*on_end)(void *arg, unsigned status, const char *why, bool unreached);
};
/* The caller owns *ret until client_exchange_end(), even after on_end. */
int client_exchange_begin(struct client *client, const struct client_request *request,
			  struct client_exchange **ret, struct err *err);
void client_exchange_end(struct client_exchange *exchange); /* aborts it if it runs; frees it */
/* Advances all exchanges; waits up to `wait_ms` for one of them, or for `wake_fd` (-1: none). */
int client_exchange_poll(struct client *client, int wake_fd, int wait_ms, bool *ret_ready,
			 struct err *err);
/* Finds or restarts the private daemon; ERR_UNAVAILABLE for any other daemon. */
int client_revive(struct client *client, struct err *err);
