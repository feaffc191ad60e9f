/*
 * call.c - tools/call: finds the tool, runs it and sends its result.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    arguments from a model.
 * Never:    reports an error that the model can correct as a protocol error.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

static const struct {
	const char *name;
	int (*fn)(struct tool *tool);
	const char *arguments; /* with a space before and after each */
} tools[] = {
	{ "run_code", tool_run, " code language session timeout_s max_text " },
	{ "files", tool_files, " action path text base64 offset length session " },
	{ "output", tool_output, " handle offset length " },
	{ "session", tool_session, " action session path write " },
};

/* Reports unknown arguments, so that a model notices its misspelling at once. */
static bool knows_arguments(struct tool *tool, const char *known)
{
	const struct json_value *value;
	const char *key;
	char word[64], message[160];

	for (size_t i = 0; json_read_member_at(tool->args, i, &key, &value); i++) {
		(void)snprintf(word, sizeof(word), " %.60s ", key);
		if (strlen(key) > 60 || strchr(key, ' ') != NULL || strstr(known, word) == NULL) {
			(void)snprintf(message, sizeof(message), "unknown argument '%.60s'", key);
			(void)snprintf(word, sizeof(word), "known are:%.50s", known);
			(void)tool_fail(tool, message, word);
			return false;
		}
	}
	return true;
}

static int run(struct tool *tool, size_t which)
{
	int code;

	if (tool->args != NULL && json_read_kind(tool->args) != JSON_KIND_OBJECT)
		return tool_fail(tool, "arguments must be an object", NULL);
	if (!knows_arguments(tool, tools[which].arguments))
		return 0;
	code = tool_approve(tool, tools[which].name);
	return code > 0 ? tools[which].fn(tool) : code;
}

/* A cancelled call has no response: ends the stream without one. */
static void answer_nothing(struct mcp *mcp)
{
	if (mcp_begin_stream(mcp) == 0)
		answer_end(mcp->request);
}

static void call(struct mcp *mcp, const char *name, const struct json_value *args)
{
	struct tool tool = TOOL_INIT(mcp);
	size_t which = 0;
	char message[192];

	tool.args = args;
	tool.in_background =
		!mcp->rpc.is_modern && json_read_member(mcp->rpc.params, "task") != NULL;
	while (which < ARRAY_LEN(tools) && (name == NULL || strcmp(tools[which].name, name) != 0))
		which++;
	if (which == ARRAY_LEN(tools)) {
		(void)snprintf(message, sizeof(message), "there is no tool %s",
			       name != NULL ? name : "without a name");
		mcp_error(mcp, RPC_INVALID_PARAMS, message, NULL);
		return;
	}
	if (tool.in_background && tools[which].fn != tool_run) {
		mcp_error(mcp, RPC_NO_METHOD, "this tool has no tasks: call it without one", NULL);
		return;
	}
	if (run(&tool, which) == 0) {
		if (tool.is_cancelled)
			answer_nothing(mcp);
		else if (tool.in_background && !mcp->rpc.is_modern)
			mcp_error(mcp, RPC_REFUSED, buf_text(&tool.text), NULL);
		else
			mcp_answer_tool(&tool);
	}
	tool_done(&tool);
}

void mcp_tools_call(struct mcp *mcp)
{
	const char *name = rpc_text(mcp->rpc.params, "name", 128);
	const struct json_value *args = json_read_member(mcp->rpc.params, "arguments");
	struct json_value *code = NULL;
	int is_code;

	if (name != NULL && mcp->has_fixtures) {
		is_code = fixtures_code(mcp, name, args, &code);
		if (is_code < 0 || (is_code == 0 && fixtures_call(mcp, name, args)))
			return;
		if (is_code > 0) {
			name = "run_code";
			args = code;
		}
	}
	call(mcp, name, args);
	json_read_free(code);
}
