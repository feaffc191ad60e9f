/*
 * model.h - one conversation, in the agent's own terms; every provider is translated to and from it.
 *
 * A conversation is a list of turns. A question is a user's turn; an answer is the model's, with text,
 * thoughts and calls; the results of all its calls are the turn after it. Where a provider wants its
 * own answer back unchanged (signatures of thoughts, reasoning items), the turn keeps it as `blob`.
 * Everything a peer can make grow is a bounded buffer or a counted table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_write.h"

#define MODEL_TEXT_MAX ((size_t)4 * 1024 * 1024)
#define MODEL_ARGS_MAX ((size_t)1024 * 1024)
#define MODEL_BLOB_MAX ((size_t)16 * 1024 * 1024)
#define MODEL_BODY_MAX ((size_t)48 * 1024 * 1024) /* of a request */
#define MODEL_EVENT_MAX ((size_t)8 * 1024 * 1024) /* of one event of a stream */
#define MODEL_CALLS_MAX 16u
#define MODEL_IMAGES_MAX 16u /* of one turn */
#define MODEL_ID_MAX 256u
#define MODEL_NAME_MAX 128u
#define MODEL_APPLICATION_TOOLS_MAX 128u
#define MODEL_CELL_TOOLS_MAX 128u /* that code in the session answers */
#define MODEL_TOOLS_MAX (MODEL_APPLICATION_TOOLS_MAX + MODEL_CELL_TOOLS_MAX + 4u) /* with ours */
#define MODEL_EXTRA_MAX ((size_t)1024 * 1024) /* what else a provider says of a call */
#define MODEL_STOPS_MAX 16u
#define MODEL_CODE "code" /* the argument of the tool that runs code */

enum model_role { MODEL_ROLE_USER, MODEL_ROLE_MODEL, MODEL_ROLE_RESULTS };

struct model_image {
	char *mime;
	struct buf base64;
};

/* What the model wants to have run. */
struct model_call {
	int64_t index;	/* the provider's number of it within the answer */
	char *id;	/* what a result refers to; made here when the provider gave none */
	char *name;
	struct buf args; /* as it came; model_turn_settle() makes it a JSON object */
	bool too_long;	 /* longer than MODEL_ARGS_MAX: nothing of it is kept */
	bool own_id;	 /* the id was made here */
	struct buf extra; /* an object of what else the provider said of it, which goes back; or empty */
};

struct model_result {
	char *call_id; /* "" when it answers a block of text */
	char *name;
	struct buf text;
	struct buf whole;   /* what it was, when it was shortened; empty: it was not */
	uint64_t number;    /* of the conversation's results, from 1: "result_3" */
	bool failed;
	bool own_id; /* that of the call was made here */
};

enum model_stop {
	MODEL_STOP_NONE,   /* the stream did not say */
	MODEL_STOP_END,	   /* also: it waits for results */
	MODEL_STOP_LENGTH,
	MODEL_STOP_REFUSED,
	MODEL_STOP_PAUSED, /* to be sent back as it is */
	MODEL_STOP_MALFORMED, /* the provider could not read what its model wrote: try again */
};

struct model_usage {
	uint64_t in, cached, out, reasoning; /* `in` holds the cached ones too */
	uint64_t written; /* of `in`, what went into a cache: some servers bill it higher */
};

/* Thoughts that came in parts of "content", and go back so. */
#define MODEL_THOUGHT_PARTS "thinking"

struct model_turn {
	enum model_role role;
	struct buf text;
	struct buf thoughts;
	/* Of Chat Completions: the member that they came in, or MODEL_THOUGHT_PARTS; NULL: none. */
	const char *thought_key;
	struct model_call *calls;
	size_t call_count;
	struct model_result *results;
	size_t result_count;
	struct model_image *images; /* of a question, or of the results together */
	size_t image_count;
	struct buf blob; /* the provider's own items, JSON with commas between them, or empty */
	struct buf sealed; /* the same of thoughts alone, from another day: they stand before the text */
	/* of a question whose earlier steps, or the questions before it, were left out */
	size_t text_own; /* length of what the person said; what follows is our note */
	uint64_t steps_left_out, questions_left_out;
	enum model_stop stop;
	struct model_usage usage;
	bool is_noted; /* what it shows is evidence already */
};

enum model_tool_kind {
	MODEL_TOOL_CODE,	/* has its argument `code` run */
	MODEL_TOOL_READING,	/* shows what was left out of an output */
	MODEL_TOOL_SHELL,	/* has its commands run, see commands.h */
	MODEL_TOOL_APPLICATION, /* whoever began the conversation answers it */
	MODEL_TOOL_CELL,	/* code around its arguments is run, see tool_cell.h */
};

