/*
 * fixtures.c - what MCP's conformance suite asks for; only with RECKON_MCP_CONFORMANCE=1.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    messages of the suite.
 * Never:    answers in a daemon that was not started for it.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/mcp.h"

const char fixtures_tools[] = "", fixtures_resources[] = ",", fixtures_templates[] = "",
	   fixtures_prompts[] = "";

bool fixtures_are_on(void)
{
	const char *value = getenv("RECKON_MCP_CONFORMANCE");

	return value != NULL && strcmp(value, "1") == 0;
}

bool fixtures_call(struct mcp *mcp, const char *tool, const struct json_value *args)
{
	(void)mcp;
	(void)tool;
	(void)args;
	return false;
}

bool fixtures_read(struct mcp *mcp, const char *uri)
{
	(void)mcp;
	(void)uri;
	return false;
}

bool fixtures_prompt(struct mcp *mcp)
{
	(void)mcp;
	return false;
}
