/*
 * driver.h - the agent driver: turns a conversation with a model into executions in a session.
 *
 * Every program that lets a model run code is a view of it: `reckon ask` and `chat`, the daemon's
 * /agent, and libreckon. The driver starts a reckon-agent (src/agent_client), which asks the model; it
 * checks what comes back, hands each cell to its owner to run, collects what became of the run, and
 * says how it ended. It never blocks: driver_step() does what can be done now and says what it waits
 * for. An event loop watches driver_fd(); a program that has nothing else to do calls driver_run().
 *
 *   driver.c   the state machine: frames, limits, ends
 *   request.c  what is asked: questions, whole conversations, results of the application's tools
 *   cell.c     one cell: allowed, run, reported back
 *   stop.c     wishes to end a question, and its time limit
 *
 *   driver_init(&driver, &ops, owner, records_max);
 *   driver_open(&driver, path, &model, &err);
 *   driver_ask(&driver, &question, &err);
 *   while (driver_step(&driver, &err) == DRIVER_WAITS)
 *           ... until driver_fd(&driver) can be read ...
 *   driver_done(&driver);
 *
 * A conversation may have tools of the application's. When the model calls one, the run is parked:
 * driver_step() is DRIVER_PARKED, `calls` are there, and driver_continue() takes it up with their
 * results. With settings.keeps_talk the conversation is in `talked` after each end, as one JSON
 * document (docs/conversation.schema.json): driver_load() gives it to another driver, on any connection,
 * in any process, on another day.
 *
 * What a model writes is hostile wherever it goes: the driver bounds it and checks that code is text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "agent_client/agent_client.h"
#include "agent_client/outcome.h"

/* What driver_step() did, and what it waits for. */
enum driver_result {
	DRIVER_WAITS,  /* for the model: call it again when driver_fd() can be read */
	DRIVER_RUNS,   /* for a cell: driver_cell_done() or driver_cell_refuse() is to be called */
	DRIVER_PARKED, /* for the application: its tools are called, driver_continue() goes on */
	DRIVER_ENDED,  /* the question came to its end: stop, usage, answer and outcome say how */
	DRIVER_FAILED, /* the agent is gone or broke the rules, or the owner failed: *err says why */
};

enum driver_state {
	DRIVER_CLOSED,   /* there is no agent */
	DRIVER_STARTING, /* the agent is not ready; a question waits for it */
	DRIVER_IDLE,     /* nothing is asked */
	DRIVER_THINKING, /* the model is at work */
	DRIVER_RUNNING,  /* a cell is */
};

enum driver_event_kind {
	DRIVER_EVENT_TEXT,    /* a piece of what the model says */
	DRIVER_EVENT_THOUGHT, /* a piece of what it says that it thinks */
	DRIVER_EVENT_NOTICE,  /* one line, for example why it waits */
	DRIVER_EVENT_CODE,    /* a piece of the code of a call, while it is written */
	DRIVER_EVENT_DISCARD, /* why what came since the last TURN does not hold: it comes again */
	DRIVER_EVENT_SEALED,  /* JSON: what of its thoughts the provider wants back unchanged */
	DRIVER_EVENT_TURN,    /* an answer of the model is complete: usage holds the sums so far */
};

/* Lent for the call. */
struct driver_event {
	enum driver_event_kind kind;
	const char *text; /* never NULL */
	size_t len;
	size_t call; /* of CODE: which call of this answer, from 0 */
};

/* A call of the application's tools; owned by the driver until the next question. */
struct driver_call {
	char *id, *name;
	char *arguments; /* a JSON object */
};

/* One of the commands that a call of the shell has; lent for the call. */
struct driver_command {
	struct agent_command limits;
	const char *call; /* JSON: {"index", "count"}, and what the call says with the first */
	size_t len;
};

/* A cell that the model wants to have run; lent for the call. */
struct driver_cell {
	size_t step; /* 0, 1, … of this question */
	const char *prose; /* what the model said before it */
	size_t prose_len;
	const char *code;
	size_t len;
	const struct driver_command *command; /* NULL: code for the session's language */
};

/* What became of a cell; lent for the call. */
struct driver_cell_end {
	const char *status;    /* of its record, or "refused", … */
	const char *execution; /* its id, or NULL */
	const char *record;    /* JSON; NULL: it did not run */
	const struct outcome_file *files; /* that it changed */
	size_t file_count;
	struct agent_client_result told; /* what the model is told */
	const void *owner; /* whatever the owner wants to find again in its `end` */
};

enum driver_session {
	DRIVER_SESSION_LIVE,
	DRIVER_SESSION_NEW,  /* it was lost, another one took its place */
	DRIVER_SESSION_LOST, /* it was lost, and the question ends */
	DRIVER_SESSION_FAILED, /* *err says why */
};

/*
 * What the owner does. All but `execute` may be NULL. None of them may call driver_step(),
 * driver_ask() or driver_done(); `arg` is the owner.
 */
