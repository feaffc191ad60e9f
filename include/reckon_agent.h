/*
 * reckon_agent.h - libreckon: a model answers questions by running code in a session.
 *
 * After reckon.h; the same rules. The model is asked by a process of its own, reckon-agent, which
 * is fenced, holds the key, and has its cells run here: docs/agent.md.
 *
 *   reckon_agent_options options = { sizeof(options) };  reckon_agent *agent;  reckon_answer *done;
 *   options.protocol = "chat";  options.model = "NAME";  options.key = getenv("OPENAI_API_KEY");
 *   options.base_url = "https://api.openai.com/v1";
 *   reckon_agent_open(session, &options, &agent, NULL);
 *   reckon_agent_ask(agent, "Which city sold most?", NULL, &done, NULL);
 *   puts(reckon_answer_text(done));
 *   reckon_answer_free(done);  reckon_agent_close(agent);
 *
 * What a model writes is not to be trusted: escape it before it goes to a terminal or a page.
 */
#ifndef RECKON_AGENT_H
#define RECKON_AGENT_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a conversation -------------------------------------------------------------------- */

typedef struct reckon_agent reckon_agent;
typedef struct reckon_answer reckon_answer;

/* Strings are copied; the key is overwritten here once the agent's process has it. Zero or NULL
 * means the default named. */
typedef struct reckon_agent_options {
	size_t size;
	const char *protocol; /* "chat", "responses", "messages" or "gemini" */
	const char *model;    /* its name there */
	const char *base_url; /* where the protocol's paths begin: https://api.openai.com/v1 */
	const char *key;      /* none */
	const char *calling;  /* how it says what is to be run: "tools"; or "fenced", "schema" */
	int images;           /* non-zero: it is sent the images that cells display */
	unsigned retries;     /* of a server that is busy; 4 */
	/* Of one question. */
	uint64_t max_steps;   /* cells; 8 */
	uint64_t max_tokens;  /* in and out together; none */
	uint64_t budget_micro; /* what it may cost, in millionths; none */
	uint64_t wall_ms;     /* all of it; 15 minutes */
	/* Of a million tokens, in millionths of the currency that the budget is in. */
	uint64_t price_in, price_cached, price_out;
	uint64_t context_tokens; /* older output is shortened to stay below; 100000 */
	uint64_t answer_tokens;  /* of one answer of the model; 8192 */
	uint64_t text_bytes;  /* of a cell's output that it sees; as in reckon_execute_options */
	/* Of the way there; when all three are NULL, as the environment says (https_proxy, …). */
	const char *ca_file, *proxy, *no_proxy;
	int keep_conversation; /* non-zero: each answer has reckon_answer_conversation() */
	/* Numbers and links of an answer are looked up in the outputs of the run: "ask", what is in
	 * none is told once to the model, which may correct itself; or "mark", "off". */
	const char *verify;
} reckon_agent_options;

/*
 * Starts the process; nothing is sent to the model yet. *ret belongs to the caller, and ends before
 * `session`, which it uses: from the thread that uses the session, and one after the other. The
 * session may be used by the caller, too, between questions.
 */
RECKON_PUBLIC int reckon_agent_open(reckon_session *session, const reckon_agent_options *options,
				    reckon_agent **ret, reckon_error *err);

/* Ends the conversation; the session stays. NULL is fine. Not from within a callback. */
RECKON_PUBLIC void reckon_agent_close(reckon_agent *agent);

/* Sums of one question. */
typedef struct reckon_agent_usage {
	size_t size; /* sizeof(reckon_agent_usage), set by the caller */
	uint64_t requests;
	uint64_t steps;            /* cells that ran */
	uint64_t input_tokens;     /* cached ones included */
	uint64_t cached_tokens;
	uint64_t output_tokens;    /* reasoning included */
	uint64_t reasoning_tokens;
	uint64_t cost_micro;       /* by the prices of the options */
} reckon_agent_usage;

enum {
	RECKON_AGENT_TEXT = 1, /* text: a piece of what the model says */
	RECKON_AGENT_THOUGHT,  /* text: a piece of what it says that it thinks */
	RECKON_AGENT_NOTICE,   /* text: a line, for example why it waits */
	RECKON_AGENT_TURN,     /* usage: an answer of the model is complete; sums so far */
	RECKON_AGENT_CELL,     /* text: code that is about to run */
	RECKON_AGENT_OUTPUT,   /* output: an event of the cell that runs */
	RECKON_AGENT_RECORD,   /* execution: what became of the cell */
	RECKON_AGENT_CODE,     /* text: a piece of the code of a call, while it is written; call */
	RECKON_AGENT_DISCARD   /* text: why what came since the last TURN does not hold: the answer
				* broke off, and is asked for again */
};

