/*
 * openai.h - OpenAI's API: Responses and Chat Completions containers, models.
 *
 *   routes.c      maps paths to handlers
 *   openai.c      answers, errors, models
 *   list.c        queries of lists
 *   object.h      objects that are documents
 *   responses/    order.c: parses a request of Responses; response.h: makes a response of a run,
 *                 whole or streamed, at once or later; conversations.h: items that persist from one
 *                 response to the next
 *   chat/         the same for a request of Chat Completions
 *   assistants/   Assistants, threads and their runs
 *   files/        files of the tenant; sessions as containers, and their files
 */
#pragma once

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/names.h"
#include "dialects/openai/files/outputs.h"
#include "dialects/run.h"
#include "dialects/sealed.h"

#define OPENAI_BODY_MAX (32u * 1024u * 1024u)
#define OPENAI_CONVERSATION_MAX (15u * 1024u * 1024u)
#define OPENAI_FILES_MAX 100u
#define OPENAI_FILE_BYTES_MAX (6u * 1024u * 1024u)
#define OPENAI_JSON "application/json"
#define OPENAI_CONTAINER "cntr_"
#define OPENAI_CONTAINER_FILE "cfile_"
#define OPENAI_RESPONSE "resp_"
#define OPENAI_RUN_DIGITS 26u /* in a run's id, after "run_" */
#define OPENAI_RESPONSES "conversation.openai.responses" /* the collection of their documents */
/* The language of OpenAI's code interpreter; also the name of a small template. */
#define OPENAI_CODE_LANGUAGE "python"
#define OPENAI_SHELL "shell" /* its tool's name, here and for models */

/* ---- transcript.c ---- */
/* Collects a conversation's messages: what a model says in one turn is one message, and its results
 * are another. */
struct transcript {
	struct json_writer *writer;
	struct buf text, calls, results, images; /* of the open turn; JSON except for `text` */
	struct buf sealed;			 /* sealed reasoning of that turn */
	bool is_open, has_output;		 /* has_output: more than reasoning */
};
void transcript_init(struct transcript *transcript, struct json_writer *writer);
void transcript_done(struct transcript *transcript);
#define cleanup_transcript __attribute__((cleanup(transcript_done)))
int transcript_assistant(struct transcript *transcript, const char *text, size_t len,
			 struct err *err);
/* `arguments`: JSON of an object, or any text. */
int transcript_call(struct transcript *transcript, const char *id, const char *name,
		    const char *arguments, size_t len, struct err *err);
int transcript_code(struct transcript *transcript, const char *id, const char *code, size_t len,
		    struct err *err);
/* Adds sealed reasoning to the open turn, or to the next one. */
int transcript_sealed(struct transcript *transcript, const char *text, size_t len, struct err *err);
int transcript_result(struct transcript *transcript, const char *id, const char *text, size_t len,
		      struct err *err);
/* Adds a data URL; for results, or for the next user message. */
int transcript_image(struct transcript *transcript, const char *url, struct err *err);
/* Completes the open messages. */
int transcript_close(struct transcript *transcript, struct err *err);
/* Adds a user message, with the images before it. */
int transcript_user(struct transcript *transcript, const char *role, const struct buf *text,
		    const char *const *files, size_t file_count, struct err *err);

/* ---- order.c ---- */
struct order {
	struct arena arena;
	struct json_value *body; /* unchanged: the response repeats much of it */
	const char *model, *previous, *container; /* or NULL */
	char session[ID_SIZE]; /* the container's */
	struct api_run_file files[OPENAI_FILES_MAX];
	size_t file_count;
	const struct json_value *file_lists[2]; /* ids of files, in the tools */
	size_t file_list_count;
	uint64_t memory_bytes; /* of a new container; 0: default */
	struct buf file_lines; /* lines for the model about files that were put there before */
	bool has_shell, shell_is_local; /* local: the application runs the commands */
	bool runs_code, is_stream, is_background, shows_outputs, shows_thoughts, is_stored;
	bool shows_sealed; /* include sealed reasoning */
	uint64_t skips; /* events of the stream that the client already has */
	char conversation[NAME_SIZE]; /* "": none */
	struct json_value **earlier;  /* its earlier items; documents */
	size_t earlier_count;
	struct reference *references; /* see references.h */
	size_t reference_count;
	struct brought *brought; /* see files_read.h */
	size_t brought_count;
};
/* Parses everything except the conversation. ERR_INVALID with a message for the client. */
int order_read(const char *json, size_t len, struct order *ret, struct err *err);
void order_done(struct order *order);
#define cleanup_order __attribute__((cleanup(order_done)))
/* Appends the conversation. `before`: the one that it continues, or NULL. */
int order_write(struct order *order, const struct json_value *before, struct buf *ret,
		struct err *err);

/* Writes the conversation's "output" for {"type": "json_schema" or "json_object"}; `schema`: has
 * name, schema and strict. */
int order_write_output(const struct json_value *format, const struct json_value *schema,
		       struct json_writer *writer, struct err *err);

/* ---- order_tools.c ---- */
int order_take_tools(const struct json_value *tools, struct order *order, struct err *err);
/* Writes "tools", "tool_choice" and "shell" of a conversation. */
int order_write_tools(const struct order *order, struct json_writer *writer, struct err *err);
/* Reads the container of a code interpreter. */
int order_take_container(const struct json_value *container, struct order *order, struct err *err);
/* "1g", "4g", …; NULL: default. */
int order_memory(const char *word, uint64_t *ret, struct err *err);
/* Whether a tool runs in a container here. */
bool order_has_container(const struct order *order);

