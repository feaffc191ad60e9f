/*
 * tool_cell.c - tools that code in the session answers: parses and writes them, and makes cells of
 * calls.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    untrusted documents, arguments of a model.
 * Never:    inserts arguments into the code except as one JSON value.
 */
#include "agent/conversation/tool_cell.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

static char *copy_text(const struct json_value *cell, const char *key)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(cell, key), &len);

	return text == NULL || strlen(text) != len ? NULL : mem_strdup(text);
}

int tool_cell_read(const struct json_value *tool, struct model_tool *ret, struct err *err)
{
	const struct json_value *cell = json_read_member(tool, "cell");

	if (json_read_kind(cell) == JSON_KIND_NULL)
		return 0;
	ret->kind = MODEL_TOOL_CELL;
	ret->before = copy_text(cell, "before");
	ret->after = copy_text(cell, "after");
	ret->is_quoted = false;
	(void)json_read_bool(json_read_member(cell, "quoted"), &ret->is_quoted);
	if (ret->before == NULL || ret->after == NULL)
		return err_set(err, ERR_INVALID, "\"cell\" has the texts before and after");
	return 0;
}

void tool_cell_write(const struct model_tool *tool, struct json_writer *writer)
{
	json_write_key(writer, "cell");
	json_write_object_begin(writer);
	json_write_member_string(writer, "before", tool->before);
	json_write_member_string(writer, "after", tool->after);
	json_write_member_bool(writer, "quoted", tool->is_quoted);
	json_write_object_end(writer);
}

int tool_cell_code(const struct model_tool *tool, const struct buf *args, struct buf *ret,
		   struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(MODEL_ARGS_MAX * 2);
	struct json_writer writer;
	enum json_kind kind;

	/* The compact form has no newlines. */
	if (json_read_compact(buf_text(args), args->len, MODEL_ARGS_MAX, &json, &kind, err) < 0 ||
	    buf_adds(ret, tool->before, err) < 0)
		return (int)err->code;
	if (tool->is_quoted) {
		json_write_init(&writer, ret);
		json_write_text(&writer, buf_text(&json), json.len);
		if (json_write_finish(&writer, err) < 0)
			return (int)err->code;
	} else if (buf_add(ret, json.data, json.len, err) < 0) {
		return (int)err->code;
	}
	return buf_adds(ret, tool->after, err);
}

void tool_cell_drop_all(struct model_conversation *conv)
{
	size_t remaining = 0;

	for (size_t i = 0; i < conv->tool_count; i++) {
		struct model_tool *tool = &conv->tools[i];

		if (tool->kind != MODEL_TOOL_CELL) {
			conv->tools[remaining++] = *tool;
			continue;
		}
		model_tool_done(tool);
	}
	conv->tool_count = remaining;
}
