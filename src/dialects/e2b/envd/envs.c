/*
 * envs.c - GET /envs: the environment variables of all commands and code in a sandbox.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a session's variables from reckond, which its client set.
 * Never:    shows variables of one command, or of the box itself.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/envd/envd.h"

#define ANSWER_MAX (1u << 20)

static bool is_named(const char *variable, const char *name, size_t len)
{
	return strncmp(variable, name, len) == 0 && variable[len] == '=';
}

/* False if a later item has the same name, or if the name is one that each command gets. */
static bool counts(const char *const *items, size_t count, size_t at)
{
	static const char *const own[] = { "E2B_SANDBOX", "E2B_SANDBOX_ID" };
	const size_t len = strcspn(items[at], "=");

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (is_named(items[at], own[i], strlen(own[i])))
			return false;
	for (size_t i = at + 1; i < count; i++)
		if (is_named(items[i], items[at], len))
			return false;
	return true;
}

static void write_one(const struct e2b *e2b, struct json_writer *json, const char *variable)
{
	const size_t len = strcspn(variable, "=");

	json_write_member_string(json, arena_text(e2b->arena, variable, len),
				 variable + len + (variable[len] == '='));
}

void e2b_envs(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_session_env_out out;
	struct json_writer json;
	const char *const *items;

	if (call_or_refuse(e2b->request, API_SESSION_ENV,
			   &(struct api_session_env_in){ .session = e2b->target.session }, &out,
			   &call) < 0)
		return;
	items = out.env.items;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "E2B_SANDBOX", "true");
	json_write_member_string(&json, "E2B_SANDBOX_ID", e2b->target.sandbox);
	for (size_t i = 0; i < out.env.count; i++)
		if (counts(items, out.env.count, i))
			write_one(e2b, &json, items[i]);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}
