/*
 * agent_client.h - a reckon-agent from its parent's side: started, told, listened to.
 *
 *   start.c    the process, and the first frame, which holds the key
 *   frames.c   what is sent to it; what it sends, checked
 *   network.c  proxies and certificates, from the environment
 *   record.c   what goes back of a cell, out of its record (record.h)
 *   pages.c    what was left out of it, when the model wants to see it; whether files are there
 *   outcome.c  what became of a question, as JSON (outcome.h)
 *
 * Nobody here waits for the agent: its socket does not block. A loop watches agent_client_fd() and
 * calls agent_client_take() until there is nothing left; a program that has nothing else to do calls
 * agent_client_wait() in between. What the agent sends is judged here, by agent_may_send() and
 * agent_check(), before a caller sees it; it is still what a stranger's model wrote.
 *
 *   agent_client_open(path, &model, &talk, &err);
 *   ... READY  -> agent_client_ask();   EXECUTE -> run the cell, agent_client_answer();   DONE: it ended
 *   agent_client_close(talk);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

/* Which model, where it is, and how it is asked. Strings stay the caller's. */
struct agent_client_model {
	struct agent_settings settings;
	const char *model;    /* its name there */
	const char *base_url;
	const char *key;      /* "": none */
	const char *language; /* NULL: the default of the language table */
	const char *headers;  /* of each request, as in models.ini; NULL: none */
	const char *tools;    /* that code may call: JSON, [{"name", "description", "parameters"}]; or NULL */
	/* Of the way there, or NULL; see agent_client_network(). */
	const char *ca_file;
	const char *proxy;
	const char *no_proxy;
};

/* As libcurl would read them, but for the scheme of base_url alone. Lends what getenv() lends. */
void agent_client_network(struct agent_client_model *model);

struct agent_client;

/*
 * Starts the program at `path` and tells it everything. The key is in its socket then: the caller
 * overwrites its own copy. May be called in a process with threads.
 */
int agent_client_open(const char *path, const struct agent_client_model *model,
		      struct agent_client **ret, struct err *err);

/* Ends the process, whatever it does, and waits for that. NULL is fine. */
void agent_client_close(struct agent_client *talk);
void agent_client_closep(struct agent_client **talk);
#define cleanup_agent_client __attribute__((cleanup(agent_client_closep)))

int agent_client_fd(const struct agent_client *talk);
enum agent_state agent_client_state(const struct agent_client *talk);

/* A frame of the agent; lent until the next one is taken. */
struct agent_client_frame {
	uint16_t type; /* enum agent_type */
	const struct kernel_item *items;
	size_t count;
};

/*
 * The next frame: 1, or 0 when there is none yet. ERR_LOST when the agent is gone, ERR_PROTOCOL
 * when it broke the rules; then it is to be closed. After EXECUTE it waits for agent_client_answer(),
 * after DONE for agent_client_ask().
 */
int agent_client_take(struct agent_client *talk, struct agent_client_frame *ret, struct err *err);

/* Until there may be a frame, `wake_fd` (or -1) can be read, or the time is over. */
void agent_client_wait(const struct agent_client *talk, int wake_fd, int timeout_ms);

/* What a frame that ends a question says; `message` and `remedy` may be empty. */
struct agent_client_end {
	enum agent_stop stop;
	struct agent_usage usage;
	const char *answer; /* NULL: there is none */
	size_t answer_len;
	char message[sizeof(((struct err *)NULL)->text)];
	char remedy[sizeof(((struct err *)NULL)->remedy)];
	struct agent_checked checked; /* its claims lie within the answer */
};

void agent_client_read_end(const struct agent_client_frame *done, struct agent_client_end *ret);
/* The sums so far of a TURN or a DONE. */
void agent_client_read_usage(const struct agent_client_frame *frame, struct agent_usage *ret);
/* JSON of a SEALED, which is an object then; false: it is none. */
bool agent_client_read_sealed(const struct agent_client_frame *frame, struct buf *ret);
/* Of an EXECUTE: 1, and JSON of the call that it belongs to; 0: it is a cell. */
int agent_client_read_command(const struct agent_client_frame *frame, struct agent_command *ret,
			      struct buf *call, struct err *err);
/* TEXT of a frame that has it; "" otherwise. */
const char *agent_client_read_text(const struct agent_client_frame *frame, size_t *ret_len);

/*
 * A question, after READY or DONE. `files` are lines "NAME (1.2 MB)" about what is in the
 * workspace and the model was not told of yet.
 */
int agent_client_ask(struct agent_client *talk, const char *question, size_t len,
		 const char *const *files, size_t file_count, struct err *err);

struct agent_client_image {
	const char *mime;
	const void *bytes;
	size_t len;
	bool is_encoded; /* `bytes` are in base 64 already */
};

/* Goes with the question that is asked next, when the model takes images. Lent until then. */
void agent_client_show(struct agent_client *talk, const struct agent_client_image *image);

/* A whole conversation (docs/conversation.schema.json), after READY and before any question. */
int agent_client_load(struct agent_client *talk, const char *json, size_t len, struct err *err);

/* What the application says of a call that waits. */
struct agent_client_tool_result {
	const char *call; /* its id */
	const char *text;
	size_t len;
	bool failed;
};

/* Goes on without a question: with results of calls, or with the conversation's last message. */
int agent_client_continue(struct agent_client *talk, const struct agent_client_tool_result *results,
		      size_t count, struct err *err);

/* Which models the server has, after READY: MODELS comes, or DONE with what went wrong. */
int agent_client_list(struct agent_client *talk, struct err *err);
#define CONVERSE_HANDLES_MAX 16u /* of one result */


/* What became of a cell. A longer text, more images and larger ones are left out. */
struct agent_client_result {
	const char *status; /* of its record, or "refused": it did not run */
	const char *text;
	size_t len;
	uint64_t repeat; /* how often this failure was seen, with this one; 0: it is none */
	uint64_t same;	 /* AGENT_SAME_…, of a repeat */
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* not sent to a model without eyes */
	size_t image_count;
	const char *handles[CONVERSE_HANDLES_MAX]; /* of what `text` leaves out */
	size_t handle_count;
};

/* The answer to the EXECUTE that was taken last. */
int agent_client_answer(struct agent_client *talk, const struct agent_client_result *result,
			struct err *err);

/* Opens what is kept under a handle: *ret_fd is closed here. */
typedef int agent_client_open_fn(const char *handle, int *ret_fd, struct err *err, void *arg);

/*
 * With this a model can read on where a result named a handle; without, it is told that it cannot.
 * It can read those that results of this talk named, and what agent_client_offer() adds, and no others:
 * the store holds outputs of other talks, too. agent_client_take() answers it; no caller sees a frame.
 */
void agent_client_pages(struct agent_client *talk, agent_client_open_fn *open, void *arg);
void agent_client_offer(struct agent_client *talk, const char *handle);

/* Whether a file of the workspace is there: AGENT_FILE_THERE, AGENT_FILE_MISSING, … */
typedef char agent_client_look_fn(const char *name, void *arg);

/* With this links of an answer are looked up; without, nobody knows. No caller sees a frame. */
void agent_client_looks(struct agent_client *talk, agent_client_look_fn *look, void *arg);

/* The question is to end. Said once for each; DONE comes soon. */
int agent_client_interrupt(struct agent_client *talk, struct err *err);

/* Any other frame of the parent. */
int agent_client_tell(struct agent_client *talk, enum agent_type type, const struct buf *payload,
		  struct err *err);
