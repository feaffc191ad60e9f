/*
 * driver.h - the agent driver: turns a conversation with a model into executions in a session.
 *
 * Every program that lets a model run code uses it: `reckon ask` and `chat`, the daemon's /agent,
 * and libreckon. The driver starts a reckon-agent (src/agent_client), which talks to the model; it
 * checks the agent's frames, passes each cell to its owner to run, collects the results, and
 * reports how the run ended. It never blocks: driver_step() does what it can now and returns what
 * it waits for. An event loop watches driver_fd(); a program without a loop calls driver_run().
 *
 *   driver.c   the state machine: frames, limits, ends
 *   request.c  starts: questions, whole conversations, results of the application's tools
 *   cell.c     one cell: approval, execution, result
 *   stop.c     stopping a question, and its time limit
 *
 *   driver_init(&driver, &ops, owner, records_max);
 *   driver_open(&driver, path, &model, &err);
 *   driver_ask(&driver, &question, &err);
 *   while (driver_step(&driver, &err) == DRIVER_WAITS)
 *           ... until driver_fd(&driver) is readable ...
 *   driver_done(&driver);
 *
 * A conversation may have the application's own tools. When the model calls one, the run is parked:
 * driver_step() returns DRIVER_PARKED, `calls` has the calls, and driver_continue() resumes with
 * their results. With settings.persists_conversation `conversation` holds the conversation after
 * each end, as one JSON document (docs/conversation.schema.json): driver_load() loads it into
 * another driver, in any process, at any later time.
 *
 * The model's output is hostile: the driver bounds it and checks that code is text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "agent_client/agent_client.h"
#include "agent_client/outcome.h"

/* The result of driver_step(): what it waits for. */
enum driver_result {
	DRIVER_WAITS,  /* for the model: call it again when driver_fd() is readable */
	DRIVER_RUNS,   /* for a cell: call driver_cell_done() or driver_cell_refuse() */
	DRIVER_PARKED, /* for the application: run its tools, then driver_continue() */
	DRIVER_ENDED,  /* the question has ended: see stop, usage, answer and outcome */
	DRIVER_FAILED, /* the agent is gone or broke the rules, or the owner failed: see *err */
};

enum driver_state {
	DRIVER_CLOSED,   /* no agent runs */
	DRIVER_STARTING, /* the agent is not ready; a question may wait for it */
	DRIVER_IDLE,     /* no question */
	DRIVER_THINKING, /* the model is working */
	DRIVER_RUNNING,  /* a cell is running */
};

enum driver_event_kind {
	DRIVER_EVENT_TEXT,    /* a piece of the model's answer */
	DRIVER_EVENT_THOUGHT, /* a piece of the model's reasoning */
	DRIVER_EVENT_NOTICE,  /* one line, for example why the agent waits */
	DRIVER_EVENT_CODE,    /* a piece of a call's code, as the model writes it */
	DRIVER_EVENT_DISCARD, /* why to drop the text since the last TURN: it will come again */
	DRIVER_EVENT_SEALED,  /* JSON: reasoning that the provider must get back unchanged */
	DRIVER_EVENT_TURN,    /* an answer of the model is complete: usage has the totals */
};

/* Valid during the call. */
struct driver_event {
	enum driver_event_kind kind;
	const char *text; /* never NULL */
	size_t len;
	size_t call; /* for CODE: index of the call in this answer, from 0 */
};

/* A call of the application's tools; the driver owns it until the next question. */
struct driver_call {
	char *id, *name;
	char *arguments; /* a JSON object */
};

/* One command of a shell call; valid during the callback. */
struct driver_command {
	struct agent_command limits;
	const char *call; /* JSON: {"index", "count"}; the first also has the call's fields */
	size_t len;
};

/* A cell that the model wants to run; valid during the callback. */
struct driver_cell {
	size_t step; /* 0, 1, … in this question */
	const char *prose; /* the model's text before it */
	size_t prose_len;
	const char *code;
	size_t len;
	const struct driver_command *command; /* NULL: code for the session's language */
};

