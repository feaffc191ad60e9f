/*
 * reckon_agent.h - libreckon: a model answers questions by running code in a session.
 *
 * An addition to reckon.h, with the same rules. A sandboxed process, reckon-agent, has the key and
 * sends the requests to the model; its cells run in the session: docs/agent.md.
 *
 *   reckon_agent_options options = { sizeof(options) };  reckon_agent *agent;  reckon_answer *done;
 *   options.protocol = "chat";  options.model = "NAME";  options.key = getenv("OPENAI_API_KEY");
 *   options.base_url = "https://api.openai.com/v1";
 *   reckon_agent_open(session, &options, &agent, NULL);
 *   reckon_agent_ask(agent, "Which city sold most?", NULL, &done, NULL);
 *   puts(reckon_answer_text(done));
 *   reckon_answer_free(done);  reckon_agent_close(agent);
 *
 * Text of a model is untrusted: escape it before you write it to a terminal or a page.
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

/* Strings are copied; the key is erased here once the agent's process has it. Zero or NULL means
 * the default given here. */
typedef struct reckon_agent_options {
	size_t size;
	const char *protocol; /* "chat", "responses", "messages" or "gemini" */
	const char *model;    /* the server's name for it */
	const char *base_url; /* URL before the protocol's paths: https://api.openai.com/v1 */
	const char *key;      /* none */
	const char *calling;  /* how it calls code: "tools"; or "fenced", "schema" */
	int images;           /* non-zero: the model gets images that cells display */
	unsigned retries;     /* when a server is busy; 4 */
	/* Limits of one question. */
	uint64_t max_steps;   /* cells; 8 */
	uint64_t max_tokens;  /* input and output together; none */
	uint64_t budget_micro; /* cost, in millionths; none */
	uint64_t wall_ms;     /* whole time, with its cells; 15 minutes */
	/* For a million tokens, in millionths of the budget's currency. */
	uint64_t price_in, price_cached, price_out;
	uint64_t context_tokens; /* older output is shortened to stay below this; 100000 */
	uint64_t answer_tokens;  /* limit of one answer of the model; 8192 */
	uint64_t text_bytes;  /* of a cell's output for the model; as in reckon_execute_options */
	/* Network settings; if all three are NULL, from the environment (https_proxy, …). */
	const char *ca_file, *proxy, *no_proxy;
	int keep_conversation; /* non-zero: reckon_answer_conversation() works for each answer */
	/* Checks numbers and links of an answer against the outputs of the run. "ask": the model is
	 * told once about unsupported ones and may correct its answer; or "mark", "off". */
	const char *verify;
} reckon_agent_options;

/*
 * Starts the agent's process, without a request to the model. The caller closes *ret, before
 * `session`, which the agent uses: only use both in one thread, one after the other. Between
 * questions the caller may use the session, too.
 */
RECKON_PUBLIC int reckon_agent_open(reckon_session *session, const reckon_agent_options *options,
				    reckon_agent **ret, reckon_error *err);

/* Ends the conversation; the session remains. NULL is fine. Not in a callback. */
RECKON_PUBLIC void reckon_agent_close(reckon_agent *agent);

/* Sums of one question. */
typedef struct reckon_agent_usage {
	size_t size; /* sizeof(reckon_agent_usage), set by the caller */
	uint64_t requests;
	uint64_t steps;            /* cells that ran */
	uint64_t input_tokens;     /* including cached ones */
	uint64_t cached_tokens;
	uint64_t output_tokens;    /* including reasoning */
	uint64_t reasoning_tokens;
	uint64_t cost_micro;       /* by the prices of the options */
} reckon_agent_usage;

