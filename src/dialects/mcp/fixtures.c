/*
 * fixtures.c - what MCP's conformance suite asks for; only with RECKON_MCP_CONFORMANCE=1.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    messages of the suite; fixtures.json, which is part of the program.
 * Never:    answers in a daemon that was not started for it.
 */
#include "dialects/mcp/fixtures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LOG_PAUSE_MS 50u

bool fixtures_are_on(void)
{
	const char *value = getenv("RECKON_MCP_CONFORMANCE");

	return value != NULL && strcmp(value, "1") == 0;
}

static void answer_result(struct mcp *mcp, const struct json_value *result)
{
	cleanup_buf struct buf out = BUF_INIT(FIXTURE_MAX);
	const struct json_value *value;
	struct json_writer json;
	const char *key;

	mcp_result_begin(mcp, &out, &json);
	for (size_t i = 0; json_read_member_at(result, i, &key, &value); i++) {
		json_write_key(&json, key);
		fixture_write(&json, value);
	}
	mcp_result_end(mcp, &out, &json);
}

/* ---- tools ------------------------------------------------------------------------------------ */

static int send_logs(struct mcp *mcp)
{
	static const char *const lines[] = { "Tool execution started", "Tool processing data",
					     "Tool execution completed" };
	char params[128];

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		(void)snprintf(params, sizeof(params), "{\"level\":\"info\",\"data\":\"%s\"}",
			       lines[i]);
		if (mcp_notify(mcp, "notifications/message", params) < 0 ||
		    request_wait_note(mcp->request, LOG_PAUSE_MS) < 0)
			return -1;
	}
	return 0;
}

static int send_progress(struct mcp *mcp)
{
	for (mcp->cursor.progress = 0; mcp->cursor.progress <= 100; mcp->cursor.progress += 50)
		if (mcp_progress(mcp, 100, NULL, 0) < 0 ||
		    request_wait_note(mcp->request, LOG_PAUSE_MS) < 0)
			return -1;
	return 0;
}

/* What comes before the result. Negative: it was answered, or nobody is left. */
static int prepare(struct mcp *mcp, const char *tool)
{
	if (strcmp(tool, "test_tool_with_logging") == 0 || strcmp(tool, "test_logging_tool") == 0)
		return mcp->rpc.is_modern && mcp->rpc.log_level == NULL ? 0 : send_logs(mcp);
	if (strcmp(tool, "test_tool_with_progress") == 0)
		return send_progress(mcp);
	if (strcmp(tool, "test_trigger_tool_change") == 0)
		mcp_list_changed(true);
	else if (strcmp(tool, "test_trigger_prompt_change") == 0)
		mcp_list_changed(false);
	if (strcmp(tool, "test_missing_capability") != 0 ||
	    (mcp->capabilities & RPC_CAN_SAMPLE) != 0)
		return 0;
	mcp_error(mcp, RPC_MISSING_CAPABILITY, "the client has to be able to sample",
		  "{\"requiredCapabilities\":{\"sampling\":{}}}");
	return -1;
}

bool fixtures_call(struct mcp *mcp, const char *tool, const struct json_value *args)
{
	const struct json_value *result = fixture("results", tool);

	if (result != NULL) {
		if (prepare(mcp, tool) == 0)
			answer_result(mcp, result);
		return true;
	}
	if (fixture("asks", tool) != NULL && !mcp->rpc.is_modern)
		fixture_ask(mcp, fixture("asks", tool), args);
	else if (fixture("inputs", tool) != NULL && mcp->rpc.is_modern)
		fixture_input(mcp, fixture("inputs", tool), false);
	else
		return false;
	return true;
}

/* ---- resources and prompts -------------------------------------------------------------------- */

static void answer_contents(struct mcp *mcp, const char *uri, const char *mime, const char *kind,
			    const char *content)
{
	cleanup_buf struct buf out = BUF_INIT(FIXTURE_MAX);
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	mcp_write_caching(mcp, &json);
	json_write_key(&json, "contents");
	json_write_array_begin(&json);
	json_write_object_begin(&json);
	json_write_member_string(&json, "uri", uri);
	json_write_member_string(&json, "mimeType", mime);
	json_write_member_string(&json, kind, content);
	json_write_object_end(&json);
	json_write_array_end(&json);
	mcp_result_end(mcp, &out, &json);
}

bool fixtures_read(struct mcp *mcp, const char *uri)
{
	const struct json_value *found = fixture("reads", uri);
	const char *text = rpc_text(found, "text", 4096);
	char id[32], content[160];
	int end = 0;

	if (found != NULL) {
		answer_contents(mcp, uri, rpc_text(found, "mimeType", 64),
				text != NULL ? "text" : "blob",
				text != NULL ? text : rpc_text(found, "blob", 4096));
		return true;
	}
	if (sscanf(uri, "test://template/%31[A-Za-z0-9]/data%n", id, &end) != 1 || end == 0 ||
	    uri[end] != '\0')
		return false;
	(void)snprintf(content, sizeof(content),
		       "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}", id,
		       id);
	answer_contents(mcp, uri, "application/json", "text", content);
	return true;
}

/* `%1` and `%2` are arguments, which are JSON text already. */
static void fill_in(const struct buf *template, const struct json_value *args, struct buf *ret)
{
	struct err ignored;

	for (const char *at = buf_text(template); *at != '\0'; at++) {
		cleanup_buf struct buf text = BUF_INIT(4096);
		const struct json_value *value;
		const char *key;

		if (at[0] != '%' || (at[1] != '1' && at[1] != '2')) {
			(void)buf_addc(ret, *at, &ignored);
			continue;
		}
		at++;
		if (json_read_member_at(args, (size_t)(*at - '1'), &key, &value) &&
		    json_read_dump(value, &text, &ignored) == 0 && text.len >= 2)
			(void)buf_add(ret, text.data + 1, text.len - 2, &ignored);
	}
}

bool fixtures_prompt(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(FIXTURE_MAX), raw = BUF_INIT(FIXTURE_MAX),
			       filled = BUF_INIT(FIXTURE_MAX);
	const char *name = rpc_text(mcp->rpc.params, "name", 128);
	const struct json_value *messages = name != NULL ? fixture("messages", name) : NULL;
	struct json_writer json;
	struct err ignored;

	if (name != NULL && messages == NULL && fixture("inputs", name) != NULL &&
	    mcp->rpc.is_modern) {
		fixture_input(mcp, fixture("inputs", name), true);
		return true;
	}
	if (messages == NULL || json_read_dump(messages, &raw, &ignored) < 0)
		return false;
	fill_in(&raw, json_read_member(mcp->rpc.params, "arguments"), &filled);
	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, "messages");
	json_write_raw(&json, buf_text(&filled), filled.len);
	mcp_result_end(mcp, &out, &json);
	return true;
}