/* Lent for the call. Later versions add kinds, and fields at the end. */
typedef struct reckon_agent_event {
	int kind;
	size_t step; /* of CELL, OUTPUT and RECORD: 0, 1, … of this question */
	const char *text; /* UTF-8, with a NUL behind it; or NULL */
	size_t text_len;
	const reckon_agent_usage *usage;
	const reckon_event *output;
	const reckon_execution *execution;
	size_t call; /* of CODE: which call of this answer of the model, from 0 */
} reckon_agent_event;

/* Of CELL alone: the cell does not run, and the model is told that this was not allowed. */
#define RECKON_REFUSE 2

/* RECKON_CONTINUE, RECKON_STOP (as reckon_agent_interrupt()) or RECKON_REFUSE. Within OUTPUT the
 * session must not be used, otherwise it may. */
typedef int reckon_agent_event_fn(const reckon_agent_event *event, void *arg);

typedef struct reckon_ask_options {
	size_t size;
	reckon_agent_event_fn *on_event; /* or NULL */
	void *on_event_arg;
	/* Paths in the workspace that the model is told of; NULL-terminated, or NULL: none. Of more
	 * than 1000 it is told how many more there are. */
	const char *const *files;
} reckon_ask_options;

/*
 * Asks, runs the cells that the model wants, and waits for the end. Returns RECKON_OK whenever the
 * question came to an end, however that was: look at reckon_answer_stop(). *ret belongs to the
 * caller, and outlives the agent. Another question may follow: variables, files and what was said
 * are there. RECKON_EPROTOCOL or RECKON_ELOST: the agent's process is gone; close it.
 */
RECKON_PUBLIC int reckon_agent_ask(reckon_agent *agent, const char *question,
				   const reckon_ask_options *options, reckon_answer **ret,
				   reckon_error *err);

/*
 * Takes a whole conversation in place of what was said so far, before the first question:
 * instructions, messages with images, tools of the application's own, sampling. `json` is one document
 * reckon.conversation/1 (docs/conversation.schema.json): the caller's own, or what
 * reckon_answer_conversation() gave, in any process, on another day. It is copied. Where it is wrong the next
 * answer says, whose stop is "failed".
 */
RECKON_PUBLIC int reckon_agent_load(reckon_agent *agent, const char *json, size_t len,
				    reckon_error *err);

/* What the application's tool gave. */
typedef struct reckon_tool_result {
	size_t size;      /* sizeof(reckon_tool_result) */
	const char *id;   /* of the call */
	const char *text; /* UTF-8 */
	int failed;
} reckon_tool_result;

/*
 * As reckon_agent_ask(), without a question. After an answer whose stop is "tool_calls" it goes on with
 * their results, in any order; a call without one is told to the model as that. With no results the
 * last message of the conversation that was loaded is answered, which is how a run that ended in an
 * error is taken up again.
 */
RECKON_PUBLIC int reckon_agent_continue(reckon_agent *agent, const reckon_tool_result *results,
					size_t count, const reckon_ask_options *options,
					reckon_answer **ret, reckon_error *err);

/* Ends the question that is being answered, and interrupts its cell. May be called from a
 * callback, a signal handler or another thread; when nothing is asked nothing happens. */
RECKON_PUBLIC void reckon_agent_interrupt(reckon_agent *agent);

/* ---- an answer: all that it lends is valid as long as it is ------------------------------ */

RECKON_PUBLIC void reckon_answer_free(reckon_answer *answer); /* NULL is fine */
/* The model's last words; NULL when there are none. */
RECKON_PUBLIC const char *reckon_answer_text(const reckon_answer *answer);
/* "answer", "max_steps", "max_tokens", "budget", "max_time", "stuck", "length", "refused",
 * "interrupted", "session_lost", "failed", or "tool_calls": it waits for the application. */
RECKON_PUBLIC const char *reckon_answer_stop(const reckon_answer *answer);
/* Why it was not "answer", for a person; both may be "". `ret_remedy` may be NULL. */
RECKON_PUBLIC const char *reckon_answer_message(const reckon_answer *answer,
						const char **ret_remedy);
