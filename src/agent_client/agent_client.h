/*
 * agent_client.h - the parent's side of a reckon-agent: its process and frames.
 *
 *   start.c    the process, and the first frame, which holds the key
 *   frames.c   frames to the agent, and checked frames from it
 *   network.c  proxies and certificates, from the environment
 *   record.c   a cell's result for the model, from its record (record.h)
 *   pages.c    pages of outputs that a result left out; whether files exist
 *   outcome.c  the outcome of a question, as JSON (outcome.h)
 *
 * No function but agent_client_wait() blocks. A loop watches agent_client_fd() and calls
 * agent_client_take() until it returns 0; a program without a loop calls agent_client_wait() in
 * between. agent_may_send() and agent_check() check each frame before a caller sees it; the text in
 * it is still a model's, and untrusted.
 *
 *   agent_client_open(path, &model, &client, &err);
 *   ... READY  -> agent_client_ask();   EXECUTE -> run the cell, agent_client_answer();   DONE: it ended
 *   agent_client_close(client);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

/* Which model to use, where it is, and its settings. The caller keeps the strings. */
struct agent_client_model {
	struct agent_settings settings;
	const char *model;    /* the server's name for it */
	const char *base_url;
	const char *key;      /* "": none */
	const char *language; /* NULL: the default of the language table */
	const char *headers;  /* sent with each request, as in models.ini; NULL: none */
	const char *tools;    /* for code: JSON, [{"name", "description", "parameters"}]; or NULL */
	/* For the connection, or NULL; see agent_client_network(). */
	const char *ca_file;
	const char *proxy;
	const char *no_proxy;
};

/* Sets them as libcurl would, but only for base_url's scheme. The strings are getenv()'s. */
void agent_client_network(struct agent_client_model *model);

struct agent_client;

/*
 * Starts the program at `path` and sends it everything. Its socket then holds the key: the caller
 * overwrites its own copy. Safe in a process with threads.
 */
int agent_client_open(const char *path, const struct agent_client_model *model,
		      struct agent_client **ret, struct err *err);

/* Kills the process and waits for its end. NULL is fine. */
void agent_client_close(struct agent_client *client);
void agent_client_closep(struct agent_client **client);
#define cleanup_agent_client __attribute__((cleanup(agent_client_closep)))

int agent_client_fd(const struct agent_client *client);
enum agent_state agent_client_state(const struct agent_client *client);

/* A frame of the agent; valid until the next one is taken. */
struct agent_client_frame {
	uint16_t type; /* enum agent_type */
	const struct kernel_item *items;
	size_t count;
};

/*
 * Takes the next frame: 1, or 0 if there is none yet. ERR_LOST: the agent is gone; ERR_PROTOCOL: it
 * broke the rules, so close it. After EXECUTE the agent waits for agent_client_answer(), after DONE
 * for agent_client_ask().
 */
int agent_client_take(struct agent_client *client, struct agent_client_frame *ret, struct err *err);

/* Waits until there may be a frame, `wake_fd` (or -1) is readable, or the time is over. */
void agent_client_wait(const struct agent_client *client, int wake_fd, int timeout_ms);

/* Content of the frame that ends a question; `message` and `remedy` may be empty. */
struct agent_client_end {
	enum agent_stop stop;
	struct agent_usage usage;
	const char *answer; /* NULL: no answer */
	size_t answer_len;
	char message[sizeof(((struct err *)NULL)->text)];
	char remedy[sizeof(((struct err *)NULL)->remedy)];
	struct agent_checked checked; /* its claims lie inside the answer */
};

void agent_client_read_end(const struct agent_client_frame *done, struct agent_client_end *ret);
/* The usage so far, of a TURN or a DONE. */
void agent_client_read_usage(const struct agent_client_frame *frame, struct agent_usage *ret);
/* The JSON of a SEALED, if it is an object; else false. */
bool agent_client_read_sealed(const struct agent_client_frame *frame, struct buf *ret);
/* For an EXECUTE: 1 and the JSON of the shell call that it belongs to, or 0 for a cell. */
int agent_client_read_command(const struct agent_client_frame *frame, struct agent_command *ret,
			      struct buf *call, struct err *err);
/* The frame's TEXT, or "". */
const char *agent_client_read_text(const struct agent_client_frame *frame, size_t *ret_len);

/*
 * Asks a question, after READY or DONE. `files` are lines "NAME (1.2 MB)" about files in the
 * workspace that the model does not know yet.
 */
int agent_client_ask(struct agent_client *client, const char *question, size_t len,
		     const char *const *files, size_t file_count, struct err *err);

struct agent_client_image {
	const char *mime;
	const void *bytes;
	size_t len;
	bool is_encoded; /* `bytes` are base64 already */
};

/*
 * Shows an image with the next question, or with the one that is continued, if the model takes
 * images. Must stay valid until then.
 */
void agent_client_show(struct agent_client *client, const struct agent_client_image *image);

/* Loads a whole conversation (docs/conversation.schema.json), after READY, before any question. */
int agent_client_load(struct agent_client *client, const char *json, size_t len, struct err *err);

/* The application's result for a pending call. */
struct agent_client_tool_result {
	const char *call; /* id of the call */
	const char *text;
	size_t len;
	bool failed;
};

/* Continues without a question: with results of calls, or to answer the conversation's last
 * message. */
int agent_client_continue(struct agent_client *client,
			  const struct agent_client_tool_result *results, size_t count,
			  struct err *err);

/* Lists the server's models, after READY: the reply is MODELS, or DONE with the failure. */
int agent_client_list(struct agent_client *client, struct err *err);
#define AGENT_CLIENT_HANDLES_MAX 16u /* of one result */

/* The result of a cell. Text, images and handles beyond the limits are left out. */
struct agent_client_result {
	const char *status; /* of its record, or "refused" if the cell did not run */
	const char *text;
	size_t len;
	uint64_t repeat; /* how often this failure was seen, including now; 0: no repeat */
	uint64_t same;	 /* AGENT_SAME_…, for a repeat */
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* for models that take images */
	size_t image_count;
	const char *handles[AGENT_CLIENT_HANDLES_MAX]; /* outputs that `text` shortens */
	size_t handle_count;
};

/* Replies to the last EXECUTE. */
int agent_client_answer(struct agent_client *client, const struct agent_client_result *result,
			struct err *err);

/* Opens the output of a handle; agent_client closes *ret_fd. */
typedef int agent_client_open_fn(const char *handle, int *ret_fd, struct err *err, void *arg);

/*
 * Lets the model page through outputs whose handles a result of this conversation named, or
 * agent_client_offer() added, and no others: the store also holds outputs of other conversations.
 * Without it the model is told that it cannot. agent_client_take() replies itself; no caller sees
 * these frames.
 */
void agent_client_pages(struct agent_client *client, agent_client_open_fn *open, void *arg);
void agent_client_offer(struct agent_client *client, const char *handle);

/* Whether a file of the workspace exists: AGENT_FILE_THERE, AGENT_FILE_MISSING, … */
typedef char agent_client_look_fn(const char *name, void *arg);

/* Looks up the links of an answer; without it they stay unknown. No caller sees these frames. */
void agent_client_looks(struct agent_client *client, agent_client_look_fn *look, void *arg);

/* Asks the agent to end the question. Sent once per question; DONE follows soon. */
int agent_client_interrupt(struct agent_client *client, struct err *err);

/* Sends any other frame of the parent. */
int agent_client_tell(struct agent_client *client, enum agent_type type, const struct buf *payload,
		      struct err *err);
