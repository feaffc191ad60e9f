/*
 * openai.h - OpenAI's API: Responses and Chat Completions with the code interpreter, containers, models.
 *
 *   routes.c      which path is whose
 *   openai.c      answers, errors, models
 *   object.h      things that are documents
 *   responses/    order.c: a request of Responses becomes an order, which is a conversation, and how
 *                 it is answered; response.h: a run becomes a response, whole or as a stream, at once
 *                 or later; conversations.h: items that stay from one response to the next
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
#define OPENAI_TALK_MAX (15u * 1024u * 1024u)
#define OPENAI_FILES_MAX 100u
#define OPENAI_FILE_BYTES_MAX (6u * 1024u * 1024u)
#define OPENAI_JSON "application/json"
#define OPENAI_CONTAINER "cntr_"
#define OPENAI_CONTAINER_FILE "cfile_"
#define OPENAI_RESPONSE "resp_"
#define OPENAI_RUN_DIGITS 26u /* of the id of a run, behind "run_" */
#define OPENAI_RESPONSES "conversation.openai.responses" /* a collection of documents */
/* What its code interpreter is defined to run; also the name of a small template. */
#define OPENAI_CODE_LANGUAGE "python"
#define OPENAI_SHELL "shell" /* what its tool is called, here and to models */

/* ---- talk.c ---- */
/* The messages of a conversation. What models say in one turn, and its results, are one message each. */
struct talk {
	struct json_writer *writer;
	struct buf text, calls, results, images; /* of the turn that is open; JSON but for `text` */
	struct buf sealed;			 /* the same of what it thought */
	bool is_open, has_said; /* anything but thoughts */
};
void talk_init(struct talk *talk, struct json_writer *writer);
void talk_done(struct talk *talk);
#define cleanup_talk __attribute__((cleanup(talk_done)))
int talk_assistant(struct talk *talk, const char *text, size_t len, struct err *err);
/* `arguments`: JSON of an object, or any text. */
int talk_call(struct talk *talk, const char *id, const char *name, const char *arguments,
	      size_t len, struct err *err);
int talk_code(struct talk *talk, const char *id, const char *code, size_t len, struct err *err);
/* What the provider had of its thoughts, in the turn that is open or comes next. */
int talk_sealed(struct talk *talk, const char *text, size_t len, struct err *err);
int talk_result(struct talk *talk, const char *id, const char *text, size_t len, struct err *err);
/* A data URL; of results, or of the next user's message. */
int talk_image(struct talk *talk, const char *url, struct err *err);
/* What is open is complete. */
int talk_close(struct talk *talk, struct err *err);
/* With the images that came before. */
int talk_user(struct talk *talk, const char *role, const struct buf *text,
	      const char *const *files, size_t file_count, struct err *err);

/* ---- order.c ---- */
struct order {
	struct arena arena;
	struct json_value *body; /* as it came: much of it is said again */
	const char *model, *previous, *container; /* or NULL */
	char session[ID_SIZE]; /* of the container */
	struct api_run_file files[OPENAI_FILES_MAX];
	size_t file_count;
	const struct json_value *file_lists[2]; /* ids of files, of tools */
	size_t file_list_count;
	uint64_t memory_bytes; /* of a new container; 0: as usual */
	struct buf told; /* lines about files that were put there before, for the model */
	bool has_shell, shell_is_local; /* local: the application runs its commands */
	bool runs_code, is_stream, is_background, shows_outputs, shows_thoughts, is_stored;
	bool shows_sealed; /* what the provider wants back of its thoughts */
	uint64_t skips; /* events of the stream that the client has */
	char conversation[NAME_SIZE]; /* "": none */
	struct json_value **earlier;  /* its items; documents */
	size_t earlier_count;
	struct reference *references; /* see references.h */
	size_t reference_count;
	struct brought *brought; /* see files_read.h */
	size_t brought_count;
};
/* Everything but the conversation. ERR_INVALID in words for the client. */
int order_read(const char *json, size_t len, struct order *ret, struct err *err);
void order_done(struct order *order);
#define cleanup_order __attribute__((cleanup(order_done)))
/* `before`: the conversation that is gone on with, or NULL. Appends one. */
int order_write(struct order *order, const struct json_value *before, struct buf *ret,
		struct err *err);

/* {"type": "json_schema" or "json_object"} becomes the conversation's "output"; `schema`: where name,
 * schema and strict stand. */
int order_write_output(const struct json_value *format, const struct json_value *schema,
		       struct json_writer *writer, struct err *err);