/* The result of a cell; valid during the callback. */
struct driver_cell_end {
	const char *status;    /* of its record, or "refused", … */
	const char *execution; /* its id, or NULL */
	const char *record;    /* JSON; NULL: the cell did not run */
	const struct outcome_file *files; /* files that the cell changed */
	size_t file_count;
	struct agent_client_result result; /* for the model */
	const void *owner; /* any pointer that the owner's `end` needs */
};

enum driver_session {
	DRIVER_SESSION_LIVE,
	DRIVER_SESSION_NEW,  /* it was lost, and a new session replaces it */
	DRIVER_SESSION_LOST, /* it was lost, and the question ends */
	DRIVER_SESSION_FAILED, /* *err says why */
};

/*
 * The owner's callbacks. All but `execute` may be NULL. None may call driver_step(), driver_ask()
 * or driver_done(); `arg` is the owner.
 */
struct driver_ops {
	void (*event)(const struct driver_event *event, void *arg);
	/* The agent is ready and has no question yet: the owner can send a history. */
	int (*ready)(struct err *err, void *arg);
	/* Persist and show the cell: nothing has happened yet. */
	void (*begin)(const struct driver_cell *cell, void *arg);
	/* NULL: the cell may run. Else the reason, as text for the model. */
	const char *(*approve)(const struct driver_cell *cell, void *arg);
	/*
	 * Start the cell. During this call or later the owner calls driver_cell_done() or
	 * driver_cell_refuse(). An error ends the conversation.
	 */
	int (*execute)(const struct driver_cell *cell, struct err *err, void *arg);
	/* Persist and show the result: the model does not have it yet. */
	void (*end)(const struct driver_cell_end *end, void *arg);
	/*
	 * Whether the session survived the cell. The model gets the text in `note`: after the
	 * output if there is a new session, instead of it if the session is lost.
	 */
	enum driver_session (*session)(struct buf *note, struct err *err, void *arg);
	/* Whether the question should end. Called before each frame and each result. */
	bool (*wants_stop)(void *arg);
	/* An agent_client_look_fn: whether a file that an answer links to exists. */
	agent_client_look_fn *look;
	/* An agent_client_open_fn: opens outputs that records of this conversation named. */
	agent_client_open_fn *open_output;
};

struct driver_question {
	const char *text;
	size_t len;
	/* "NAME (1.2 MB)": files in the workspace that the model does not know yet. */
	const char *const *files;
	size_t file_count;
	/* For a model that takes images; at most AGENT_IMAGES_MAX. */
	const struct agent_client_image *images;
	size_t image_count;
};

/* Owners may read all members, but must not write them. */
struct driver {
	const struct driver_ops *ops;
	void *arg;
	enum driver_state state;
	struct agent_client *client; /* NULL: no agent runs */
	uint64_t wall_ms, deadline_ns;
	uint64_t over_ns; /* the question's time is over then; 0: there is no question */
	bool has_shell; /* the owner also runs commands */
	/* the request that waits until the agent is ready */
	struct buf question;
	char **files;
	size_t file_count;
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* copies */
	size_t image_count;
	struct buf load; /* a conversation to load */
	bool has_question;
	struct agent_client_tool_result results[AGENT_CALLS_MAX]; /* copies */
	size_t result_count;
	bool is_continued; /* no question: answer the conversation's last message */
	bool is_stopping; /* driver_interrupt() or wants_stop() requested it */
	/* of the current or last question */
	struct buf prose; /* of the model's unfinished answer */
	struct outcome outcome;
	struct agent_usage usage;
	size_t step; /* number of cells with a result */
	enum agent_stop stop;
	struct buf answer;
	bool has_answer;
	struct agent_checked checked; /* claims of the answer that were looked up, and not found */
	struct driver_call calls[AGENT_CALLS_MAX]; /* calls that wait for the application */
	size_t call_count;
	struct buf
		conversation; /* the conversation as JSON, with persists_conversation; else empty */
	char message[sizeof(((struct err *)NULL)->text)];
	char remedy[sizeof(((struct err *)NULL)->remedy)];
};

