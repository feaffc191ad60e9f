/*
 * history.c - converts a request's messages into those of a conversation.
 *
 * Runs in:  reckon-front-anthropic and tests.
 * Reads:    messages of any client, which include earlier answers of ours.
 * Never:    runs code again that a message reports as run.
 *
 * One message of the assistant has its calls, our results and its text in their order; in a
 * conversation each turn of the model is a message, with results in between.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "dialects/anthropic/anthropic.h"

#define FILE_BYTES_MAX (6u * 1024u * 1024u)

static const char *type_of(const struct json_value *block)
{
	const char *type = json_read_text(json_read_member(block, "type"), NULL);

	return type != NULL ? type : "";
}

static bool is(const struct json_value *block, const char *type)
{
	return strcmp(type_of(block), type) == 0;
}

/* ---- images and documents ------------------------------------------------------------------- */

static int write_image(const struct json_value *block, struct json_writer *writer, struct err *err)
{
	const struct json_value *source = json_read_member(block, "source");
	const char *media = json_get_text(source, "media_type");
	size_t len;
	const char *data = json_read_text(json_read_member(source, "data"), &len);

	if (!is(source, "base64") || media == NULL || data == NULL)
		return err_set(err, ERR_INVALID, "image: only a source of type base64 is taken");
	json_write_object_begin(writer);
	json_write_member_string(writer, "mime", media);
	json_write_member_text(writer, "base64", data, len);
	json_write_object_end(writer);
	return 0;
}

/* Writes all images of the blocks, inside results or outside. */
static int write_images(const struct json_value *content, struct json_writer *writer,
			struct err *err)
{
	for (size_t i = 0; i < json_read_count(content); i++)
		if (is(json_read_at(content, i), "image") &&
		    write_image(json_read_at(content, i), writer, err) < 0)
			return (int)err->code;
	return 0;
}

/* A file name for the workspace: the valid part of the title. */
static const char *path_of(struct order *order, const char *title, const char *media)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "._- ";
	char path[128];
	size_t len = 0;

	for (; title != NULL && title[len] != '\0' && len < 100; len++)
		path[len] = strchr(good, title[len]) != NULL ? title[len] : '_';
	path[len] = '\0';
	if (len == 0 || path[0] == '.')
		(void)snprintf(path, sizeof(path), "document-%zu%s", order->file_count + 1,
			       media != NULL && strcmp(media, "application/pdf") == 0 ? ".pdf"
										      : "");
	return arena_text(&order->arena, path, strlen(path));
}

/* Adds text to the message; puts other documents into the workspace, where code can read them. */
static int take_document(const struct json_value *block, struct order *order, struct buf *text,
			 struct err *err)
{
	const struct json_value *source = json_read_member(block, "source");
	const char *title = json_get_text(block, "title");
	struct api_run_file *file = &order->files[order->file_count];
	cleanup_buf struct buf bytes = BUF_INIT(FILE_BYTES_MAX);
	size_t len;
	const char *data = json_read_text(json_read_member(source, "data"), &len);

	if (is(source, "content"))
		return history_text(json_read_member(source, "content"), text, err);
	if (data == NULL || (!is(source, "text") && !is(source, "base64")))
		return err_set(err, ERR_INVALID, "document: a source of this type is not taken");
	if (is(source, "text")) {
		if (title != NULL && buf_add_line(text, title, strlen(title), err) < 0)
			return (int)err->code;
		return buf_add_line(text, data, len, err);
	}
	if (order->file_count == ANTHROPIC_FILES_MAX || len > FILE_BYTES_MAX / 3 * 4)
		return err_set(err, ERR_INVALID, "document: there are at most %u, each of at most %u "
			       "bytes", ANTHROPIC_FILES_MAX, FILE_BYTES_MAX);
	if (base64_decode(data, len, &bytes, err) < 0)
		return err_set(err, ERR_INVALID, "document: data is not base64");
	file->path = path_of(order, title, json_get_text(source, "media_type"));
	file->base64 = (struct api_bytes){
		arena_text(&order->arena, buf_text(&bytes), bytes.len), bytes.len
	};
	order->file_count++;
	return 0;
}

