/*
 * anthropic.h - Anthropic's API: Messages with code execution, files that code left, models.
 *
 *   routes.c      which path is whose
 *   anthropic.c   answers, errors, models, counting of tokens
 *   order.c       a request of Messages becomes an order: a conversation, and how it is answered
 *   history.c     its messages become those of the conversation; history_text.c what they say
 *   programmatic.c  tools that code calls, over several requests
 *   message.c     a run becomes a message, whole or as a stream
 *   envelope.c    its head and its end
 *   blocks.c      the blocks of its content
 *   cells.c       those of a cell
 *   editor.c      the text editor, whose calls are cells
 *   files.c       files of the tenant, and those that code left, by ids that name artifacts
 */
#pragma once

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/names.h"
#include "dialects/run.h"
#include "dialects/sealed.h"

#define ANTHROPIC_BODY_MAX (32u * 1024u * 1024u)
#define ANTHROPIC_TALK_MAX (15u * 1024u * 1024u)
#define ANTHROPIC_FILES_MAX 100u
#define ANTHROPIC_LENT_MAX 64u
#define ANTHROPIC_JSON "application/json"
#define ANTHROPIC_CONTAINER "container_"
#define ANTHROPIC_NO_THREADS "thread_unsupported_request" /* as SDKs know it, which go on without */
#define ANTHROPIC_FILE "file_"
#define ANTHROPIC_EDITOR_NAME "text_editor_code_execution"
/* What its tools are defined to run; the first is also the name of a small template. */
#define ANTHROPIC_CODE_LANGUAGE "python"
#define ANTHROPIC_SHELL_LANGUAGE "bash"

/* How cells are shown. */
enum anthropic_tool {
	ANTHROPIC_NO_CODE,
	ANTHROPIC_PYTHON, /* code_execution */
	ANTHROPIC_BASH,	  /* bash_code_execution */
	ANTHROPIC_EDITOR, /* text_editor_code_execution: a cell of either, never of a container */
};

/* A file of the tenant's that a message puts into the container. */
struct order_upload {
	const char *file; /* its id */
	const char *path; /* in the workspace, when it is there */
	bool is_new;	  /* the last message brings it: it goes there also when earlier ones did */
};

/* Where in the events of a run its code waits. */
struct programmatic_place {
	uint64_t turn; /* the answer of the model that wrote the code */
	uint64_t last; /* that the client was told of */
};

/* What is asked of Messages. */
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
	bool has_editor; /* this version of the tool comes with it */
	const char *container; /* as the client says it; NULL: a new one */
	char session[ID_SIZE];
	bool is_stream, shows_thoughts;
	bool wants_thread; /* it leaves out what a server would know */
	const char *caller; /* what its code is called, which calls tools */
	struct api_tool lent[ANTHROPIC_LENT_MAX]; /* to code */
	size_t lent_count;
	/* of code that waits for tools, which the last message answers */
	bool is_waiting;
	const char *waiting_cell; /* as the client knows it */
	char run[ID_SIZE], execution[ID_SIZE]; /* "": none of ours */
	struct programmatic_place place;
	struct api_tool_result answers[ANTHROPIC_LENT_MAX];
	size_t answer_count;
};

/* ---- order.c ---- */
/* Pure. Everything but the conversation. ERR_INVALID in words for the client. */
int order_read(const char *json, size_t len, struct order *ret, struct err *err);
/* The conversation, which tells where the uploads are. */
int order_write(struct order *order, struct err *err);
void order_done(struct order *order);
#define cleanup_order __attribute__((cleanup(order_done)))

/* ---- history.c ---- */
/* Appends "messages" to an object that was begun. */
int history_write(const struct json_value *messages, struct order *order,
		  struct json_writer *writer, struct err *err);
/* Notes what the messages put into the container. */
int history_uploads(const struct json_value *messages, struct order *order, struct err *err);

/* ---- history_text.c ---- */
/* Text, or blocks of text, as one text. */
int history_text(const struct json_value *content, struct buf *ret, struct err *err);
/* Appends, on a line of its own. */

/* ---- editor.c ---- */
/* Appends it to the tools of a conversation, where the order has it. */
void editor_write_tool(const struct order *order, struct json_writer *writer);
/* Whether a cell is a call of it; then `ret` is its input. */
bool editor_input(const char *code, size_t len, struct buf *ret);
/* Members of the content of a result. */
void editor_write_result(struct json_writer *json, const struct json_value *record);
void editor_write_error(struct json_writer *json, const char *code, const char *message);
/* The content of a result, as the model is told of it. */
int editor_text(const struct json_value *content, struct buf *ret, struct err *err);

/* ---- programmatic.c ---- */
/* Who may call a tool of the application's: the model, its code. */
void programmatic_callers(const struct json_value *tool, bool *ret_direct, bool *ret_code);
/* Notes the tools that code may call. */
int programmatic_tools(const struct json_value *tools, struct order *order, struct err *err);
/* Notes what the last message answers to code that waits. */
int programmatic_answers(const struct json_value *messages, struct order *order, struct err *err);
/* Whether a block is a call by code; whether a result answers one of those that stand before. */
bool programmatic_is_call(const struct json_value *block);
bool programmatic_is_answer(const struct json_value *before, const struct json_value *result);
bool programmatic_id(const char *run, const struct programmatic_place *place, const char *call,
		     char ret[NAME_SIZE]);
/* What the model is told instead of an output. */
void programmatic_write_lost(const struct order *order, struct json_writer *writer);

/* ---- message.c ---- */
void message_create(struct request *request);

/* ---- blocks.c ---- */
enum block_kind { BLOCK_NONE, BLOCK_TEXT, BLOCK_THINKING };

/* The content of a message, as it grows. */
struct blocks {
	struct request *request;
	bool is_stream;
	enum block_kind open;
	unsigned count;
	struct buf text;    /* of the open block */
	struct buf signature; /* of the open block, when it is a thought */
	struct buf content; /* all blocks, comma-separated JSON: of a message that is not a stream */
};
void blocks_init(struct blocks *blocks, struct request *request, bool is_stream);
void blocks_done(struct blocks *blocks);
/* All of these: negative when there is nobody left to answer, or no memory for it. */
int blocks_text(struct blocks *blocks, enum block_kind kind, const char *text, size_t len);
int blocks_close(struct blocks *blocks);
/* What the provider wants back of its thoughts: the signature of the open one, or a block of its own. */
int blocks_sealed(struct blocks *blocks, const struct json_value *sealed);
/* A block that comes as a whole; its `input` in a stream as one delta. */
struct block_call {
	const char *type, *id, *name;
	const char *input; /* an object */
	size_t len;
	const char *caller, *cell; /* of a call by code: the tool's type, the cell; NULL: the model */
};
int blocks_call(struct blocks *blocks, const struct block_call *call);
int blocks_whole(struct blocks *blocks, const struct buf *json);
int blocks_give_up(const struct blocks *blocks);

/* ---- cells.c ---- */
/* The two of a cell, which is shown as a call of its tool, or of the editor. */
int blocks_cell(struct blocks *blocks, enum anthropic_tool tool, const struct run_event *cell,
		enum anthropic_tool *ret_shown);
int blocks_record(struct blocks *blocks, enum anthropic_tool shown, const struct run_event *record);
/* The one of a cell that is gone. */
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
/* "request-id: …" and what else each answer has. */
void anthropic_headers(const struct request *request, char *ret, size_t size);
/* How many messages may be answered at once, and how many more there may be now. */
void anthropic_limit_headers(const struct run *run, char *ret, size_t size);
void anthropic_answer(struct request *request, const struct buf *body);
