/*
 * gemini.h - Gemini's API: generateContent with code execution, models, counting of tokens.
 *
 *   routes.c    maps paths to handlers
 *   gemini.c    answers, errors
 *   members.c   members of a client's JSON
 *   models.c    models, tokens
 *   order.c     parses a request of generateContent: its conversation and options
 *   tools.c     its tools, their schemas and the tool choice
 *   contents.c  converts its contents into messages of the conversation
 *   data.c      the parts that are files
 *   reply.c     converts a run into a response, whole or streamed
 *   parts.c     the parts of its content
 *   files.c     files of the tenant
 *   upload.c    uploads in pieces
 */
#pragma once

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/run.h"
#include "dialects/sealed.h"

#define GEMINI_BODY_MAX (32u * 1024u * 1024u)
#define GEMINI_CONVERSATION_MAX (15u * 1024u * 1024u)
#define GEMINI_OUT_MAX ((size_t)64 * 1024 * 1024)
#define GEMINI_FILES_MAX 32u
#define GEMINI_FILE_BYTES_MAX (6u * 1024u * 1024u) /* all files together */
#define GEMINI_CALLS_MAX 16u			   /* per turn of the model */
#define GEMINI_MODEL_SIZE 320u
#define GEMINI_JSON "application/json"
#define GEMINI_PIECE "gemini-upload" /* metadata of a piece: the id of its upload */
/* The language of Gemini's tool; also the name of a small template. */
#define GEMINI_CODE_LANGUAGE "python"
#define GEMINI_LANGUAGE_NAME "PYTHON" /* the name in Gemini's parts */

/* A call of the last turn, to match with its result. */
struct order_call {
	const char *id, *name;
	bool is_code, has_result;
};

/* A file of the tenant that a content refers to. */
struct order_stored {
	const char *id, *mime;
	const char *base64; /* NULL until loaded, and for a large file */
	bool is_large;	    /* it is copied into the workspace instead */
	const char *path;   /* path in the workspace; NULL: not needed yet */
};

/* A parsed request of generateContent. */
struct order {
	struct arena arena;
	struct json_value *body;
	struct buf conversation; /* reckon.conversation/1 */
	struct api_run_file files[GEMINI_FILES_MAX]; /* inline data of the contents */
	size_t file_count, file_bytes, image_bytes;
	struct order_stored stored[GEMINI_FILES_MAX];
	size_t stored_count;
	char session[ID_SIZE]; /* for large files; "": none needed */
	uint64_t session_frame; /* of the call that created it; its CANCEL ends the session */
	struct order_call calls[GEMINI_CALLS_MAX];
	size_t call_count;
	unsigned call_number;
	bool runs_code, shows_thoughts;
};

/* ---- order.c ---- */
/* No side effects. Finds the files in the request. ERR_INVALID with a message for the client. */
int order_read(const char *json, size_t len, struct order *ret, struct err *err);
/* Writes the conversation, after the files were loaded. */
int order_write(struct order *order, struct err *err);
void order_done(struct order *order);
#define cleanup_order __attribute__((cleanup(order_done)))

/* ---- members.c ---- */
/* A member by its camel case or snake case name: Gemini accepts both. */
const struct json_value *order_member(const struct json_value *object, const char *name);
const char *order_text(const struct json_value *object, const char *name);
bool order_has(const struct json_value *object, const char *name); /* a member that is an object */

/* ---- tools.c ---- */
/* Appends "tools", "code" and "tool_choice". */
int tools_write(const struct json_value *body, struct order *order, struct json_writer *writer,
		struct err *err);

/* Whether the tools include code execution. */
bool tools_run_code(const struct json_value *body);

/* ---- contents.c ---- */
/* Appends "messages" to an open object. */
int contents_write(const struct json_value *contents, struct order *order,
		   struct json_writer *writer, struct err *err);
/* The texts of a content's parts, joined. */
int contents_text(const struct json_value *content, struct buf *ret, struct err *err);

/* ---- data.c ---- */
/* Notes the files that the contents name. */
int data_stored(const struct json_value *contents, struct order *order, struct err *err);
/* If the request allows code, puts the data into the workspace; otherwise appends it to `text`. */
int data_take(const struct json_value *part, struct order *order, struct buf *text,
	      struct err *err);
/* If the part is an image, writes it as an array element. */
int data_write_image(const struct json_value *part, struct order *order, struct json_writer *writer,
		     struct err *err);

/* ---- parts.c ---- */
/* Sealed reasoning for the provider, until a part carries it. */
struct signatures {
	struct buf texts[GEMINI_CALLS_MAX];
	size_t first, count;
};
void signatures_done(struct signatures *signatures);
/* Negative: too many. */
int signatures_add(struct signatures *signatures, const struct json_value *sealed);
/* Append a part to `ret`, after a comma if needed. Negative: it does not fit. */
int parts_text(struct buf *ret, bool is_thought, const char *text, size_t len,
	       struct signatures *signatures);
int parts_cell(struct buf *ret, const struct run_event *cell, struct signatures *signatures);
int parts_record(struct buf *ret, const struct run_event *record);
int parts_calls(struct buf *ret, const struct json_value *answer, struct signatures *signatures);
/* Writes the signatures that no part has carried. */
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
/* The server's address as the client used it; "" if the Host is missing or invalid. */
void files_origin(const struct request *request, char *ret, size_t size);
void files_show(struct request *request, const char *id);
void files_list(struct request *request);
void files_delete(struct request *request, const char *id);
/* Reads the files that the contents refer to. Negative: one was refused, or the client is gone. */
int files_bring(struct request *request, struct order *order);
/* Copies large files into a session for this request. Negative: as above. */
int files_copy(struct request *request, struct order *order);

/* ---- gemini.c ---- */
void gemini_refuse(struct request *request, const struct refusal *refusal);
/* Writes {"error": …}. */
int gemini_write_error(struct buf *ret, unsigned status, const struct refusal *refusal);
void gemini_answer(struct request *request, struct json_writer *json);
const char *gemini_header(const struct request *request, const char *name); /* "": there is none */