/* ---- stored_ids.c ---- */
/* Handles GET, DELETE, GET …/input_items, POST …/cancel. */
void stored_handle(struct request *request, const char *rest);

/* ---- chat/order.c ---- */
/* Parses a request of Chat Completions; appends its conversation. */
int chat_order_read(const char *json, size_t len, struct order *ret, struct buf *conversation,
		    struct err *err);

/* ---- chat.c ---- */
void chat_create(struct request *request);

/* ---- input.c ---- */
int input_write(const struct json_value *input, struct order *order, struct transcript *transcript,
		struct err *err);
/* Reads a message's content in any form: its text, images and files. */
int input_content(const struct json_value *content, struct order *order,
		  struct transcript *transcript, struct buf *text, struct err *err);

/* ---- items.c ---- */
/* ITEM_SEALED: reasoning without visible text. */
enum item_kind { ITEM_NONE, ITEM_MESSAGE, ITEM_REASONING, ITEM_SEALED, ITEM_SHELL };

/* State of the call whose commands run. */
struct items_shell {
	char call_id[NAME_SIZE];
	uint64_t count, output_count; /* commands; those with output so far */
	uint64_t output_max;  /* characters per command; 0: all */
	struct buf output;    /* their outputs, as comma-separated JSON */
};

struct items {
	struct request *request;
	const struct order *order;
	const char *run, *session;
	bool is_stream;
	uint64_t sequence;
	unsigned count; /* number of complete items; index of the open one */
	enum item_kind open;
	struct buf text;   /* the open item's */
	struct buf sealed; /* the open item's, if it is reasoning */
	struct buf code;   /* the running cell's */
	struct items_shell shell;
	struct buf output; /* complete items, as comma-separated JSON */
	struct buf conversation_output; /* the same for a conversation: with the output of cells */
	struct cites cites; /* files that code wrote */
};
void items_init(struct items *items, struct request *request, const struct order *order,
		const struct run *run);
void items_done(struct items *items);
/* These functions are negative if the client is gone. */
int items_text(struct items *items, enum item_kind kind, const char *text, size_t len);
/* `sealed`: from RUN_SEALED. */
int items_sealed(struct items *items, const struct json_value *sealed);
int items_close(struct items *items);
int items_cell(struct items *items, const struct run_event *cell);
int items_record(struct items *items, const struct run_event *record);
int items_call(struct items *items, const struct json_value *call);
/* The next event is the last one, and is always sent. */
void items_end(struct items *items);
/* Writes {"type", "sequence_number", …}: add members between the two calls. */
void items_event_begin(struct items *items, struct json_writer *json, struct buf *out,
		       const char *type);
int items_event_end(struct items *items, struct json_writer *json, const char *type);

/* ---- response.c ---- */
void response_create(struct request *request);

/* ---- containers.c ---- */
void containers_handle(struct request *request, const char *rest);

/* ---- files.c ---- */
#define OPENAI_FILE "file-" /* file_… of the tenant */
void files_handle(struct request *request, const char *rest);
/* Copies a file into a session, and returns its path. Negative: refused. */
int files_import_one(struct request *request, const char *id, const char *session, char *ret_path,
		     size_t size);

/* ---- files_named.c ---- */
#define OPENAI_PICTURE "file-i"
#define OPENAI_FILE_OF "file-a"
/* False: the id is a tenant's file. */
bool files_named_handle(struct request *request, const char *id, bool is_content);

/* ---- files.c ---- */
/* Whether a list of ids is no longer than allowed; `where` names it. */
int files_count(const struct json_value *ids, const char *where, struct err *err);
/* Copies files of the tenant into a session; appends their lines to `ret`. Negative: refused. */
int files_import(struct request *request, const struct json_value *ids, const char *session,
		 struct buf *ret);

/* ---- list.c ---- */
/* The query of a list; ids are "" if it has none, and not checked. */
struct list {
	uint64_t limit;
	bool is_ascending; /* by creation; else the newest come first */
	char after[NAME_SIZE], before[NAME_SIZE]; /* in the list's own order */
	char purpose[65];
};
/* Negative: refused. */
int list_read(struct request *request, unsigned usual, unsigned max, struct list *ret);
void list_begin(struct json_writer *json, struct buf *body);
/* The ids of the first and the last object; "" or NULL: the page is empty. */
void list_end(struct json_writer *json, const char *first, const char *last, bool has_more);

/* ---- openai.c ---- */
void models_handle(struct request *request, const char *rest);
void openai_refuse(struct request *request, const struct refusal *refusal);
void openai_answer(struct request *request, const struct buf *body);
/* Writes `member` with the text that `metadata`, a JSON object, has at `key`, or with `other`. */
void openai_write_metadata(struct json_writer *json, const struct api_bytes *metadata,
			   const char *key, const char *member, const char *other);
void openai_answer_json(struct request *request, struct json_writer *json);
/* Writes a parsed value as a member. */
int openai_write_value(struct json_writer *writer, const char *key, const struct json_value *value,
		       struct err *err);
/* Checks the key, adds headers with its request limit, and reads the body. Negative: refused. */
int openai_body(struct request *request, struct buf *ret);