RECKON_PUBLIC int reckon_answer_usage(const reckon_answer *answer, reckon_agent_usage *ret,
				      reckon_error *err);

typedef struct reckon_agent_step {
	size_t size;        /* sizeof(reckon_agent_step), set by the caller */
	const char *prose;  /* what the model said before it */
	const char *code;
	const char *status; /* of its record, or "refused" */
	const char *record; /* reckon.execution/1; NULL: it did not run, or the records of this
			     * question are larger than 512 MiB together */
} reckon_agent_step;

/* RECKON_ENOT_FOUND past the last one. */
RECKON_PUBLIC int reckon_answer_step(const reckon_answer *answer, size_t index,
				     reckon_agent_step *ret, reckon_error *err);
typedef struct reckon_tool_call {
	size_t size;      /* sizeof(reckon_tool_call), set by the caller */
	const char *id;
	const char *name; /* of one of the application's tools */
	const char *arguments; /* a JSON object; whether it is as the tool wants, nobody checked */
} reckon_tool_call;

/* A call that waits for the application. RECKON_ENOT_FOUND past the last one. */
RECKON_PUBLIC int reckon_answer_call(const reckon_answer *answer, size_t index,
				     reckon_tool_call *ret, reckon_error *err);

/* What `verify` of the options found in the answer's text. */
typedef struct reckon_checked {
	size_t size;             /* sizeof(reckon_checked), set by the caller */
	int is_checked;          /* 0: nothing was looked up, and all the rest is 0 */
	uint64_t numbers, links; /* that were */
	uint64_t numbers_unsupported, links_unsupported;
} reckon_checked;

RECKON_PUBLIC int reckon_answer_checked(const reckon_answer *answer, reckon_checked *ret,
					reckon_error *err);

/* A number that is in no output of the run, or a link to a file that is not there. */
typedef struct reckon_claim {
	size_t size;        /* sizeof(reckon_claim), set by the caller */
	int is_link;
	size_t offset, len; /* of its bytes in reckon_answer_text() */
} reckon_claim;

/* In the order of the text; the first 50 are listed. RECKON_ENOT_FOUND past the last one. */
RECKON_PUBLIC int reckon_answer_claim(const reckon_answer *answer, size_t index, reckon_claim *ret,
				      reckon_error *err);
/* The conversation up to here for reckon_agent_load(), with what its model wants back (thoughts,
 * signatures); NULL: it was not kept, or is longer than 15 MiB. *ret_len may be NULL. */
RECKON_PUBLIC const char *reckon_answer_conversation(const reckon_answer *answer, size_t *ret_len);
/* All of it as one line, docs/ask.schema.json; *ret_json: free() it. */
RECKON_PUBLIC int reckon_answer_json(const reckon_answer *answer, char **ret_json,
				     reckon_error *err);

/* ---- what a model is told of an execution: for loops of one's own ------------------------- */

/* The record's `text`, with a NUL behind it. */
RECKON_PUBLIC const char *reckon_execution_text(const reckon_execution *execution, size_t *ret_len);
/* How often this failure was seen in its session, with this one; 0: it is none. *ret_same (or NULL):
 * what did not change since. */
#define RECKON_SAME_CODE 1u
#define RECKON_SAME_ERROR 2u
#define RECKON_SAME_FILES 4u
RECKON_PUBLIC uint64_t reckon_execution_repeat(const reckon_execution *execution,
					       unsigned *ret_same);

typedef struct reckon_image {
	const char *mime;
	const unsigned char *bytes;
	size_t len;
	unsigned width, height;
} reckon_image;

/* The index-th result that has an image of a kind that models take (PNG, JPEG, WebP, GIF), small
 * enough for one where the kernel could make it so. 0 past the last one, else 1. */
RECKON_PUBLIC int reckon_execution_image(const reckon_execution *execution, size_t index,
					 reckon_image *ret);

/* A file that it changed, as in the record; what is not known is NULL. */
typedef struct reckon_changed_file {
	const char *path;
	const char *change; /* "created", "modified" or "deleted" */
	const char *mime;
	const char *sha256;
	const char *artifact;
	uint64_t bytes;
} reckon_changed_file;

/* 0 past the last one, else 1. */
RECKON_PUBLIC int reckon_execution_file(const reckon_execution *execution, size_t index,
					reckon_changed_file *ret);

#ifdef __cplusplus
}
#endif

#endif
