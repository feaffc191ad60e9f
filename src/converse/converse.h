/*
 * converse.h - a reckon-agent from its parent's side: started, told, listened to.
 *
 *   start.c    the process, and the first frame, which holds the key
 *   frames.c   what is sent to it; what it sends, checked
 *   network.c  proxies and certificates, from the environment
 *   record.c   what goes back of a cell, out of its record (record.h)
 *   pages.c    what was left out of it, when the model wants to see it
 *   outcome.c  what became of a question, as JSON (outcome.h)
 *
 * Nobody here waits for the agent: its socket does not block. A loop watches converse_fd() and
 * calls converse_take() until there is nothing left; a program that has nothing else to do calls
 * converse_wait() in between. What the agent sends is judged here, by agent_may_send() and
 * agent_check(), before a caller sees it; it is still what a stranger's model wrote.
 *
 *   converse_open(path, &model, &talk, &err);
 *   ... READY  -> converse_ask();   EXECUTE -> run the cell, converse_answer();   DONE: it ended
 *   converse_close(talk);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

/* Which model, where it is, and how it is asked. Strings stay the caller's. */
struct converse_model {
	struct agent_settings settings;
	const char *model;    /* its name there */
	const char *base_url;
	const char *key;      /* "": none */
	const char *language; /* NULL: the default of the language table */
	const char *headers;  /* of each request, as in models.ini; NULL: none */
	/* Of the way there, or NULL; see converse_network(). */
	const char *ca_file;
	const char *proxy;
	const char *no_proxy;
};

/* As libcurl would read them, but for the scheme of base_url alone. Lends what getenv() lends. */
void converse_network(struct converse_model *model);

struct converse;

/*
 * Starts the program at `path` and tells it everything. The key is in its socket then: the caller
 * overwrites its own copy. May be called in a process with threads.
 */
int converse_open(const char *path, const struct converse_model *model, struct converse **ret,
		  struct err *err);

/* Ends the process, whatever it does, and waits for that. NULL is fine. */
void converse_close(struct converse *talk);
void converse_closep(struct converse **talk);
#define cleanup_converse __attribute__((cleanup(converse_closep)))

int converse_fd(const struct converse *talk);
enum agent_state converse_state(const struct converse *talk);

/* A frame of the agent; lent until the next one is taken. */
struct converse_frame {
	uint16_t type; /* enum agent_type */
	const struct kernel_item *items;
	size_t count;
};

/*
 * The next frame: 1, or 0 when there is none yet. ERR_LOST when the agent is gone, ERR_PROTOCOL
 * when it broke the rules; then it is to be closed. After EXECUTE it waits for converse_answer(),
 * after DONE for converse_ask().
 */
int converse_take(struct converse *talk, struct converse_frame *ret, struct err *err);

/* Until there may be a frame, `wake_fd` (or -1) can be read, or the time is over. */
void converse_wait(const struct converse *talk, int wake_fd, int timeout_ms);

/* What a frame that ends a question says; `message` and `remedy` may be empty. */
struct converse_end {
	enum agent_stop stop;
	struct agent_usage usage;
	const char *answer; /* NULL: there is none */
	size_t answer_len;
	char message[sizeof(((struct err *)NULL)->text)];
	char remedy[sizeof(((struct err *)NULL)->remedy)];
};

void converse_read_end(const struct converse_frame *done, struct converse_end *ret);
/* The sums so far of a TURN or a DONE. */
void converse_read_usage(const struct converse_frame *frame, struct agent_usage *ret);
/* TEXT of a frame that has it; "" otherwise. */
const char *converse_read_text(const struct converse_frame *frame, size_t *ret_len);

/*
 * A question, after READY or DONE. `files` are lines "NAME (1.2 MB)" about what is in the
 * workspace and the model was not told of yet.
 */
int converse_ask(struct converse *talk, const char *question, size_t len,
		 const char *const *files, size_t file_count, struct err *err);

/* A whole conversation (docs/conversation.schema.json), after READY and before any question. */
int converse_load(struct converse *talk, const char *json, size_t len, struct err *err);

/* What the application says of a call that waits. */
struct converse_tool_result {
	const char *call; /* its id */
	const char *text;
	size_t len;
	bool failed;
};

/* Goes on without a question: with results of calls, or with the conversation's last message. */
int converse_continue(struct converse *talk, const struct converse_tool_result *results,
		      size_t count, struct err *err);

/* Which models the server has, after READY: MODELS comes, or DONE with what went wrong. */
int converse_list(struct converse *talk, struct err *err);
#define CONVERSE_HANDLES_MAX 16u /* of one result */

struct converse_image {
	const char *mime;
	const void *bytes;
	size_t len;
	bool is_encoded; /* `bytes` are in base 64 already */
};

/* What became of a cell. A longer text, more images and larger ones are left out. */
struct converse_result {
	const char *status; /* of its record, or "refused": it did not run */
	const char *text;
	size_t len;
	uint64_t repeat; /* how often this failure was seen, with this one; 0: it is none */
	uint64_t same;	 /* AGENT_SAME_…, of a repeat */
	struct converse_image images[AGENT_IMAGES_MAX]; /* not sent to a model without eyes */
	size_t image_count;
	const char *handles[CONVERSE_HANDLES_MAX]; /* of what `text` leaves out */
	size_t handle_count;
};

/* The answer to the EXECUTE that was taken last. */
int converse_answer(struct converse *talk, const struct converse_result *result, struct err *err);

/* Opens what is kept under a handle: *ret_fd is closed here. */
typedef int converse_open_fn(const char *handle, int *ret_fd, struct err *err, void *arg);

/*
 * With this a model can read on where a result named a handle; without, it is told that it cannot.
 * It can read those that results of this talk named, and what converse_offer() adds, and no others:
 * the store holds outputs of other talks, too. converse_take() answers it; no caller sees a frame.
 */
void converse_pages(struct converse *talk, converse_open_fn *open, void *arg);
void converse_offer(struct converse *talk, const char *handle);

/* The question is to end. Said once for each; DONE comes soon. */
int converse_interrupt(struct converse *talk, struct err *err);

/* Any other frame of the parent. */
int converse_tell(struct converse *talk, enum agent_type type, const struct buf *payload,
		  struct err *err);