/* `records_max`: bytes of records that the outcome may keep. */
void driver_init(struct driver *driver, const struct driver_ops *ops, void *arg,
		 size_t records_max);
/* Kills the agent and frees everything. */
void driver_done(struct driver *driver);

/* Starts the program at `path`. Afterwards the agent's socket holds the key of `model`. */
int driver_open(struct driver *driver, const char *path, const struct agent_client_model *model,
		struct err *err);
/* Ends the agent; the results stay readable. */
void driver_close(struct driver *driver);

int driver_fd(const struct driver *driver);

/* Begins the next question and drops the results of the last one. Copies everything. */
int driver_ask(struct driver *driver, const struct driver_question *question, struct err *err);

/*
 * Loads a whole conversation before the first question. The agent checks the document: if it is
 * invalid, the question ends as failed and the message says where.
 */
int driver_load(struct driver *driver, const char *json, size_t len, struct err *err);

/*
 * Begins without a question: `results` belong to pending calls, by id; without results the model
 * answers the last message of the loaded conversation. For a call without a result the model is
 * told so.
 */
int driver_continue(struct driver *driver, const struct agent_client_tool_result *results,
		    size_t count, struct err *err);
/*
 * Begins without a question: the last one of the history (AGENT_HISTORY) has no answer and gets
 * one. The images are those that it was asked with, copied.
 */
int driver_resume(struct driver *driver, const struct agent_client_image *images, size_t count,
		  struct err *err);

enum driver_result driver_step(struct driver *driver, struct err *err);

/* Waits until driver_step() may have work; `wake_fd` (or -1) ends the wait. */
void driver_wait(const struct driver *driver, int wake_fd);
/* Calls driver_step() until it returns something other than DRIVER_WAITS. */
enum driver_result driver_run(struct driver *driver, int wake_fd, struct err *err);

/* Moves the outcome of the ended question to the caller. */
void driver_take_outcome(struct driver *driver, struct outcome *ret);

/* Asks the question to end soon, with AGENT_STOP_INTERRUPTED. Safe in every state. */
int driver_interrupt(struct driver *driver, struct err *err);

/* Whether the agent exceeded the question's time limit plus a grace period. False while a cell
 * runs. */
bool driver_is_late(const struct driver *driver, uint64_t now_ns);

/* How much of the question's time is left, a cell's time included; UINT64_MAX: no question. */
uint64_t driver_left_ns(const struct driver *driver, uint64_t now_ns);

/*
 * Time limit in milliseconds of a cell that begins now: what is left of the question's time, if
 * that is less than `most_ms`, the cell's limit so far (0: none); 0: `most_ms` stands.
 */
uint64_t driver_cell_limit_ms(const struct driver *driver, uint64_t most_ms, uint64_t now_ns);

/* ---- the cell that `execute` was called for ---- */

/* The cell is queued or running as this execution. */
void driver_cell_begun(struct driver *driver, const char *execution);
int driver_cell_done(struct driver *driver, const struct driver_cell_end *end, struct err *err);
/* The cell did not run. `status` is "refused", or "lost", which ends the question. */
int driver_cell_refuse(struct driver *driver, const char *status, const char *why,
		       struct err *err);

/* ---- between the files of this folder ---- */

/* Sends the request that waited until the agent was ready. */
int driver_send_request(struct driver *driver, struct err *err);
void driver_drop_request(struct driver *driver);
void driver_drop_calls(struct driver *driver);
/* Handles an EXECUTE. */
int driver_take_cell(struct driver *driver, const struct agent_client_frame *frame,
		     struct err *err);
/* Passes a stop request on to the agent, if there is one and the state allows it. */
int driver_tell_stop(struct driver *driver, struct err *err);