/* ---- order_tools.c ---- */
int order_take_tools(const struct json_value *tools, struct order *order, struct err *err);
/* "tools", "tool_choice" and "shell" of a conversation. */
int order_write_tools(const struct order *order, struct json_writer *writer, struct err *err);
/* Which container a code interpreter is to have. */
int order_take_container(const struct json_value *container, struct order *order, struct err *err);
/* "1g", "4g", …; NULL: as usual. */
int order_memory(const char *word, uint64_t *ret, struct err *err);
/* Whether anything runs here. */
bool order_has_container(const struct order *order);

/* ---- stored_ids.c ---- */
/* GET, DELETE, GET …/input_items, POST …/cancel. */
void stored_handle(struct request *request, const char *rest);

/* ---- chat/order.c ---- */
/* A request of Chat Completions; appends its conversation. */
int chat_order_read(const char *json, size_t len, struct order *ret, struct buf *conversation,
		    struct err *err);

/* ---- chat.c ---- */
void chat_create(struct request *request);

/* ---- input.c ---- */
int input_write(const struct json_value *input, struct order *order, struct talk *talk,
		struct err *err);
/* The content of a message, of any of its forms: its text, images and files. */
int input_content(const struct json_value *content, struct order *order, struct talk *talk,
		  struct buf *text, struct err *err);

/* ---- items.c ---- */
/* ITEM_SEALED: reasoning of which no words are shown. */
enum item_kind { ITEM_NONE, ITEM_MESSAGE, ITEM_REASONING, ITEM_SEALED, ITEM_SHELL };

/* Of the call whose commands run. */
struct items_shell {
	char call_id[NAME_SIZE];
	uint64_t count, told; /* commands; those whose output is there */
	uint64_t output_max;  /* characters of each; 0: all */
	struct buf output;    /* of those, comma-separated JSON */
};

struct items {
	struct request *request;
	const struct order *order;
	const char *run, *session;
	bool is_stream;
	uint64_t sequence;
	unsigned count; /* items that are complete; the index of the open one */
	enum item_kind open;
	struct buf text;   /* of the open one */
	struct buf sealed; /* of the open one, when it is reasoning; or empty */
	struct buf code;   /* of the cell that runs */
	struct items_shell shell;
	struct buf output; /* complete ones, comma-separated JSON */
	struct buf kept;   /* the same for a conversation: with what cells printed */
	struct cites cites; /* that code left */
};
void items_init(struct items *items, struct request *request, const struct order *order,
		const struct run *run);
void items_done(struct items *items);
/* All of these: negative when there is nobody left to answer. */
int items_text(struct items *items, enum item_kind kind, const char *text, size_t len);
/* `sealed`: of RUN_SEALED. */
int items_sealed(struct items *items, const struct json_value *sealed);
int items_close(struct items *items);
int items_cell(struct items *items, const struct run_event *cell);
int items_record(struct items *items, const struct run_event *record);
int items_call(struct items *items, const struct json_value *call);
/* The event after this one is the last, and is sent whatever the client has. */
void items_end(struct items *items);
/* {"type", "sequence_number", …}: between the two, members. */
void items_event_begin(struct items *items, struct json_writer *json, struct buf *out,
		       const char *type);
int items_event_end(struct items *items, struct json_writer *json, const char *type);

/* ---- response.c ---- */
void response_create(struct request *request);

/* ---- containers.c ---- */
void containers_handle(struct request *request, const char *rest);

/* ---- files.c ---- */
#define OPENAI_FILE "file-" /* file_… of the tenant's files */
void files_handle(struct request *request, const char *rest);
/* Copies one into a session, where its path is. Negative: refused. */
int files_import_one(struct request *request, const char *id, const char *session, char *ret_path,
		     size_t size);

/* ---- files_named.c ---- */
#define OPENAI_PICTURE "file-i"
#define OPENAI_FILE_OF "file-a"
/* False: it is one of the tenant's. */
bool files_named_handle(struct request *request, const char *id, bool is_content);

/* ---- files.c ---- */
/* Copies files of the tenant into a session; their lines are appended to `ret`. Negative: refused. */
int files_import(struct request *request, const struct json_value *ids, const char *session,
		 struct buf *ret);

/* ---- openai.c ---- */
void models_handle(struct request *request, const char *rest);
void openai_refuse(struct request *request, const struct refusal *refusal);
void openai_answer(struct request *request, const struct buf *body);
void openai_answer_json(struct request *request, struct json_writer *json);
/* A value of somebody's JSON as a member. */
int openai_write_value(struct json_writer *writer, const char *key, const struct json_value *value,
		       struct err *err);
/* All of the body, when its key is good. */
int openai_body(struct request *request, struct buf *ret);