/* The id of a tenant's file that goes into the container; NULL: the block names none. */
static const char *upload_of(const struct json_value *block)
{
	const struct json_value *source = json_read_member(block, "source");

	if (is(block, "container_upload"))
		return json_get_text(block, "file_id") != NULL ? json_get_text(block, "file_id")
							       : "";
	if (!is(block, "document") || !is(source, "file"))
		return NULL;
	return json_get_text(source, "file_id") != NULL ? json_get_text(source, "file_id") : "";
}

int history_uploads(const struct json_value *messages, struct order *order, struct err *err)
{
	const size_t count = json_read_count(messages);

	for (size_t i = 0; i < count; i++) {
		const struct json_value *content =
			json_read_member(json_read_at(messages, i), "content");

		for (size_t k = 0; k < json_read_count(content); k++) {
			const struct json_value *block = json_read_at(content, k);
			const char *file = upload_of(block);

			if (file == NULL)
				continue;
			if (file[0] == '\0' || order->upload_count == ANTHROPIC_FILES_MAX)
				return err_set(err, ERR_INVALID, "messages.%zu: such a block "
					       "has a file_id, and there are at most %u", i,
					       ANTHROPIC_FILES_MAX);
			order->uploads[order->upload_count++] =
				(struct order_upload){ .file = file, .is_new = i + 1 == count };
		}
	}
	return 0;
}

static const char *path_of_upload(const struct order *order, const struct json_value *block)
{
	const char *file = upload_of(block);

	for (size_t i = 0; file != NULL && i < order->upload_count; i++)
		if (strcmp(order->uploads[i].file, file) == 0 && order->uploads[i].path != NULL)
			return order->uploads[i].path;
	return NULL;
}

/* ---- results -------------------------------------------------------------------------------- */

static bool is_result(const struct json_value *block)
{
	const char *type = type_of(block);
	const size_t len = strlen(type);

	return len >= 11 && strcmp(type + len - 11, "tool_result") == 0;
}

/* A cell's result as text for the model. */
static int cell_text(const struct json_value *content, struct buf *ret, struct err *err)
{
	static const char *const keys[] = { "stdout", "stderr", "error_code" };
	int64_t code = 0;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *text = json_read_text(json_read_member(content, keys[i]), &len);

		if (text != NULL && len > 0 && buf_add_line(ret, text, len, err) < 0)
			return (int)err->code;
	}
	if (json_read_int(json_read_member(content, "return_code"), &code) && code != 0)
		return buf_addf(ret, err, "\n[exit status %lld]", (long long)code);
	return 0;
}

static int write_result(const struct json_value *block, struct json_writer *writer,
			struct err *err)
{
	const struct json_value *content = json_read_member(block, "content");
	cleanup_buf struct buf text = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	const char *id = json_get_text(block, "tool_use_id");
	bool failed = false;

	if (id == NULL)
		return err_set(err, ERR_INVALID, "%.60s: tool_use_id: Field required",
			       type_of(block));
	(void)json_read_bool(json_read_member(block, "is_error"), &failed);
	if (is(block, ANTHROPIC_EDITOR_NAME "_tool_result") ? editor_text(content, &text, err) < 0
	    : !is(block, "tool_result")	? cell_text(content, &text, err) < 0
	    : json_read_kind(content) != JSON_KIND_NULL && history_text(content, &text, err) < 0)
		return (int)err->code;
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", id);
	json_write_member_text(writer, "text", buf_text(&text), text.len);
	if (failed)
		json_write_member_bool(writer, "failed", true);
	json_write_object_end(writer);
	return 0;
}

/* Writes the results in blocks[from, to) as one message, except those for calls by code (in
 * `before`). */
