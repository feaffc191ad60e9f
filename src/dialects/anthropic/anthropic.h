/*
 * anthropic.h - Anthropic's API: Messages with code execution, files that code wrote, models.
 *
 *   routes.c      maps paths to handlers
 *   anthropic.c   answers, errors, models, counting of tokens
 *   order.c       parses a request of Messages: its conversation and options
 *   history.c     converts its messages into the conversation's; history_text.c their text
 *   programmatic.c  calls of tools by code, over several requests
 *   message.c     converts a run into a message, whole or streamed
 *   envelope.c    the message's head and its end
 *   blocks.c      the blocks of its content
 *   cells.c       the blocks of a cell
 *   editor.c      the text editor, whose calls are cells
 *   files.c       files of the tenant, and artifacts that code wrote
 */
#pragma once

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/names.h"
#include "dialects/run.h"
#include "dialects/sealed.h"

#define ANTHROPIC_BODY_MAX (32u * 1024u * 1024u)
#define ANTHROPIC_CONVERSATION_MAX (15u * 1024u * 1024u)
#define ANTHROPIC_FILES_MAX 100u
#define ANTHROPIC_LENT_MAX 64u
#define ANTHROPIC_JSON "application/json"
#define ANTHROPIC_CONTAINER "container_"
#define ANTHROPIC_NO_THREADS "thread_unsupported_request" /* then SDKs send all messages */
#define ANTHROPIC_FILE "file_"
#define ANTHROPIC_EDITOR_NAME "text_editor_code_execution"
/* Languages of Anthropic's tools; the first is also the name of a small template. */
#define ANTHROPIC_CODE_LANGUAGE "python"
#define ANTHROPIC_SHELL_LANGUAGE "bash"

/* The tool that cells are shown as. */
enum anthropic_tool {
	ANTHROPIC_NO_CODE,
	ANTHROPIC_PYTHON, /* code_execution */
	ANTHROPIC_BASH,	  /* bash_code_execution */
	ANTHROPIC_EDITOR, /* text_editor_code_execution: for single cells, not for a container */
};

/* A file of the tenant that a message puts into the container. */
struct order_upload {
	const char *file; /* its id */
	const char *path; /* in the workspace, once it is there */
	bool is_new;	  /* in the last message: copy it again, even if an earlier one did */
};

/* Position in a run's events at which its code waits. */
struct programmatic_place {
	uint64_t turn; /* the model's answer that wrote the code */
	uint64_t last; /* the last event that the client has seen */
};

/* A parsed request of Messages. */
struct order {
	struct arena arena;
	struct json_value *body;
	struct order_upload uploads[ANTHROPIC_FILES_MAX];
	size_t upload_count;
	const char *model;
	struct buf conversation; /* reckon.conversation/1 */
	struct api_run_file files[ANTHROPIC_FILES_MAX]; /* documents of the messages */
	size_t file_count;
	enum anthropic_tool tool;
	bool has_editor; /* the request's tool version includes the editor */
	const char *container; /* the client's id; NULL: a new container */
	char session[ID_SIZE];
	bool is_stream, shows_thoughts;
	bool wants_thread; /* the client omits messages that a stateful server would know */
	const char *caller; /* tool type that calls by code name as their caller */
	struct api_tool lent[ANTHROPIC_LENT_MAX]; /* callable by code */
	size_t lent_count;
	/* code that waits for tool results, which the last message has */
	bool is_waiting;
	const char *waiting_cell; /* the client's id of the cell */
	char run[ID_SIZE], execution[ID_SIZE]; /* "": not an id of ours */
	struct programmatic_place place;
	struct api_tool_result answers[ANTHROPIC_LENT_MAX];
	size_t answer_count;
};

/* ---- order.c ---- */
/* No side effects. Parses everything except the conversation. ERR_INVALID with a message for the
 * client. */
int order_read(const char *json, size_t len, struct order *ret, struct err *err);
/* Writes the conversation, which says where the uploads are. */
int order_write(struct order *order, struct err *err);
void order_done(struct order *order);
#define cleanup_order __attribute__((cleanup(order_done)))

/* ---- history.c ---- */
/* Appends "messages" to an open object. */
int history_write(const struct json_value *messages, struct order *order,
		  struct json_writer *writer, struct err *err);
/* Records the files that the messages put into the container. */
int history_uploads(const struct json_value *messages, struct order *order, struct err *err);

