/*
 * control.c - the control plane: the paths of sandboxes, and get, kill and time-outs.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths and bodies from clients.
 * Never:    answers success for something that it has not done.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/e2b.h"

#define ANSWER_MAX (256u * 1024u)

static void get(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT, token_call = CALL_INIT;
	struct api_session_token_out token = { 0 };
	const char *id = e2b_session_of(e2b);
	struct api_session session;
	struct json_writer json;

	if (call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = id }, &session, &call) < 0)
		return;
	/* A key that may only read gets no token. */
	if (call_make(e2b->request, API_SESSION_TOKEN,
		      &(struct api_session_token_in){ .session = id }, &token,
		      &token_call) == CALL_GONE)
		return;
	json_write_init(&json, &body);
	e2b_write_listed(&json, &session, token_call.failure == NULL ? token.token : NULL, true);
	e2b_answer_json(e2b, 200, &json, NULL);
}

static void kill_one(struct e2b *e2b)
{
	cleanup_call struct call call = CALL_INIT;

	if (call_or_refuse(e2b->request, API_SESSION_DELETE,
			   &(struct api_session_delete_in){ .session = e2b_session_of(e2b) }, NULL,
			   &call) == 0)
		e2b_answer_empty(e2b, 204);
}

/* POST …/timeout sets the end; …/refreshes only moves it later. */
static void set_timeout(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const bool is_refresh = strcmp(e2b->part[2], "refreshes") == 0;
	const struct json_value *given =
		json_read_member(body, is_refresh ? "duration" : "timeout");
	cleanup_call struct call call = CALL_INIT;
	const char *id = e2b_session_of(e2b);
	struct api_session session;
	uint64_t ms = 60000;

	if (body == NULL || ((given != NULL || !is_refresh) && !e2b_take_timeout(e2b, given, &ms)))
		return;
	if (is_refresh) {
		if (call_or_refuse(e2b->request, API_SESSION_SHOW,
				   &(struct api_session_show_in){ .session = id }, &session,
				   &call) < 0)
			return;
		if (session.has_expires_at_ms && session.expires_at_ms >= clock_wall_ms() + ms) {
			e2b_answer_empty(e2b, 204);
			return;
		}
	}
	if (e2b_end_in(e2b, id, ms, &session, &call) == 0)
		e2b_answer_empty(e2b, 204);
}

static void empty_list(struct e2b *e2b)
{
	cleanup_call struct call call = CALL_INIT;
	cleanup_buf struct buf body = BUF_INIT(16);
	struct err err;

	if (call_or_refuse(e2b->request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL,
			   &call) == 0 &&
	    buf_adds(&body, "[]", &err) == 0)
		e2b_answer(e2b, 200, &body, NULL);
}

static void nothing(struct e2b *e2b)
{
	e2b_refuse(e2b, 404, "this server has no secrets");
}

void e2b_control(struct e2b *e2b)
{
	static const struct e2b_route routes[] = {
		{ HTTP_VERB_GET, "sandboxes", e2b_list },
		{ HTTP_VERB_POST, "sandboxes", e2b_create },
		{ HTTP_VERB_GET, "sandboxes/metrics", e2b_metrics_of_several },
		{ HTTP_VERB_GET, "sandboxes/*", get },
		{ HTTP_VERB_DELETE, "sandboxes/*", kill_one },
		{ HTTP_VERB_POST, "sandboxes/*/timeout", set_timeout },
		{ HTTP_VERB_POST, "sandboxes/*/refreshes", set_timeout },
		{ HTTP_VERB_POST, "sandboxes/*/connect", e2b_connect },
		{ HTTP_VERB_GET, "sandboxes/*/metrics", e2b_metrics },
		{ HTTP_VERB_GET, "sandboxes/*/logs", e2b_logs },
		{ HTTP_VERB_POST, "sandboxes/*/resume", e2b_connect },
		{ HTTP_VERB_POST, "sandboxes/*/pause", e2b_pause },
		{ HTTP_VERB_POST, "sandboxes/*/fork", e2b_fork },
		{ HTTP_VERB_POST, "sandboxes/*/snapshots", e2b_snapshot_make },
		{ HTTP_VERB_PUT, "sandboxes/*/network", e2b_network },
		{ HTTP_VERB_GET, "snapshots", e2b_snapshots },
		{ HTTP_VERB_GET, "teams", empty_list },
	};
	const char *first = e2b->part[0];

	if (strcmp(first, "templates") == 0)
		e2b_templates(e2b);
	else if (strcmp(first, "volumes") == 0)
		e2b_volumes(e2b);
	else if (strcmp(first, E2B_VOLUME_CONTENT) == 0)
		e2b_volume_content(e2b);
	else if (strcmp(first, "secrets") == 0)
		nothing(e2b);
	else
		e2b_route(e2b, routes, ARRAY_LEN(routes));
}