enum {
	RECKON_AGENT_TEXT = 1, /* text: a piece of the model's text */
	RECKON_AGENT_THOUGHT,  /* text: a piece of the model's reasoning */
	RECKON_AGENT_NOTICE,   /* text: a line, for example why the agent waits */
	RECKON_AGENT_TURN,     /* usage: an answer of the model is complete; sums so far */
	RECKON_AGENT_CELL,     /* text: code that will run now */
	RECKON_AGENT_OUTPUT,   /* output: an event of the running cell */
	RECKON_AGENT_RECORD,   /* execution: the result of the cell */
	RECKON_AGENT_CODE,     /* text: a piece of a call's code, while it is written; call */
	/* text: why everything since the last TURN is void: the answer broke off, and is retried */
	RECKON_AGENT_DISCARD
};

/* Only valid during the call. Later versions add kinds, and fields at the end. */
typedef struct reckon_agent_event {
	int kind;
	size_t step; /* for CELL, OUTPUT and RECORD: 0, 1, … in this question */
	const char *text; /* UTF-8, NUL-terminated; or NULL */
	size_t text_len;
	const reckon_agent_usage *usage;
	const reckon_event *output;
	const reckon_execution *execution;
	size_t call; /* for CODE: index of the call in this answer of the model */
} reckon_agent_event;

/* Only for CELL: the cell does not run; its result says that it was not allowed. */
#define RECKON_REFUSE 2

/* RECKON_CONTINUE, RECKON_STOP (as reckon_agent_interrupt()) or RECKON_REFUSE. The session must not
 * be used in OUTPUT; in the other kinds it may. */
typedef int reckon_agent_event_fn(const reckon_agent_event *event, void *arg);

typedef struct reckon_ask_options {
	size_t size;
	reckon_agent_event_fn *on_event; /* or NULL */
	void *on_event_arg;
	/* Paths in the workspace that the question names; NULL-terminated, or NULL: none. It names
	 * 1000 of them, and says how many more there are. */
	const char *const *files;
} reckon_ask_options;

/*
 * Asks a question, runs the cells that the model calls, and waits for the end. Returns RECKON_OK
 * whenever the question has ended, in whatever way: see reckon_answer_stop(). The caller frees
 * *ret, which can outlive the agent. Further questions can follow: variables, files and the
 * conversation remain. RECKON_EPROTOCOL or RECKON_ELOST: the agent's process is gone; close it.
 */
RECKON_PUBLIC int reckon_agent_ask(reckon_agent *agent, const char *question,
				   const reckon_ask_options *options, reckon_answer **ret,
				   reckon_error *err);

/*
 * Replaces the conversation before the first question: instructions, messages with images, tools of
 * the application, sampling. `json` is a document reckon.conversation/1
 * (docs/conversation.schema.json): the caller's own, or one from reckon_answer_conversation() of
 * any process at any earlier time. It is copied. If it is invalid, the next answer has the stop
 * "failed" and says why.
 */
RECKON_PUBLIC int reckon_agent_load(reckon_agent *agent, const char *json, size_t len,
				    reckon_error *err);

/* The result of the application's tool. */
typedef struct reckon_tool_result {
	size_t size;      /* sizeof(reckon_tool_result) */
	const char *id;   /* of the call */
	const char *text; /* UTF-8 */
	int failed;
} reckon_tool_result;

/*
 * As reckon_agent_ask(), without a question. After an answer whose stop is "tool_calls" it
 * continues with the results, in any order; a call without a result gets a note that says so.
 * Without results it answers the last message of the loaded conversation; so a run that failed can
 * be resumed.
 */
RECKON_PUBLIC int reckon_agent_continue(reckon_agent *agent, const reckon_tool_result *results,
					size_t count, const reckon_ask_options *options,
					reckon_answer **ret, reckon_error *err);

/* Ends the current question and interrupts its cell. Can be called in a callback, a signal handler
 * or another thread; has no effect if there is no question. */
RECKON_PUBLIC void reckon_agent_interrupt(reckon_agent *agent);

/* ---- an answer: returned pointers are valid as long as the answer ----------------------- */

RECKON_PUBLIC void reckon_answer_free(reckon_answer *answer); /* NULL is fine */
/* The model's last text; NULL: none. */
RECKON_PUBLIC const char *reckon_answer_text(const reckon_answer *answer);
/* "answer", "max_steps", "max_tokens", "budget", "max_time", "stuck", "length", "refused",
 * "interrupted", "session_lost", "failed", or "tool_calls": it waits for the application. */
