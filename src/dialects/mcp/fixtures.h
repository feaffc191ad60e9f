/* fixtures.h - what the files of the conformance fixtures share. */
#pragma once

#include "dialects/mcp/mcp.h"

#define FIXTURE_MAX ((size_t)1024 * 1024)

/* ---- fixtures_list.c ---- */
/* A member of fixtures.json: table, then name. NULL: it has none. */
const struct json_value *fixture(const char *table, const char *name);
/* Its JSON. */
void fixture_write(struct json_writer *json, const struct json_value *value);
/* A result with one text. */
void fixture_say(struct mcp *mcp, const char *text);

/* ---- fixtures_ask.c ---- */
/* Asks the client while the call waits (legacy). */
void fixture_ask(struct mcp *mcp, const struct json_value *ask, const struct json_value *args);
/* Ends with what it wants to know, until it was told (modern). */
void fixture_input(struct mcp *mcp, const struct json_value *input, bool is_prompt);