/* ---- history_text.c ---- */
/* Joins a text, or blocks of text, into one text. */
int history_text(const struct json_value *content, struct buf *ret, struct err *err);

/* ---- editor.c ---- */
/* Appends the editor to a conversation's tools, if the request has it. */
void editor_write_tool(const struct order *order, struct json_writer *writer);
/* Whether a cell is an editor call; then `ret` is its input. */
bool editor_input(const char *code, size_t len, struct buf *ret);
/* Writes members of a result's content. */
void editor_write_result(struct json_writer *json, const struct json_value *record);
void editor_write_error(struct json_writer *json, const char *code, const char *message);
/* The content of a result as text for the model. */
int editor_text(const struct json_value *content, struct buf *ret, struct err *err);

/* ---- programmatic.c ---- */
/* Who may call an application's tool: the model, its code. */
void programmatic_callers(const struct json_value *tool, bool *ret_direct, bool *ret_code);
/* Records the tools that code may call. */
int programmatic_tools(const struct json_value *tools, struct order *order, struct err *err);
/* Records the last message's results for waiting code. */
int programmatic_answers(const struct json_value *messages, struct order *order, struct err *err);
/* Whether a block is a call by code; whether a result answers such a call in `before`. */
bool programmatic_is_call(const struct json_value *block);
bool programmatic_is_answer(const struct json_value *before, const struct json_value *result);
bool programmatic_id(const char *run, const struct programmatic_place *place, const char *call,
		     char ret[NAME_SIZE]);
/* Writes what the model is told instead of an output. */
void programmatic_write_lost(const struct order *order, struct json_writer *writer);

/* ---- message.c ---- */
void message_create(struct request *request);

/* ---- blocks.c ---- */
enum block_kind { BLOCK_NONE, BLOCK_TEXT, BLOCK_THINKING };

/* The content of a message under construction. */
struct blocks {
	struct request *request;
	bool is_stream;
	enum block_kind open;
	unsigned count;
	struct buf text;    /* of the open block */
	struct buf signature; /* of the open block, if it is thinking */
	struct buf content; /* all blocks as comma-separated JSON, if the message is not streamed */
};
void blocks_init(struct blocks *blocks, struct request *request, bool is_stream);
void blocks_done(struct blocks *blocks);
/* These functions are negative if the client is gone, or memory is exhausted. */
int blocks_text(struct blocks *blocks, enum block_kind kind, const char *text, size_t len);
int blocks_close(struct blocks *blocks);
/* Adds sealed reasoning: as the signature of the open block, or as a separate block. */
int blocks_sealed(struct blocks *blocks, const struct json_value *sealed);
/* A complete block; a stream sends its `input` as one delta. */
struct block_call {
	const char *type, *id, *name;
	const char *input; /* an object */
	size_t len;
	const char *caller, *cell; /* for a call by code: the tool's type, the cell; else NULL */
};
int blocks_call(struct blocks *blocks, const struct block_call *call);
int blocks_whole(struct blocks *blocks, const struct buf *json);
int blocks_give_up(const struct blocks *blocks);

/* ---- cells.c ---- */
/* Writes both blocks of a cell, as a call of its tool or of the editor. */
int blocks_cell(struct blocks *blocks, enum anthropic_tool tool, const struct run_event *cell,
		enum anthropic_tool *ret_shown);
int blocks_record(struct blocks *blocks, enum anthropic_tool shown, const struct run_event *record);
/* Writes the result block of a cell that is lost. */
int blocks_lost(struct blocks *blocks, enum anthropic_tool tool, const char *cell);

/* ---- files.c ---- */
void files_show(struct request *request, const char *id);
void files_content(struct request *request, const char *id);
void files_list(struct request *request);
void files_create(struct request *request);
void files_delete(struct request *request, const char *id);

/* ---- anthropic.c ---- */
void anthropic_models(struct request *request, const char *rest);
void anthropic_count_tokens(struct request *request);
void anthropic_refuse(struct request *request, const struct refusal *refusal);
const char *anthropic_error_type(unsigned status);
/* Writes "request-id: …" and other headers of every answer. */
void anthropic_headers(const struct request *request, char *ret, size_t size);
/* Writes headers with the limit of concurrent messages, and how many are left. */
void anthropic_limit_headers(const struct run *run, char *ret, size_t size);
void anthropic_answer(struct request *request, const struct buf *body);
