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
	int runtime_fd; /* of the private daemon's directory: the path of its socket leads through it */
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

/* Where the bytes of a good answer go; a negative result ends the exchange. */
typedef int transfer_sink_fn(const char *bytes, size_t len, void *arg, struct err *err);

/* One exchange. Zero-initialise, fill in, transfer_run(), transfer_done(). */
struct transfer {
	struct client *client;
	const char *method;
	const char *path; /* below /reckon/v1/ */
	const struct buf *body;
	const char *header; /* one more, or NULL */
	const char *accept; /* the type that is expected, "" for any */
	transfer_sink_fn *sink;
	void *sink_arg;
	int upload_fd; /* with `is_upload` */
	uint64_t upload_size; /* of it, what is not sent yet */
	uint64_t uploaded;
	bool is_upload;
	bool is_stream; /* silence for longer than a heartbeat is the end of it */
	int wake_fd;	/* or -1 */
	int (*on_wake)(const char *execution, void *arg, struct err *err);
	void *on_wake_arg;
	/* what came of it */
	struct client_answer answer;
	char execution[ID_SIZE]; /* Reckon-Execution */
	char type[64];
	struct buf refusal; /* the body of an answer that is not a success */
	uint64_t received;
	bool is_broken; /* no whole answer: the connection failed, so asking again may help */
	/* its own */
	CURL *easy;
	struct curl_slist *headers;
	char reason[CURL_ERROR_SIZE];
	struct err err;
	bool has_failed; /* `err` is ours: the sink's, on_wake's or a bound's */
	bool is_over;
	CURLcode result;
};

int transfer_run(struct transfer *transfer, struct err *err);
void transfer_done(struct transfer *transfer);
int client_add_header(struct curl_slist **headers, const char *line, struct err *err);
/* Where to, and by which road. */
void transfer_set_place(CURL *easy, const struct url *url);

/*
 * wait.c: whether `code`, an exchange's that is over, is worth waiting for; if so, it has been waited
 * for. A user who wants something meanwhile is heard; what comes of that may be `*ret_code`, and is
 * final.
 */
bool wait_for_turn(const struct transfer *transfer, int code, int *ret_code, struct err *err);

/* answer.c: what a refusal says, as an error. */
int answer_refused(struct transfer *transfer, struct err *err);
/* answer.c: what a connection that failed says. */
int answer_broken(struct transfer *transfer, struct err *err);
/* answer.c: the error in {"code", "message", "cause", "remedy"}. */
int answer_error(struct client *client, const struct json_value *error, unsigned status,
		 struct err *err);

/* daemon.c: finds the user's private daemon, starts it when it may. */
enum daemon_start {
	DAEMON_START_ANY,
	DAEMON_START_AGAIN, /* if one ran before, and so has something to tell */
	DAEMON_START_NEVER,
};
int daemon_find(struct client *client, enum daemon_start may_start, struct err *err);
/* daemon_connect.c: 1: somebody listens, who is *ret_peer (may be NULL); 0: nobody. */
int daemon_connect(const struct url *url, struct ucred *ret_peer, struct err *err);
/* daemon.c: how many sessions would lose variables if it ended. */
int daemon_kernels(struct client *client, size_t *ret, struct err *err);
/* daemon.c: waits for its end. Its sessions are on the disk, for the next one. */
int daemon_end(const struct client *client, struct err *err);
/*
 * daemon_noted.c: whether the daemon of `state` answers where it noted that it listens; the client
 * is led there then.
 */
bool daemon_noted(struct client *client, const char *state, const char *name);
/*
 * daemon.c: one that answers and is not the program that we would start is replaced, when none of its
 * sessions has a kernel to lose; else that is told.
 */
int daemon_renew(struct client *client, struct err *err);
