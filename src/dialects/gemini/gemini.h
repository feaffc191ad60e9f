/*
 * gemini.h - Gemini's API: generateContent with code execution, models, counting of tokens.
 *
 *   routes.c    which path is whose
 *   gemini.c    answers, errors
 *   members.c   members of what a client sent
 *   models.c    models, tokens
 *   order.c     a request of generateContent becomes an order: a conversation, and how it is answered
 *   tools.c     its tools, their schemas and which may be called
 *   contents.c  its contents become messages of the conversation
 *   data.c      the parts that are files
 *   reply.c     a run becomes a response, whole or as a stream
 *   parts.c     the parts of its content
 *   files.c     files of the tenant
 *   upload.c    they are uploaded, in pieces
 */
#pragma once

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/run.h"
#include "dialects/sealed.h"

#define GEMINI_BODY_MAX (32u * 1024u * 1024u)
#define GEMINI_TALK_MAX (15u * 1024u * 1024u)
#define GEMINI_OUT_MAX ((size_t)64 * 1024 * 1024)
#define GEMINI_FILES_MAX 32u
#define GEMINI_FILE_BYTES_MAX (6u * 1024u * 1024u) /* of all of them */
#define GEMINI_CALLS_MAX 16u			   /* of one turn of the model */
#define GEMINI_MODEL_SIZE 320u
#define GEMINI_JSON "application/json"
#define GEMINI_PIECE "gemini-upload" /* of the metadata of a piece: which upload it is of */
/* What its tool is defined to run; also the name of a small template. */
#define GEMINI_CODE_LANGUAGE "python"
#define GEMINI_LANGUAGE_NAME "PYTHON" /* as its parts say it */

/* A call of the turn that was read last, for the result that names it or does not. */
struct order_call {
	const char *id, *name;
	bool is_code, has_result;
};

/* A file of the tenant's that a content names. */
struct order_stored {
	const char *id, *mime;
	const char *base64; /* NULL until it is there, and of a large one */
	bool is_large;	    /* it is copied into the workspace */
	const char *path;   /* there; NULL: no part has needed it */
};

/* What is asked of generateContent. */
struct order {
	struct arena arena;
	struct json_value *body;
	struct buf conversation; /* reckon.conversation/1 */
	struct api_run_file files[GEMINI_FILES_MAX]; /* inline data of the contents */
	size_t file_count, file_bytes, image_bytes;
	struct order_stored stored[GEMINI_FILES_MAX];
	size_t stored_count;
	char session[ID_SIZE]; /* that has large files; "": none was needed */
	uint64_t session_frame; /* of the call that made it, whose CANCEL ends it */
	struct order_call calls[GEMINI_CALLS_MAX];
	size_t call_count;
	unsigned call_number;
	bool runs_code, shows_thoughts;
};

/* ---- order.c ---- */
/* Pure. Which files it names. ERR_INVALID in words for the client. */
int order_read(const char *json, size_t len, struct order *ret, struct err *err);
/* The conversation, once the files are there. */
int order_write(struct order *order, struct err *err);
void order_done(struct order *order);
#define cleanup_order __attribute__((cleanup(order_done)))

/* ---- members.c ---- */
/* A member by its name in camel case, or as it is in snake case: the vendor takes both. */
const struct json_value *order_member(const struct json_value *object, const char *name);
const char *order_text(const struct json_value *object, const char *name);
bool order_has(const struct json_value *object, const char *name); /* an object as a member */

/* ---- tools.c ---- */
/* Appends "tools", "code" and "tool_choice". */
int tools_write(const struct json_value *body, struct order *order, struct json_writer *writer,
		struct err *err);

/* Whether code execution is among them. */
bool tools_run_code(const struct json_value *body);

/* ---- contents.c ---- */
/* Appends "messages" to an object that was begun. */
int contents_write(const struct json_value *contents, struct order *order,
		   struct json_writer *writer, struct err *err);
/* The texts of a content's parts as one. */
int contents_text(const struct json_value *content, struct buf *ret, struct err *err);

/* ---- data.c ---- */
/* Appends, on a line of its own. */
/* Notes the files that the contents name. */
int data_stored(const struct json_value *contents, struct order *order, struct err *err);
/* With code it goes to the workspace; without, to `text`. */
int data_take(const struct json_value *part, struct order *order, struct buf *text,
	      struct err *err);
/* As one element of an array, when the part is an image. */
int data_write_image(const struct json_value *part, struct order *order, struct json_writer *writer,
		     struct err *err);

/* ---- parts.c ---- */
/* What the provider wants back of its thoughts, until there are parts to carry it. */
struct signatures {
	struct buf texts[GEMINI_CALLS_MAX];
	size_t first, count;
};
void signatures_done(struct signatures *signatures);
/* Negative: there are too many. */
int signatures_add(struct signatures *signatures, const struct json_value *sealed);
/* Parts are appended to `ret`, with a comma where there is one already. Negative: they do not fit. */
int parts_text(struct buf *ret, bool is_thought, const char *text, size_t len,
	       struct signatures *signatures);
int parts_cell(struct buf *ret, const struct run_event *cell, struct signatures *signatures);
int parts_record(struct buf *ret, const struct run_event *record);
int parts_calls(struct buf *ret, const struct json_value *answer, struct signatures *signatures);
/* Those that no part has carried. */
int parts_signatures(struct buf *ret, struct signatures *signatures);

/* ---- reply.c ---- */
enum gemini_form { GEMINI_WHOLE, GEMINI_EVENTS, GEMINI_ARRAY };
void reply_create(struct request *request, const char *model, enum gemini_form form);

/* ---- models.c ---- */
void models_list(struct request *request);
void models_show(struct request *request, const char *model);
void models_count_tokens(struct request *request);

/* ---- upload.c ---- */
void files_upload(struct request *request);

/* ---- files.c ---- */
void files_write(const struct request *request, struct json_writer *json,
		 const struct api_stored_file *file);
/* Where the client has reached us; "" when it says nothing that could be it. */
void files_origin(const struct request *request, char *ret, size_t size);
void files_show(struct request *request, const char *id);
void files_list(struct request *request);
void files_delete(struct request *request, const char *id);
/* Reads those that the contents name. Negative: one is refused, or the client is gone. */
int files_bring(struct request *request, struct order *order);
/* Copies the large ones into a session of the request's. Negative: as above. */
int files_copy(struct request *request, struct order *order);

/* ---- gemini.c ---- */
void gemini_refuse(struct request *request, const struct refusal *refusal);
/* {"error": …} */
int gemini_write_error(struct buf *ret, unsigned status, const struct refusal *refusal);
void gemini_answer(struct request *request, struct json_writer *json);
const char *gemini_header(const struct request *request, const char *name); /* "": there is none */
