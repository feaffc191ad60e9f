/*
 * model.h - a conversation, independent of the provider; the wire formats convert to and from it.
 *
 * A conversation is a list of turns. A question is a turn of the user; an answer is a turn of the
 * model, with text, thoughts and calls; the results of all its calls are the next turn. If a
 * provider requires its own answer back unchanged (signed thoughts, reasoning items), the turn
 * keeps it in `blob`. All data that a peer can make grow is in bounded buffers or counted tables.
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
#define MODEL_BODY_MAX ((size_t)48 * 1024 * 1024) /* a request */
#define MODEL_EVENT_MAX ((size_t)8 * 1024 * 1024) /* one event of a stream */
#define MODEL_CALLS_MAX 16u
#define MODEL_IMAGES_MAX 16u /* in one turn */
#define MODEL_ID_MAX 256u
#define MODEL_NAME_MAX 128u
#define MODEL_APPLICATION_TOOLS_MAX 128u
#define MODEL_CELL_TOOLS_MAX 128u /* tools that code in the session answers */
/* including ours */
#define MODEL_TOOLS_MAX (MODEL_APPLICATION_TOOLS_MAX + MODEL_CELL_TOOLS_MAX + 4u)
#define MODEL_EXTRA_MAX ((size_t)1024 * 1024) /* other members of a call that a provider sent */
#define MODEL_STOPS_MAX 16u
#define MODEL_CODE "code" /* argument of the tool that runs code */

enum model_role { MODEL_ROLE_USER, MODEL_ROLE_MODEL, MODEL_ROLE_RESULTS };

struct model_image {
	char *mime;
	struct buf base64;
};

/* A tool call of the model. */
struct model_call {
	int64_t index;	/* the provider's index of it in the answer */
	char *id;	/* a result refers to it; generated if the provider sent none */
	char *name;
	struct buf args; /* as received; model_turn_settle() makes it a JSON object */
	bool too_long;	 /* longer than MODEL_ARGS_MAX: the arguments are dropped */
	bool own_id;	 /* the id was generated here */
	/* an object of the provider's other members, which are sent back; or empty */
	struct buf extra;
};

struct model_result {
	char *call_id; /* "" if it answers a block of text */
	char *name;
	struct buf text;
	struct buf whole;   /* the original of a shortened text; empty: not shortened */
	uint64_t number;    /* number among the conversation's results, from 1: "result_3" */
	bool failed;
	bool own_id; /* the call's id was generated here */
};

enum model_stop {
	MODEL_STOP_NONE,   /* the stream did not say */
	MODEL_STOP_END,	   /* also if it waits for results */
	MODEL_STOP_LENGTH,
	MODEL_STOP_REFUSED,
	MODEL_STOP_PAUSED, /* send the answer back unchanged to continue */
	MODEL_STOP_MALFORMED, /* the provider could not parse its model's output: try again */
};

struct model_usage {
	uint64_t in, cached, out, reasoning; /* `in` includes cached tokens */
	uint64_t written; /* part of `in` written to a cache, which some servers charge more for */
};

/* Thoughts that are parts of "content", and are sent back as such. */
#define MODEL_THOUGHT_PARTS "thinking"

struct model_turn {
	enum model_role role;
	struct buf text;
	struct buf thoughts;
	/*
	 * For Chat Completions: the member that had the thoughts, or MODEL_THOUGHT_PARTS; NULL:
	 * none.
	 */
	const char *thought_key;
	struct model_call *calls;
	size_t call_count;
	struct model_result *results;
	size_t result_count;
	struct model_image *images; /* of a question, or of all results of the turn */
	size_t image_count;
	struct buf blob; /* the provider's own items, JSON separated by commas, or empty */
	/* the same, but only thoughts of an earlier run; they go before the text */
	struct buf sealed;
	/* of a question before which older steps or questions were dropped */
	size_t text_own; /* length of the person's text; our note follows it */
	uint64_t steps_left_out, questions_left_out;
	enum model_stop stop;
	struct model_usage usage;
	bool is_noted; /* its numbers are already in the evidence */
};