/* What the model can call. */
struct model_tool {
	enum model_tool_kind kind;
	char *name;
	char *description; /* NULL: none */
	char *parameters;  /* JSON schema of an object */
	char *before, *after; /* of MODEL_TOOL_CELL */
	bool is_quoted;
};

enum model_choice {
	MODEL_CHOICE_AUTO,
	MODEL_CHOICE_NONE,
	MODEL_CHOICE_REQUIRED,
	MODEL_CHOICE_TOOL
};

/* What the application wants of the model; passed on where the protocol has a word for it. */
struct model_sampling {
	char *temperature, *top_p, *seed; /* numbers of JSON; NULL: not said */
	uint64_t answer_tokens; /* 0: that of the settings */
	char *effort;		/* NULL: not said */
	char *stops[MODEL_STOPS_MAX];
	size_t stop_count;
	enum model_choice choice;
	char *choice_tool;  /* of MODEL_CHOICE_TOOL */
	bool one_call; /* no calls beside each other */
	char *schema;  /* JSON schema that the last answer obeys; NULL: it is in any words */
	char *schema_name;
	bool is_strict; /* the schema is of the kind that OpenAI's servers enforce */
};

struct model_conversation {
	struct buf system;
	struct model_tool *tools; /* none: the protocol's calls are not used */
	size_t tool_count;
	struct model_sampling sampling;
	const char *schema;	      /* JSON schema that every answer obeys, or NULL */
	struct model_turn **turns;
	size_t count;
	uint64_t results; /* how many there were */
};

/* Everything is copied. ERR_LIMIT when there are too many. */
int model_conversation_add_tool(struct model_conversation *conv, enum model_tool_kind kind,
				const char *name, const char *description, const char *parameters,
				struct err *err);
/* NULL: there is none. */
const struct model_tool *model_conversation_tool(const struct model_conversation *conv,
						 const char *name);
const struct model_tool *model_conversation_code_tool(const struct model_conversation *conv);
void model_tool_done(struct model_tool *tool);
void model_conversation_drop_tools(struct model_conversation *conv);
void model_sampling_done(struct model_sampling *sampling);

void model_conversation_init(struct model_conversation *conv);
void model_conversation_done(struct model_conversation *conv);

/* A new turn at the end; the conversation owns it. */
struct model_turn *model_conversation_add(struct model_conversation *conv, enum model_role role);
/* Takes away what came after the first `count` turns. */
void model_conversation_cut(struct model_conversation *conv, size_t count);
/* Takes away `count` turns from the one at `from` on. */
void model_conversation_drop(struct model_conversation *conv, size_t from, size_t count);

void model_turn_init(struct model_turn *turn, enum model_role role);
void model_turn_done(struct model_turn *turn);
#define cleanup_turn __attribute__((cleanup(model_turn_done)))

/* The call of that index, a new one when there is none; NULL when there are too many. */
struct model_call *model_turn_call(struct model_turn *turn, int64_t index);
/* Appends to the arguments; past MODEL_ARGS_MAX the call becomes too_long. */
void model_call_add(struct model_call *call, const char *text, size_t len);
/* Sets id or name, cut to their maximum; an empty text changes nothing. */
void model_call_set_id(struct model_call *call, const char *id);
void model_call_set_name(struct model_call *call, const char *name);

/*
 * The answer is complete: every call gets an id that no other has and arguments that are a JSON
 * object ({"ARGUMENT": text} when they were anything else). `number` makes ids of ours unique.
 */
int model_turn_settle(struct model_turn *turn, const char *argument, uint64_t number,
		      struct err *err);

/* Makes the arguments of one call an object; what model_turn_settle() does with each. */
int model_call_settle(struct model_call *call, const char *argument, struct err *err);

/* `call` NULL: it answers a block of text. */
int model_turn_add_result(struct model_turn *turn, const struct model_call *call,
			  const char *text, size_t len, bool failed, struct err *err);
/* Appends a line of ours to the last thing said on our side: a result, or a question. */
int model_conversation_remark(struct model_conversation *conv, const char *text, struct err *err);
/* How many there were. */
size_t model_turn_drop_images(struct model_turn *turn);
int model_turn_add_image(struct model_turn *turn, const char *mime, const char *base64, size_t len,
			 struct err *err);

/* Puts the results into the order of the calls they answer. */
void model_turn_sort_results(struct model_turn *results, const struct model_turn *calls);
/* "data:MIME;base64,…" as a JSON string */
int model_write_data_url(struct json_writer *writer, const struct model_image *image,
			 struct err *err);