static int write_results(const struct json_value *content, size_t from, size_t to,
			 const struct json_value *before, struct json_writer *writer,
			 struct err *err)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "tool");
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++)
		if (is_result(json_read_at(content, i)) &&
		    !programmatic_is_answer(before, json_read_at(content, i)) &&
		    write_result(json_read_at(content, i), writer, err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	json_write_key(writer, "images");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++)
		if (is(json_read_at(content, i), "tool_result") &&
		    write_images(json_read_member(json_read_at(content, i), "content"), writer,
				 err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	json_write_object_end(writer);
	return 0;
}

/* ---- of the user ---------------------------------------------------------------------------- */

/* Takes its text and its documents. */
static int take_blocks(const struct json_value *content, struct order *order, struct buf *text,
		       bool *ret_any, struct err *err)
{
	for (size_t i = 0; i < json_read_count(content); i++) {
		const struct json_value *block = json_read_at(content, i);
		size_t len;
		const char *words = json_read_text(json_read_member(block, "text"), &len);
		int rc = 0;

		if (is_result(block))
			continue;
		*ret_any = true;
		if (is(block, "text") && words != NULL)
			rc = buf_add_line(text, words, len, err);
		else if (upload_of(block) != NULL && order->tool != ANTHROPIC_NO_CODE)
			rc = 0; /* it is already in the container */
		else if (is(block, "document"))
			rc = take_document(block, order, text, err);
		else if (!is(block, "image") && !is(block, "container_upload"))
			rc = err_set(err, ERR_INVALID, "content: a block of type '%.60s' is not "
				     "supported here", type_of(block));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int write_user(const struct json_value *content, const char *role,
		      const struct json_value *before, struct order *order,
		      struct json_writer *writer, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	const size_t count = json_read_count(content), first = order->file_count;
	bool any = json_read_kind(content) == JSON_KIND_STRING, has_results = false;

	for (size_t i = 0; i < count; i++)
		has_results =
			has_results || (is_result(json_read_at(content, i)) &&
					!programmatic_is_answer(before, json_read_at(content, i)));
	if (has_results && write_results(content, 0, count, before, writer, err) < 0)
		return (int)err->code;
	if (any ? history_text(content, &text, err) < 0
		: take_blocks(content, order, &text, &any, err) < 0)
		return (int)err->code;
	if (!any)
		return 0;
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", role);
	json_write_member_text(writer, "text", buf_text(&text), text.len);
	json_write_key(writer, "images");
	json_write_array_begin(writer);
	if (write_images(content, writer, err) < 0)
		return (int)err->code;
	json_write_array_end(writer);
	json_write_key(writer, "files");
	json_write_array_begin(writer);
	for (size_t i = first; i < order->file_count; i++)
		json_write_string(writer, order->files[i].path);
	for (size_t i = 0; i < count; i++) {
		const struct json_value *block = json_read_at(content, i);

		if (path_of_upload(order, block) != NULL)
			json_write_string(writer, path_of_upload(order, block));
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
	return 0;
}

/* ---- of the assistant ----------------------------------------------------------------------- */

static bool is_editor(const struct json_value *block)
{
	const char *name = json_get_text(block, "name");

	return name != NULL && strcmp(name, ANTHROPIC_EDITOR_NAME) == 0;
}

/* Our tools have one argument, whatever the client's name for it; only the editor has more. */
static int write_input(const struct json_value *block, struct json_writer *writer, struct err *err)
{
	const struct json_value *input = json_read_member(block, "input");
	cleanup_buf struct buf json = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	size_t len;
	const char *code = json_read_text(json_read_member(input, "code"), &len);

	if (code == NULL)
		code = json_read_text(json_read_member(input, "command"), &len);
	json_write_key(writer, "arguments");
	if (is(block, "server_tool_use") && !is_editor(block) && code != NULL) {
		json_write_object_begin(writer);
		json_write_member_text(writer, "code", code, len);
		json_write_object_end(writer);
		return 0;
	}
	if (json_read_kind(input) != JSON_KIND_OBJECT || json_read_dump(input, &json, err) < 0)
		return err_set(err, ERR_INVALID, "%.60s: input: Field required", type_of(block));
	json_write_raw(writer, buf_text(&json), json.len);
	return 0;
}

static int write_call(const struct json_value *block, struct json_writer *writer, struct err *err)
{
	const char *id = json_get_text(block, "id"), *name = json_get_text(block, "name");

	if (id == NULL || name == NULL)
		return err_set(err, ERR_INVALID, "%.60s: id and name are required", type_of(block));
	if (is(block, "server_tool_use") && !is_editor(block))
		name = strcmp(name, "code_execution") == 0 ? ANTHROPIC_CODE_LANGUAGE
							   : ANTHROPIC_SHELL_LANGUAGE;
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", id);
	json_write_member_string(writer, "name", name);
	if (write_input(block, writer, err) < 0)
		return (int)err->code;
	json_write_object_end(writer);
	return 0;
}

static bool is_call(const struct json_value *block)
{
	return (is(block, "tool_use") && !programmatic_is_call(block)) ||
	       is(block, "server_tool_use");
}

/* Writes the reasoning that goes back to its provider. */
static void write_thoughts(const struct json_value *content, size_t from, size_t to,
			   struct json_writer *writer)
{
	json_write_key(writer, "sealed");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++) {
		const struct json_value *block = json_read_at(content, i);
		const char *key = is(block, "thinking") ? "signature" : "data";
		size_t len;
		const char *text = json_read_text(json_read_member(block, key), &len);

		if (text != NULL && (is(block, "thinking") || is(block, "redacted_thinking")))
			(void)sealed_write(text, len, writer);
	}
	json_write_array_end(writer);
}

/* Writes one turn of the model: blocks[from, to). */
static int write_turn(const struct json_value *content, size_t from, size_t to,
		      struct json_writer *writer, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	bool has_calls = false;

	for (size_t i = from; i < to; i++) {
		const struct json_value *block = json_read_at(content, i);
		size_t len;
		const char *words = json_read_text(json_read_member(block, "text"), &len);

		has_calls = has_calls || is_call(block);
		if (is(block, "text") && words != NULL && buf_add_line(&text, words, len, err) < 0)
			return (int)err->code;
	}
	if (text.len == 0 && !has_calls)
		return 0;
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "assistant");
	json_write_member_text(writer, "text", buf_text(&text), text.len);
	json_write_key(writer, "calls");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++)
		if (is_call(json_read_at(content, i)) &&
		    write_call(json_read_at(content, i), writer, err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	write_thoughts(content, from, to, writer);
	json_write_object_end(writer);
	return 0;
}

static int write_assistant(const struct json_value *content, struct json_writer *writer,
			   struct err *err)
{
	const size_t count = json_read_count(content);
	size_t from = 0, at = 0;
	size_t len;
	const char *text = json_read_text(content, &len);

	if (text != NULL) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "role", "assistant");
		json_write_member_text(writer, "text", text, len);
		json_write_object_end(writer);
		return 0;
	}
	while (at < count) {
		for (from = at; at < count && !is_result(json_read_at(content, at)); at++)
			;
		if (at > from && write_turn(content, from, at, writer, err) < 0)
			return (int)err->code;
		for (from = at; at < count && is_result(json_read_at(content, at)); at++)
			;
		if (at > from && write_results(content, from, at, NULL, writer, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int write_message(const struct json_value *messages, size_t at, struct order *order,
			 struct json_writer *writer, struct err *err)
{
	const struct json_value *message = json_read_at(messages, at);
	const struct json_value *before =
		at > 0 ? json_read_member(json_read_at(messages, at - 1), "content") : NULL;
	const bool is_last = at + 1 == json_read_count(messages);
	const struct json_value *content = json_read_member(message, "content");
	const char *role = json_get_text(message, "role");

	if (role == NULL || (json_read_kind(content) != JSON_KIND_STRING &&
			     json_read_kind(content) != JSON_KIND_ARRAY))
		return err_set(err, ERR_INVALID, "role and content are required");
	if (strcmp(role, "user") == 0 || strcmp(role, "system") == 0)
		return write_user(content, role, before, order, writer, err);
	if (strcmp(role, "assistant") != 0)
		return err_set(err, ERR_INVALID, "role is user, assistant or system");
	/* A paused message can continue; a beginning that the client wrote cannot. */
	if (is_last && !is_result(json_read_at(content, json_read_count(content) - 1)))
		return err_set(err, ERR_INVALID,
			       "the conversation ends with a user message, or with "
			       "what a tool gave: an answer that is begun cannot be gone on with");
	return write_assistant(content, writer, err);
}

int history_write(const struct json_value *messages, struct order *order,
		  struct json_writer *writer, struct err *err)
{
	const size_t count = json_read_count(messages);

	json_write_key(writer, "messages");
	json_write_array_begin(writer);
	for (size_t i = 0; i < count; i++)
		if (write_message(messages, i, order, writer, err) < 0)
			return err_wrap(err, "messages.%zu", i);
	programmatic_write_lost(order, writer);
	json_write_array_end(writer);
	return 0;
}