enum model_tool_kind {
	MODEL_TOOL_CODE,	/* runs its argument `code` */
	MODEL_TOOL_READING,	/* shows the omitted part of an output */
	MODEL_TOOL_SHELL,	/* runs commands, see commands.h */
	MODEL_TOOL_APPLICATION, /* the application answers it */
	MODEL_TOOL_CELL,	/* runs code made from its arguments, see tool_cell.h */
};

/* A tool that the model can call. */
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

/* Options of the application; sent if the protocol supports them. */
struct model_sampling {
	char *temperature, *top_p, *seed; /* JSON numbers; NULL: not set */
	uint64_t answer_tokens; /* 0: as in the settings */
	char *effort;		/* NULL: not set */
	char *stops[MODEL_STOPS_MAX];
	size_t stop_count;
	enum model_choice choice;
	char *choice_tool;  /* of MODEL_CHOICE_TOOL */
	bool one_call; /* no parallel calls */
	char *schema;  /* JSON schema of the last answer; NULL: any text */
	char *schema_name;
	bool is_strict; /* the schema is of the strict kind that OpenAI's servers enforce */
};

struct model_conversation {
	struct buf system;
	struct model_tool *tools; /* empty: the protocol's tool calls are not used */
	size_t tool_count;
	struct model_sampling sampling;
	const char *schema;	      /* JSON schema of every answer, or NULL */
	struct model_turn **turns;
	size_t count;
	uint64_t results; /* number of results so far */
};

/* Copies everything. ERR_LIMIT: there are too many tools. */
int model_conversation_add_tool(struct model_conversation *conv, enum model_tool_kind kind,
				const char *name, const char *description, const char *parameters,
				struct err *err);
/* NULL: there is no such tool. */
const struct model_tool *model_conversation_tool(const struct model_conversation *conv,
						 const char *name);
const struct model_tool *model_conversation_code_tool(const struct model_conversation *conv);
void model_tool_done(struct model_tool *tool);
void model_conversation_drop_tools(struct model_conversation *conv);
void model_sampling_done(struct model_sampling *sampling);

void model_conversation_init(struct model_conversation *conv);
void model_conversation_done(struct model_conversation *conv);

/* Appends a new turn, which the conversation owns. */
struct model_turn *model_conversation_add(struct model_conversation *conv, enum model_role role);
/* Removes all turns after the first `count`. */
void model_conversation_cut(struct model_conversation *conv, size_t count);
/* Removes `count` turns from index `from` on. */
void model_conversation_drop(struct model_conversation *conv, size_t from, size_t count);

void model_turn_init(struct model_turn *turn, enum model_role role);
void model_turn_done(struct model_turn *turn);
#define cleanup_turn __attribute__((cleanup(model_turn_done)))

/* The call with that index, created if missing; NULL: there are too many. */
struct model_call *model_turn_call(struct model_turn *turn, int64_t index);
/* Appends to the arguments; beyond MODEL_ARGS_MAX the call becomes too_long. */
void model_call_add(struct model_call *call, const char *text, size_t len);
/* Set the id or name, cut to the maximum length; an empty text changes nothing. */
void model_call_set_id(struct model_call *call, const char *id);
void model_call_set_name(struct model_call *call, const char *name);

/*
 * Call when the answer is complete: every call gets a unique id, and arguments that are a JSON
 * object ({"ARGUMENT": text} for anything else). `number` makes generated ids unique.
 */
int model_turn_settle(struct model_turn *turn, const char *argument, uint64_t number,
		      struct err *err);

/* Makes the arguments of one call an object, as model_turn_settle() does. */
int model_call_settle(struct model_call *call, const char *argument, struct err *err);

/* `call` NULL: the result answers a block of text. */
int model_turn_add_result(struct model_turn *turn, const struct model_call *call,
			  const char *text, size_t len, bool failed, struct err *err);
/* Appends a line of ours to the last result or question. */
int model_conversation_remark(struct model_conversation *conv, const char *text, struct err *err);
/* Returns how many images were dropped. */
size_t model_turn_drop_images(struct model_turn *turn);
int model_turn_add_image(struct model_turn *turn, const char *mime, const char *base64, size_t len,
			 struct err *err);

/* Sorts the results by the order of the calls they answer. */
void model_turn_sort_results(struct model_turn *results, const struct model_turn *calls);
/* "data:MIME;base64,…" as a JSON string */
int model_write_data_url(struct json_writer *writer, const struct model_image *image,
			 struct err *err);