struct driver_ops {
	void (*event)(const struct driver_event *event, void *arg);
	/* The agent is ready, nothing was asked yet: the time for a history. */
	int (*ready)(struct err *err, void *arg);
	/* Persist and show the cell: nothing of it has happened yet. */
	void (*begin)(const struct driver_cell *cell, void *arg);
	/* NULL: it may run. Else why not, in words for the model. */
	const char *(*approve)(const struct driver_cell *cell, void *arg);
	/*
	 * Start it. Sooner, from within, or later driver_cell_done() or driver_cell_refuse() is
	 * called. An error ends the conversation.
	 */
	int (*execute)(const struct driver_cell *cell, struct err *err, void *arg);
	/* Persist and show what became of it: the model was not told yet. */
	void (*end)(const struct driver_cell_end *end, void *arg);
	/*
	 * Whether the session outlived the cell that ran. What is appended to `note` goes to the
	 * model: behind the output when there is a new session, instead of it when it is lost.
	 */
	enum driver_session (*session)(struct buf *note, struct err *err, void *arg);
	/* Whether the question is to end. Asked before each frame and each answer. */
	bool (*wants_stop)(void *arg);
	/* A agent_client_look_fn: whether a file that an answer links to is there. */
	agent_client_look_fn *look;
	/* A agent_client_open_fn: outputs that records of this conversation named. */
	agent_client_open_fn *open_output;
};

struct driver_question {
	const char *text;
	size_t len;
	/* "NAME (1.2 MB)": files in the workspace that the model was not told of yet. */
	const char *const *files;
	size_t file_count;
	/* Shown to a model that takes images; at most AGENT_IMAGES_MAX. */
	const struct agent_client_image *images;
	size_t image_count;
};

/* Owners read all of it and write none of it. */
struct driver {
	const struct driver_ops *ops;
	void *arg;
	enum driver_state state;
	struct agent_client *talk; /* NULL: there is no agent */
	uint64_t wall_ms, deadline_ns;
	bool has_shell; /* the owner runs commands, too */
	/* of what is asked, and waits until the agent is ready */
	struct buf question;
	char **files;
	size_t file_count;
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* copies */
	size_t image_count;
	struct buf load; /* a conversation */
	bool has_question;
	struct agent_client_tool_result results[AGENT_CALLS_MAX]; /* copies */
	size_t result_count;
	bool is_continued; /* no question: the conversation's last message is answered */
	bool is_stopping; /* driver_interrupt() was called, or wants_stop() said so */
	/* of the question that is being answered, or was last */
	struct buf prose; /* of the turn that is being written */
	struct outcome outcome;
	struct agent_usage usage;
	size_t step; /* cells that were reported back */
	enum agent_stop stop;
	struct buf answer;
	bool has_answer;
	struct agent_checked checked; /* what of the answer was looked up, and not found */
	struct driver_call calls[AGENT_CALLS_MAX]; /* that wait for the application */
	size_t call_count;
	struct buf talked; /* the conversation as JSON, where it is kept; else empty */
	char message[sizeof(((struct err *)NULL)->text)];
	char remedy[sizeof(((struct err *)NULL)->remedy)];
};

/* `records_max`: bytes of records that the outcome keeps. */
void driver_init(struct driver *driver, const struct driver_ops *ops, void *arg,
		 size_t records_max);
/* Ends the agent, whatever it does, and frees all. */
void driver_done(struct driver *driver);

/* Starts the program at `path`. The key of `model` is in the agent's socket afterwards. */
int driver_open(struct driver *driver, const char *path, const struct agent_client_model *model,
		struct err *err);
/* Ends the agent; what it left stays readable. */
void driver_close(struct driver *driver);

int driver_fd(const struct driver *driver);

/* Begins the next question; what is left of the one before is gone. Everything is copied. */
int driver_ask(struct driver *driver, const struct driver_question *question, struct err *err);

/*
 * Takes a whole conversation in place of what was said; before the first question. Whether it is one
 * the agent finds out: the question then ends as failed, and says where the document is wrong.
 */
int driver_load(struct driver *driver, const char *json, size_t len, struct err *err);

/*
 * Begins without a question: `results` answer calls that wait, by their ids; with none of them the
 * last message of the conversation that was loaded is answered. A call that gets no result is told
 * to the model as that.
 */
int driver_continue(struct driver *driver, const struct agent_client_tool_result *results,
		    size_t count, struct err *err);

enum driver_result driver_step(struct driver *driver, struct err *err);

/* Until driver_step() may have something to do; `wake_fd` (or -1) ends the wait. */
void driver_wait(const struct driver *driver, int wake_fd);
/* As driver_step() until it is something else than DRIVER_WAITS. */
enum driver_result driver_run(struct driver *driver, int wake_fd, struct err *err);

/* The outcome of the question that ended, which is the caller's from here on. */
void driver_take_outcome(struct driver *driver, struct outcome *ret);

/* The question is to end: soon, with a stop of AGENT_STOP_INTERRUPTED. Safe in every state. */
int driver_interrupt(struct driver *driver, struct err *err);

/* The agent did not keep the time limit of the question, with a grace. False while a cell runs. */
bool driver_is_late(const struct driver *driver, uint64_t now_ns);

/* ---- the cell that `execute` was called for ---- */

/* It is queued, or runs, as this execution. */
void driver_cell_begun(struct driver *driver, const char *execution);
int driver_cell_done(struct driver *driver, const struct driver_cell_end *end, struct err *err);
/* It did not run. `status` is "refused", or "lost", which ends the question. */
int driver_cell_refuse(struct driver *driver, const char *status, const char *why,
		       struct err *err);

/* ---- between the files of this folder ---- */

/* Sends what was asked before the agent was ready. */
int driver_send_request(struct driver *driver, struct err *err);
void driver_drop_request(struct driver *driver);
void driver_drop_calls(struct driver *driver);
/* The EXECUTE that was taken. */
int driver_take_cell(struct driver *driver, const struct agent_client_frame *frame,
		     struct err *err);
/* Tells the agent of a wish to stop, if there is one and it can be told. */
int driver_tell_stop(struct driver *driver, struct err *err);
