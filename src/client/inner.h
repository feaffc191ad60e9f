/* inner.h - what the files of src/client share. */
#pragma once

#include <curl/curl.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/id.h"
#include "client/client.h"
#include "client/url.h"

#define CLIENT_KEY_SIZE 160
#define CLIENT_NAME_SIZE (URL_BASE_SIZE + 8)

struct client {
	struct url url;
	char name[CLIENT_NAME_SIZE];
	char key[CLIENT_KEY_SIZE];
	bool is_private;
	int runtime_fd; /* of the private daemon's directory: its socket's path starts there */
	CURLM *multi;
	struct client_answer last;
	unsigned wait_left_s; /* of client_options */
	void (*on_wait)(unsigned seconds, const char *why, void *arg);
	void *on_wait_arg;
	void (*on_note)(const char *text, const char *remedy, void *arg);
	void *on_note_arg;
	client_progress_fn *on_progress;
	void *on_progress_arg;
};

/* Receives the body of a successful reply; a negative result ends the exchange. */
typedef int transfer_sink_fn(const char *bytes, size_t len, void *arg, struct err *err);

/* One exchange. Zero-initialise, fill in, transfer_run(), transfer_done(). */
struct transfer {
	struct client *client;
	const char *method;
	const char *path; /* below /reckon/v1/ */
	const struct buf *body;
	const char *header; /* an additional header, or NULL */
	const char *accept; /* expected media type, "" for any */
	transfer_sink_fn *sink;
	void *sink_arg;
	int upload_fd; /* with `is_upload` */
	uint64_t upload_size; /* bytes of it not sent yet */
	uint64_t uploaded;
	bool is_upload;
	bool is_stream; /* end it after a silence longer than a heartbeat */
	int wake_fd;	/* or -1 */
	int (*on_wake)(const char *execution, void *arg, struct err *err);
	void *on_wake_arg;
	/* results */
	struct client_answer answer;
	char execution[ID_SIZE]; /* Reckon-Execution */
	char type[64];
	struct buf refusal; /* body of an unsuccessful reply */
	uint64_t received;
	bool is_broken; /* the connection failed before the whole reply: a retry may help */
	/* private */
	CURL *easy;
	struct curl_slist *headers;
	char reason[CURL_ERROR_SIZE];
	struct err err;
	bool has_failed; /* `err` is local: from the sink, from on_wake, or a limit */
	bool is_over;
	CURLcode result;
};

int transfer_run(struct transfer *transfer, struct err *err);
void transfer_done(struct transfer *transfer);
int client_add_header(struct curl_slist **headers, const char *line, struct err *err);
/* Where to, and by which road. */
void transfer_set_place(CURL *easy, const struct url *url);

/*
 * wait.c: whether the request should be repeated after `code`, the result of a finished exchange;
 * waits first if so. The user can interrupt the wait; *ret_code is then the final result.
 */
bool wait_for_turn(const struct transfer *transfer, int code, int *ret_code, struct err *err);

/* answer.c: makes an error of the server's refusal. */
int answer_refused(struct transfer *transfer, struct err *err);
/* answer.c: makes an error of a failed connection. */
int answer_broken(struct transfer *transfer, struct err *err);
/* answer.c: makes an error of {"code", "message", "cause", "remedy"}. */
int answer_error(struct client *client, const struct json_value *error, unsigned status,
		 struct err *err);

#define WORDS_SIZE 512u
/* words.c: a server's message, with options in place of fields. */
void words_message(const char *text, char *ret, size_t size);
/* words.c: its remedy, with commands in place of requests as well; "" when no command does it. */
void words_remedy(const char *text, char *ret, size_t size);

/* daemon.c: finds the user's private daemon, and starts it if allowed. */
enum daemon_start {
	DAEMON_START_ANY,
	DAEMON_START_AGAIN, /* if one ran before, and can report on its sessions */
	DAEMON_START_NEVER,
};
int daemon_find(struct client *client, enum daemon_start may_start, struct err *err);
/* daemon_connect.c: 1: *ret_peer (may be NULL) listens there; 0: no process does. */
int daemon_connect(const struct url *url, struct ucred *ret_peer, struct err *err);
/* daemon.c: how many sessions would lose variables if the daemon ended. */
int daemon_kernels(struct client *client, size_t *ret, struct err *err);
/* daemon.c: ends it and waits. Its sessions stay on disk for the next daemon. */
int daemon_end(const struct client *client, struct err *err);
/*
 * daemon_noted.c: whether the daemon of `state` answers at the address it noted; if so, points the
 * client there.
 */
bool daemon_noted(struct client *client, const char *state, const char *name);
/*
 * daemon.c: replaces a daemon whose program differs from the one that this client would start, if
 * none of its sessions has a kernel to lose; otherwise passes a note to the caller.
 */
int daemon_renew(struct client *client, struct err *err);
