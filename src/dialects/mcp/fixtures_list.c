/*
 * fixtures_list.c - what stands in fixtures.json; only with RECKON_MCP_CONFORMANCE=1.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    fixtures.json, which is part of the program.
 * Never:    answers in a daemon that was not started for it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/fixtures.h"
#include "dialects/mcp/tools_list.h"

/* For the life of the process. */
static const struct json_value *all(void)
{
	static struct json_value *document;
	struct err ignored;

	if (document == NULL)
		(void)json_read_parse(mcp_fixtures_json, strlen(mcp_fixtures_json), FIXTURE_MAX,
				      &document, &ignored);
	return document;
}

const struct json_value *fixture(const char *table, const char *name)
{
	return json_read_member(json_read_member(all(), table), name);
}

void fixture_write(struct json_writer *json, const struct json_value *value)
{
	cleanup_buf struct buf text = BUF_INIT(FIXTURE_MAX);
	struct err ignored;

	if (json_read_dump(value, &text, &ignored) < 0)
		json_write_null(json);
	else
		json_write_raw(json, buf_text(&text), text.len);
}

void fixtures_add(const char *list, struct buf *entries)
{
	const struct json_value *values = json_read_member(all(), list);
	struct err ignored;

	for (size_t i = 0; i < json_read_count(values); i++) {
		if (entries->len > 0)
			(void)buf_addc(entries, ',', &ignored);
		(void)json_read_dump(json_read_at(values, i), entries, &ignored);
	}
}

void fixture_say(struct mcp *mcp, const char *text)
{
	cleanup_buf struct buf out = BUF_INIT(FIXTURE_MAX);
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, "content");
	json_write_array_begin(&json);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "text");
	json_write_member_string(&json, "text", text);
	json_write_object_end(&json);
	json_write_array_end(&json);
	mcp_result_end(mcp, &out, &json);
}
