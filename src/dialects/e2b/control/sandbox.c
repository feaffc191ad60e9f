/*
 * sandbox.c - a session in the form of E2B.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    sessions from reckond; their metadata is the client's.
 * Never:    writes a token for a key that may not ask for it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/e2b.h"

#define MIB (1024u * 1024u)
#define MEMORY_DEFAULT (1024u * (uint64_t)MIB)
#define DISK_DEFAULT (1024u * (uint64_t)MIB)
#define ANSWER_MAX (256u * 1024u)
#define TIMEOUT_S_MAX (365 * 86400)
#define IDLE_MS_MAX (30ull * 86400 * 1000)
#define IDLE_MARGIN_MS 60000u

const char *e2b_session_of(const struct e2b *e2b)
{
	char *id = arena_new(e2b->arena, 1, E2B_ID_SIZE);

	e2b_session_id(e2b->part[1], id);
	request_note(e2b->request, NULL, id, NULL);
	return id;
}

void e2b_write_moment(struct json_writer *json, const char *key, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	char text[40] = "1970-01-01T00:00:00";
	char whole[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) != NULL && tm.tm_year < 8100)
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(whole, sizeof(whole), "%s.%03uZ", text, (unsigned)(ms % 1000));
	json_write_member_string(json, key, whole);
}

/* The name that the client gave for the template, else the template of the session. */
static const char *template_of(const struct api_session *session, const struct json_value *metadata)
{
	const char *requested =
		json_read_text(json_read_member(metadata, E2B_TEMPLATE_MEMBER), NULL);

	if (requested != NULL)
		return requested;
	return session->template != NULL ? session->template : "base";
}

/* Writes only texts, because E2B's metadata has no other values. */
static void write_metadata(struct json_writer *json, const struct json_value *metadata)
{
	const struct json_value *value;
	const char *key, *text;
	size_t len;

	json_write_key(json, "metadata");
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(metadata, i, &key, &value); i++) {
		text = json_read_text(value, &len);
		if (text != NULL && strncmp(key, E2B_OWN_MEMBER, strlen(E2B_OWN_MEMBER)) != 0)
			json_write_member_text(json, key, text, len);
	}
	json_write_object_end(json);
}

static struct json_value *metadata_of(const struct api_session *session)
{
	struct json_value *ret = NULL;
	struct err ignored;

	(void)json_read_parse(session->metadata.data, session->metadata.len, E2B_BODY_MAX, &ret,
			      &ignored);
	return ret;
}

bool e2b_workdir_of(const struct e2b *e2b, const char *session, const char **ret)
{
	cleanup_json struct json_value *metadata = NULL;
	cleanup_call struct call call = CALL_INIT;
	struct api_session shown;
	const char *text;
	const enum call_status status =
		call_make(e2b->request, API_SESSION_SHOW,
			  &(struct api_session_show_in){ .session = session }, &shown, &call);

	*ret = NULL;
	if (status != CALL_OK)
		return status == CALL_FAILED;
	metadata = metadata_of(&shown);
	text = json_read_text(json_read_member(metadata, E2B_WORKDIR_MEMBER), NULL);
	if (text != NULL)
		*ret = arena_text(e2b->arena, text, strlen(text));
	return true;
}

static void write_names(struct json_writer *json, const struct api_session *session,
			const struct json_value *metadata)
{
	const char *template = template_of(session, metadata);
	char id[E2B_ID_SIZE];

	e2b_sandbox_id(session->id, id);
	json_write_member_string(json, "sandboxID", id);
	json_write_member_string(json, "templateID", template);
	json_write_member_string(json, "alias", template);
	json_write_member_string(json, "clientID", "reckon");
	json_write_member_string(json, "envdVersion", E2B_ENVD_VERSION);
}

void e2b_write_sandbox(struct json_writer *json, const struct api_session *session,
		       const char *token)
{
	cleanup_json struct json_value *metadata = metadata_of(session);

	json_write_object_begin(json);
	write_names(json, session, metadata);
	json_write_member_string(json, "envdAccessToken", token);
	json_write_member_string(json, "trafficAccessToken", token);
	json_write_key(json, "domain");
	json_write_null(json);
	json_write_object_end(json);
}

static uint64_t end_of(const struct api_session *session)
{
	return session->has_expires_at_ms ? session->expires_at_ms
					  : clock_wall_ms() + session->idle_timeout_ms;
}

static uint64_t number(uint64_t value, uint64_t otherwise)
{
	return value != 0 ? value : otherwise;
}

void e2b_write_listed(struct json_writer *json, const struct api_session *session,
		      const char *token, bool is_whole)
{
	cleanup_json struct json_value *metadata = metadata_of(session);
	const struct api_limits *limits = session->limits;

	json_write_object_begin(json);
	write_names(json, session, metadata);
	json_write_member_string(json, "startedAt", session->created_at);
	e2b_write_moment(json, "endAt", end_of(session));
	json_write_member_string(json, "state", session->has_paused_at_ms ? "paused" : "running");
	json_write_member_uint(json, "cpuCount", (number(limits->cpu_percent, 100) + 99) / 100);
	json_write_member_uint(json, "memoryMB",
			       number(limits->memory_bytes, MEMORY_DEFAULT) / MIB);
	json_write_member_uint(json, "diskSizeMB", number(limits->disk_bytes, DISK_DEFAULT) / MIB);
	write_metadata(json, metadata);
	e2b_write_volumes(json, session);
	if (is_whole) {
		if (token != NULL)
			json_write_member_string(json, "envdAccessToken", token);
		json_write_member_bool(json, "allowInternetAccess", false);
		json_write_key(json, "domain");
		json_write_null(json);
		json_write_key(json, "lifecycle");
		json_write_object_begin(json);
		json_write_member_bool(json, "autoResume", session->auto_resume);
		json_write_member_string(json, "onTimeout",
					 session->on_timeout == API_SESSION_ON_TIMEOUT_PAUSE ||
							 session->on_timeout ==
								 API_SESSION_ON_TIMEOUT_PAUSE_FILES
						 ? "pause"
						 : "kill");
		json_write_object_end(json);
	}
	json_write_object_end(json);
}

void e2b_answer_sandbox(const struct e2b *e2b, unsigned status, const struct api_session *session)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_session_token_out out;
	struct json_writer json;

	if (call_or_refuse(e2b->request, API_SESSION_TOKEN,
			   &(struct api_session_token_in){ .session = session->id }, &out,
			   &call) < 0)
		return;
	json_write_init(&json, &body);
	e2b_write_sandbox(&json, session, out.token);
	e2b_answer_json(e2b, status, &json, NULL);
}

uint64_t e2b_idle_ms(uint64_t timeout_ms)
{
	return timeout_ms + IDLE_MARGIN_MS < IDLE_MS_MAX ? timeout_ms + IDLE_MARGIN_MS
							 : IDLE_MS_MAX;
}

bool e2b_take_timeout(const struct e2b *e2b, const struct json_value *value, uint64_t *ret_ms)
{
	double seconds = 0;

	if (!json_read_double(value, &seconds)) {
		e2b_refuse(e2b, 400, "the time-out must be a number of seconds");
		return false;
	}
	if (seconds > TIMEOUT_S_MAX) {
		e2b_refuse(e2b, 400, "the time-out is longer than a year");
		return false;
	}
	*ret_ms = seconds > 0 ? (uint64_t)(seconds * 1000) : 0;
	return true;
}
