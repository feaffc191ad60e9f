/*
 * editor.c - the text editor of code execution: cells of reckon-edit (src/tool/edit.c).
 *
 * Runs in:  reckon-front-anthropic and tests.
 * Reads:    code that the model may have written by hand, output of hostile programs.
 * Never:    shows more of an output than the members of Anthropic's blocks.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/anthropic/anthropic.h"

#define EDIT "/opt/reckon/bin/reckon-edit"
#define INPUT_MAX ((size_t)4 * 1024 * 1024)
#define LINES_MAX 100000u

/* The code around the arguments, for each language that the tool's cells have. */
static const struct way {
	enum anthropic_tool tool;
	const char *before, *after;
	bool is_quoted;
} ways[] = {
	{ ANTHROPIC_BASH, EDIT " <<'RECKON_EDIT'\n", "\nRECKON_EDIT\n", false },
	{ ANTHROPIC_PYTHON,
	  "__import__(\"subprocess\").run([\"" EDIT "\"], encoding=\"utf-8\", input=", ") and None",
	  true },
};

/* ---- the tool ------------------------------------------------------------------------------- */

static const char description[] =
	"Shows, creates and changes text files. view: a file, or some lines of it, or what is in a "
	"directory. create: a whole file, also in place of another. str_replace: replaces text that "
	"is in the file exactly once.";

static const char parameters[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"command\":{\"type\":\"string\",\"enum\":[\"view\",\"create\",\"str_replace\"]},"
	"\"path\":{\"type\":\"string\"},"
	"\"view_range\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},"
	"\"description\":\"view: first and last line, from 1; -1: to the end\"},"
	"\"file_text\":{\"type\":\"string\",\"description\":\"create: the whole text\"},"
	"\"old_str\":{\"type\":\"string\",\"description\":\"str_replace: what is replaced\"},"
	"\"new_str\":{\"type\":\"string\",\"description\":\"str_replace: what stands there then\"}},"
	"\"required\":[\"command\",\"path\"]}";

void editor_write_tool(const struct order *order, struct json_writer *writer)
{
	const struct way *way = order->tool == ANTHROPIC_BASH ? &ways[0] : &ways[1];

	if (!order->has_editor || order->tool == ANTHROPIC_NO_CODE)
		return;
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", ANTHROPIC_EDITOR_NAME);
	json_write_member_string(writer, "description", description);
	json_write_key(writer, "parameters");
	json_write_raw(writer, parameters, sizeof(parameters) - 1);
	json_write_key(writer, "cell");
	json_write_object_begin(writer);
	json_write_member_string(writer, "before", way->before);
	json_write_member_string(writer, "after", way->after);
	json_write_member_bool(writer, "quoted", way->is_quoted);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

/* ---- a call --------------------------------------------------------------------------------- */

/* Extracts the arguments from the code, as compact JSON. */
static bool take_input(const struct way *way, const char *json, size_t len, struct buf *ret)
{
	struct json_value *quoted = NULL;
	enum json_kind kind = JSON_KIND_NULL;
	struct err err;
	bool is_ours;

	if (!way->is_quoted)
		return json_read_compact(json, len, INPUT_MAX, ret, &kind, &err) == 0 &&
		       kind == JSON_KIND_OBJECT;
	/* json_read wants an object or array: wrap a single text in an array. */
	cleanup_buf struct buf array = BUF_INIT(INPUT_MAX);
	const char *text;

	if (buf_addc(&array, '[', &err) < 0 || buf_add(&array, json, len, &err) < 0 ||
	    buf_addc(&array, ']', &err) < 0 ||
	    json_read_parse(array.data, array.len, INPUT_MAX, &quoted, &err) < 0)
		return false;
	text = json_read_text(json_read_at(quoted, 0), &len);
	is_ours = text != NULL && json_read_count(quoted) == 1 &&
		  json_read_compact(text, len, INPUT_MAX, ret, &kind, &err) == 0 &&
		  kind == JSON_KIND_OBJECT;
	json_read_free(quoted);
	return is_ours;
}

bool editor_input(const char *code, size_t len, struct buf *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		const size_t before = strlen(ways[i].before), after = strlen(ways[i].after);

		if (len < before + after || memcmp(code, ways[i].before, before) != 0 ||
		    memcmp(code + len - after, ways[i].after, after) != 0)
			continue;
		buf_clear(ret);
		if (take_input(&ways[i], code + before, len - before - after, ret))
			return true;
	}
	return false;
}

/* ---- its result ----------------------------------------------------------------------------- */

static void write_count(struct json_writer *json, const struct json_value *result, const char *key)
{
	int64_t count = 0;

	if (json_read_int(json_read_member(result, key), &count) && count >= 0)
		json_write_member_uint(json, key, (uint64_t)count);
}

void editor_write_error(struct json_writer *json, const char *code, const char *message)
{
	json_write_member_string(json, "type", ANTHROPIC_EDITOR_NAME "_tool_result_error");
	json_write_member_string(json, "error_code", code);
	json_write_member_string(json, "error_message", message);
}

static void write_view(struct json_writer *json, const struct json_value *result, const char *text,
		       size_t len)
{
	json_write_member_string(json, "type", ANTHROPIC_EDITOR_NAME "_view_result");
	json_write_member_string(json, "file_type", "text");
	json_write_member_text(json, "content", text, len);
	write_count(json, result, "num_lines");
	write_count(json, result, "start_line");
	write_count(json, result, "total_lines");
}

static void write_create(struct json_writer *json, const struct json_value *result)
{
	bool is_update = false;

	(void)json_read_bool(json_read_member(result, "is_file_update"), &is_update);
	json_write_member_string(json, "type", ANTHROPIC_EDITOR_NAME "_create_result");
	json_write_member_bool(json, "is_file_update", is_update);
}

static void write_replaced(struct json_writer *json, const struct json_value *result)
{
	const struct json_value *lines = json_read_member(result, "lines");

	json_write_member_string(json, "type", ANTHROPIC_EDITOR_NAME "_str_replace_result");
	write_count(json, result, "old_start");
	write_count(json, result, "old_lines");
	write_count(json, result, "new_start");
	write_count(json, result, "new_lines");
	json_write_key(json, "lines");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(lines) && i < LINES_MAX; i++)
		json_write_string(json, json_read_text(json_read_at(lines, i), NULL));
	json_write_array_end(json);
}