RECKON_PUBLIC const char *reckon_answer_stop(const reckon_answer *answer);
/* The reason if the stop is not "answer", for a person; both may be "". `ret_remedy` may be
 * NULL. */
RECKON_PUBLIC const char *reckon_answer_message(const reckon_answer *answer,
						const char **ret_remedy);
RECKON_PUBLIC int reckon_answer_usage(const reckon_answer *answer, reckon_agent_usage *ret,
				      reckon_error *err);

typedef struct reckon_agent_step {
	size_t size;        /* sizeof(reckon_agent_step), set by the caller */
	const char *prose;  /* text of the model before it */
	const char *code;
	const char *status; /* of its record, or "refused" */
	/* reckon.execution/1; NULL: it did not run, or this question's records exceed 512 MiB */
	const char *record;
} reckon_agent_step;

/* RECKON_ENOT_FOUND past the last one. */
RECKON_PUBLIC int reckon_answer_step(const reckon_answer *answer, size_t index,
				     reckon_agent_step *ret, reckon_error *err);
typedef struct reckon_tool_call {
	size_t size;      /* sizeof(reckon_tool_call), set by the caller */
	const char *id;
	const char *name; /* of one of the application's tools */
	const char *arguments; /* a JSON object, not validated against the tool's schema */
} reckon_tool_call;

/* A call that waits for the application. RECKON_ENOT_FOUND past the last one. */
RECKON_PUBLIC int reckon_answer_call(const reckon_answer *answer, size_t index,
				     reckon_tool_call *ret, reckon_error *err);

/* The result of the check (`verify`) of the answer's text. */
typedef struct reckon_checked {
	size_t size;             /* sizeof(reckon_checked), set by the caller */
	int is_checked;          /* 0: nothing was checked, and all other fields are 0 */
	uint64_t numbers, links; /* that were checked */
	uint64_t numbers_unsupported, links_unsupported;
} reckon_checked;

RECKON_PUBLIC int reckon_answer_checked(const reckon_answer *answer, reckon_checked *ret,
					reckon_error *err);

/* A number that no output of the run has, or a link to a missing file. */
typedef struct reckon_claim {
	size_t size;        /* sizeof(reckon_claim), set by the caller */
	int is_link;
	size_t offset, len; /* bytes in reckon_answer_text() */
} reckon_claim;

/* In the order of the text; at most 50. RECKON_ENOT_FOUND past the last one. */
RECKON_PUBLIC int reckon_answer_claim(const reckon_answer *answer, size_t index, reckon_claim *ret,
				      reckon_error *err);
/* The conversation so far for reckon_agent_load(), with the items that its model requires
 * (thoughts, signatures); NULL: it was not kept, or is longer than 15 MiB. *ret_len may be NULL. */
RECKON_PUBLIC const char *reckon_answer_conversation(const reckon_answer *answer, size_t *ret_len);
/* The answer as one line of JSON, docs/ask.schema.json; free() *ret_json. */
RECKON_PUBLIC int reckon_answer_json(const reckon_answer *answer, char **ret_json,
				     reckon_error *err);

/* ---- text of an execution for a model, for your own agent loop ---------------------------- */

/* The record's `text`, NUL-terminated. */
RECKON_PUBLIC const char *reckon_execution_text(const reckon_execution *execution, size_t *ret_len);
/* How often this failure occurred in the session, including now; 0: not a failure. *ret_same (or
 * NULL): what did not change. */
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

/* The index-th result with an image in a format that models accept (PNG, JPEG, WebP, GIF), reduced
 * to a size for models if the kernel could. 0 past the last one, else 1. */
RECKON_PUBLIC int reckon_execution_image(const reckon_execution *execution, size_t index,
					 reckon_image *ret);

/* A file that the execution changed, as in the record; unknown fields are NULL. */
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
