/*
 * tool.c - functions shared by the tools: arguments, text and result.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    arguments from a model; failures of reckond.
 * Never:    reports an error that the model can correct as a protocol error.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

#define SAY_MAX 4096

/* ---- text of a tool
 * --------------------------------------------------------------------------- */

void tool_say(struct tool *tool, const char *fmt, ...)
{
	char text[SAY_MAX];
	struct err ignored;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)buf_adds(&tool->text, text, &ignored);
}

int tool_fail(struct tool *tool, const char *text, const char *remedy)
{
	tool->is_error = true;
	buf_clear(&tool->structured);
	tool_say(tool, "error: %s\n", text);
	if (remedy != NULL && remedy[0] != '\0')
		tool_say(tool, "what to do: %s\n", remedy);
	return 0;
}

int tool_failure(struct tool *tool, const struct api_failure *failure)
{
	(void)tool_fail(tool, failure->message, NULL);
	if (failure->cause != NULL)
		tool_say(tool, "cause: %s\n", failure->cause);
	if (failure->remedy != NULL)
		tool_say(tool, "what to do: %s\n", failure->remedy);
	return 0;
}

int tool_make(struct tool *tool, enum api_id id, const void *in, void *out, struct call *call,
	      int *ret)
{
	const enum call_status status = call_make(tool->mcp->request, id, in, out, call);

	if (status == CALL_OK)
		return 1;
	*ret = status == CALL_FAILED ? tool_failure(tool, call->failure) : -1;
	return 0;
}

bool tool_text(struct tool *tool, const char *name, size_t max, const char **ret)
{
	const struct json_value *value = json_read_member(tool->args, name);
	char message[160];

	*ret = rpc_text(tool->args, name, max);
	if (*ret != NULL || value == NULL || json_read_kind(value) == JSON_KIND_NULL)
		return true;
	(void)snprintf(message, sizeof(message), "%s must be a string of at most %zu bytes", name,
		       max);
	(void)tool_fail(tool, message, NULL);
	return false;
}

bool tool_number(struct tool *tool, const char *name, double least, double most, double *ret)
{
	const struct json_value *value = json_read_member(tool->args, name);
	char message[160];
	int64_t whole;

	if (value == NULL || json_read_kind(value) == JSON_KIND_NULL)
		return true;
	if (json_read_int(value, &whole))
		*ret = (double)whole;
	else if (!json_read_double(value, ret))
		*ret = least - 1;
	if (*ret >= least && *ret <= most)
		return true;
	(void)snprintf(message, sizeof(message), "%s must be a number from %g to %g", name, least,
		       most);
	(void)tool_fail(tool, message, NULL);
	return false;
}

/* ---- the result ------------------------------------------------------------------------------- */

static void add_text_block(const struct tool *tool, struct buf *blocks)
{
	struct json_writer json;
	struct err ignored;

	json_write_init(&json, blocks);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "text");
	json_write_member_text(&json, "text", buf_text(&tool->text), tool->text.len);
	json_write_object_end(&json);
	(void)json_write_finish(&json, &ignored);
}

void tool_done(struct tool *tool)
{
	buf_done(&tool->text);
	buf_done(&tool->content);
	buf_done(&tool->structured);
}

int tool_write(struct tool *tool, struct json_writer *json)
{
	cleanup_buf struct buf blocks = BUF_INIT(MCP_OUT_MAX);
	struct err err;

	if (buf_addc(&blocks, '[', &err) == 0)
		add_text_block(tool, &blocks);
	if (buf_add(&blocks, buf_text(&tool->content), tool->content.len, &err) < 0 ||
	    buf_addc(&blocks, ']', &err) < 0)
		return -1;
	json_write_key(json, "content");
	json_write_raw(json, buf_text(&blocks), blocks.len);
	if (tool->structured.len > 0) {
		json_write_key(json, "structuredContent");
		json_write_raw(json, buf_text(&tool->structured), tool->structured.len);
	}
	json_write_member_bool(json, "isError", tool->is_error);
	return 0;
}

static void write_task_of(const struct tool *tool, struct json_writer *json)
{
	json_write_key(json, "_meta");
	json_write_object_begin(json);
	json_write_key(json, RPC_META "related-task");
	json_write_object_begin(json);
	json_write_member_string(json, "taskId", tool->task);
	json_write_object_end(json);
	json_write_object_end(json);
}

void mcp_answer_tool(struct tool *tool)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	struct json_writer json;

	mcp_result_begin(tool->mcp, &out, &json);
	if (tool_write(tool, &json) < 0) {
		mcp_error(tool->mcp, RPC_INTERNAL, "the result is larger than what is sent", NULL);
		return;
	}
	if (tool->task != NULL)
		write_task_of(tool, &json);
	mcp_result_end(tool->mcp, &out, &json);
}