/* Passes on Anthropic's error codes. Other text that code in the box printed is not a code. */
static void write_failure(struct json_writer *json, const struct json_value *result)
{
	static const char *const codes[] = { "file_not_found", "invalid_tool_input" };
	const char *code = json_get_str(result, "error_code");

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (strcmp(codes[i], code) == 0) {
			editor_write_error(json, codes[i], json_get_str(result, "error_message"));
			return;
		}
	editor_write_error(json, "unavailable", NULL);
}

void editor_write_result(struct json_writer *json, const struct json_value *record)
{
	size_t len = 0;
	const char *out = json_read_text(json_read_member(record, "stdout"), &len);
	const char *end = out != NULL ? memchr(out, '\n', len) : NULL;
	struct json_value *result = NULL;
	const char *type;
	struct err err;

	if (end == NULL ||
	    json_read_parse(out, (size_t)(end - out), INPUT_MAX, &result, &err) < 0) {
		editor_write_error(json, "unavailable", NULL);
		return;
	}
	type = json_get_str(result, "type");
	if (strcmp(type, "view") == 0)
		write_view(json, result, end + 1, len - (size_t)(end + 1 - out));
	else if (strcmp(type, "create") == 0)
		write_create(json, result);
	else if (strcmp(type, "str_replace") == 0)
		write_replaced(json, result);
	else
		write_failure(json, result);
	json_read_free(result);
}

/* ---- in a history --------------------------------------------------------------------------- */

int editor_text(const struct json_value *content, struct buf *ret, struct err *err)
{
	static const char *const keys[] = { "content", "error_code", "error_message" };
	const struct json_value *lines = json_read_member(content, "lines");
	bool is_update = false;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *text = json_read_text(json_read_member(content, keys[i]), &len);

		if (text != NULL && buf_add_line(ret, text, len, err) < 0)
			return (int)err->code;
	}
	for (size_t i = 0; i < json_read_count(lines); i++) {
		const char *text = json_read_text(json_read_at(lines, i), &len);

		if (text != NULL && buf_add_line(ret, text, len, err) < 0)
			return (int)err->code;
	}
	if (json_read_bool(json_read_member(content, "is_file_update"), &is_update))
		return buf_adds(ret, is_update ? "The file was replaced." : "The file was made.",
				err);
	return 0;
}
