/*
 * fixtures_code.c - fixtures of the conformance suite that are code: calls of run_code in disguise.
 *
 * Runs in:  reckon-front-mcp, with RECKON_MCP_CONFORMANCE=1.
 * Reads:    arguments of the conformance suite.
 * Never:    puts anything but a number into the code.
 *
 * Whoever calls them needs a key, as for run_code itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/fixtures.h"

#define CODE_MAX 4096u
#define LONG "600" /* seconds: a task, where the client has tasks */

static bool greet(struct mcp *mcp, const char *tool, const struct json_value *args)
{
	const char *name = rpc_text(args, "name", 1000);
	char text[1100];

	if (strcmp(tool, "greet") != 0)
		return false;
	(void)snprintf(text, sizeof(text), "Hello, %s!", name != NULL ? name : "");
	fixture_say(mcp, text);
	return true;
}

static bool lacks_tasks(struct mcp *mcp, const char *tool)
{
	if (strcmp(tool, "failing_job") != 0 || !mcp->rpc.is_modern ||
	    (mcp->capabilities & RPC_HAS_TASKS) != 0)
		return false;
	mcp_error(mcp, RPC_MISSING_CAPABILITY, "this tool is for clients that have tasks",
		  "{\"requiredCapabilities\":{\"extensions\":{\"" RPC_TASKS "\":{}}}}");
	return true;
}

int fixtures_code(struct mcp *mcp, const char *tool, const struct json_value *args,
		  struct json_value **ret)
{
	const char *code = json_read_text(fixture("codes", tool), NULL);
	cleanup_buf struct buf text = BUF_INIT(CODE_MAX), whole = BUF_INIT(2 * CODE_MAX);
	const char *place = code != NULL ? strstr(code, "%s") : NULL;
	struct json_writer json;
	double seconds = 0;
	int64_t number;
	struct err err;

	if (greet(mcp, tool, args) || lacks_tasks(mcp, tool))
		return -1;
	if (code == NULL)
		return 0;
	if (json_read_int(json_read_member(args, "seconds"), &number))
		seconds = (double)number;
	(void)buf_add(&text, code, place != NULL ? (size_t)(place - code) : strlen(code), &err);
	if (place != NULL)
		(void)buf_addf(&text, &err, "%g%s", seconds, place + 2);
	json_write_init(&json, &whole);
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", buf_text(&text), text.len);
	if (place == NULL || seconds > 0) {
		json_write_key(&json, "timeout_s");
		json_write_raw(&json, LONG, strlen(LONG));
	}
	json_write_object_end(&json);
	return json_write_finish(&json, &err) == 0 && json_read_parse(buf_text(&whole), whole.len,
								      2 * CODE_MAX, ret, &err) == 0
		       ? 1
		       : 0;
}
