/*
 * kernels.c - kernels as REST knows them: each is a session, marked as one in its metadata.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    bodies of anybody.
 * Never:    shows a session that was opened for something else.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

#define MARK "{\"jupyter\":{}}"
#define WALL_MS (24u * 3600u * 1000u) /* people interrupt, and no clock */
#define PAGE 500u

static void refuse_missing(struct request *request, const char *uuid)
{
	char message[96];

	(void)snprintf(message, sizeof(message), "Kernel does not exist: %.40s", uuid);
	answer_refuse_simple(request, 404, "not_found", message, NULL);
}

/* "2026-11-25T06:11:43.196Z", with the six digits that clients insist on. */
static void write_moment(struct json_writer *json, const char *key, const char *moment)
{
	char text[40];
	const size_t len = strcspn(moment, ".Z");
	const char *digits = moment[len] == '.' ? moment + len + 1 : "";

	(void)snprintf(text, sizeof(text), "%.*s.%.*s%.*sZ", (int)len, moment,
		       (int)strspn(digits, "0123456789"), digits,
		       (int)(6 - strspn(digits, "0123456789") % 7), "000000");
	json_write_member_string(json, key, text);
}

static void write_kernel(struct json_writer *json, const struct api_session *session)
{
	char uuid[UUID_SIZE];

	if (!server_uuid_of(session->id, uuid))
		uuid[0] = '\0';
	json_write_object_begin(json);
	json_write_member_string(json, "id", uuid);
	json_write_member_string(json, "name", server_spec_of(session->language));
	write_moment(json, "last_activity", session->created_at);
	json_write_member_string(json, "execution_state", session->pending > 0 ? "busy" : "idle");
	json_write_member_uint(json, "connections", 0);
	json_write_object_end(json);
}

static bool is_kernel(const struct api_session *session)
{
	struct json_value *metadata = NULL;
	struct err err;
	bool found = false;

	if (strcmp(session->status, "live") == 0 &&
	    json_read_parse(session->metadata.data, session->metadata.len, FRAME_MAX, &metadata,
			    &err) == 0)
		found = json_read_member(metadata, "jupyter") != NULL;
	json_read_free(metadata);
	return found;
}

static int take_body(struct request *request, struct buf *ret)
{
	return call_check_key(request) < 0 ? -1 : request_body(request, SERVER_BODY_MAX, ret);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int write_page(struct request *request, const char *before, struct json_writer *json,
		      char ret_next[64])
{
	cleanup_call struct call call = CALL_INIT;
	struct api_sessions page;
	const struct api_session *sessions;

	if (call_or_refuse(request, API_SESSION_LIST,
			   &(struct api_session_list_in){ .has_limit = true,
							  .limit = PAGE,
							  .before = before[0] != '\0' ? before
										      : NULL },
			   &page, &call) < 0)
		return -1;
	sessions = page.sessions.items;
	for (size_t i = 0; i < page.sessions.count; i++)
		if (is_kernel(&sessions[i]))
			write_kernel(json, &sessions[i]);
	(void)snprintf(ret_next, 64, "%s", page.next != NULL ? page.next : "");
	return 0;
}

/* Live ones are among the newest: what is older than a few pages is history. */
void kernels_list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX), unused = BUF_INIT(SERVER_BODY_MAX);
	struct json_writer json;
	char before[64] = "", next[64] = "";

	if (take_body(request, &unused) < 0)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (unsigned i = 0; i < 4 && (i == 0 || next[0] != '\0'); i++) {
		(void)snprintf(before, sizeof(before), "%s", next);
		if (write_page(request, before, &json, next) < 0)
			return;
	}
	json_write_array_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

/* ---- one ------------------------------------------------------------------------------------ */

static void answer_kernel(struct request *request, unsigned status,
			  const struct api_session *session)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	char headers[128] = "", uuid[UUID_SIZE];
	struct json_writer json;

	if (status == 201 && server_uuid_of(session->id, uuid))
		(void)snprintf(headers, sizeof(headers), "Location: /jupyter/api/kernels/%s\r\n",
			       uuid);
	json_write_init(&json, &body);
	write_kernel(&json, session);
	server_answer(request, status, &json, &body, headers);
}

/* The body is empty, or an object; its type is never looked at. */
static int read_name(struct request *request, char ret[64])
{
	cleanup_buf struct buf body = BUF_INIT(SERVER_BODY_MAX);
	struct json_value *parsed = NULL;
	const char *name;
	struct err err;

	(void)snprintf(ret, 64, "python3");
	if (take_body(request, &body) < 0)
		return -1;
	if (body.len == 0)
		return 0;
	if (json_read_parse(body.data, body.len, SERVER_BODY_MAX, &parsed, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", "Invalid JSON in body of request",
				     err.text);
		return -1;
	}
	name = json_read_text(json_read_member(parsed, "name"), NULL);
	if (name != NULL)
		(void)snprintf(ret, 64, "%s", name);
	json_read_free(parsed);
	return 0;
}

void kernels_start(struct request *request)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_limits limits = { .has_wall_ms = true, .wall_ms = WALL_MS };
	struct api_session session;
	enum call_status status;
	char name[64], message[128];

	if (read_name(request, name) < 0)
		return;
	if (server_language_of(name) == NULL) {
		(void)snprintf(message, sizeof(message), "No such kernel: %.60s", name);
		answer_refuse_simple(request, 404, "not_found", message, NULL);
		return;
	}
	struct api_session_create_in in = { .language = server_language_of(name),
					    .limits = &limits,
					    .metadata = { MARK, strlen(MARK) } };

	status = call_make(request, API_SESSION_CREATE, &in, &session, &call);
	/* A tenant may have less: then as everybody. */
	if (status == CALL_FAILED && call.failure->error == API_ERR_QUOTA_CAP) {
		in.limits = NULL;
		status = call_make(request, API_SESSION_CREATE, &in, &session, &call);
	}
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	if (status == CALL_OK)
		answer_kernel(request, 201, &session);
}

/* Negative: it was refused. */
static int find(struct request *request, const char *uuid, struct api_session *ret,
		struct call *call)
{
	char session[SESSION_ID_SIZE];
	enum call_status status = CALL_FAILED;

	if (server_session_of(uuid, session))
		status = call_make(request, API_SESSION_SHOW,
				   &(struct api_session_show_in){ .session = session }, ret, call);
	if (status == CALL_OK && is_kernel(ret))
		return 0;
	if (status == CALL_FAILED && call->failure != NULL &&
	    (call->failure->error == API_ERR_UNAUTHORIZED || call->failure->error == API_ERR_SCOPE))
		call_refuse(request, call->failure);
	else if (status != CALL_GONE)
		refuse_missing(request, uuid);
	return -1;
}

void kernels_show(struct request *request, const char *uuid)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (take_body(request, &unused) == 0 && find(request, uuid, &session, &call) == 0)
		answer_kernel(request, 200, &session);
}

/* Finds it, then makes one call with its id; 0: both went well. */
static int act(struct request *request, const char *uuid, char ret_session[SESSION_ID_SIZE])
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (take_body(request, &unused) < 0 || find(request, uuid, &session, &call) < 0)
		return -1;
	(void)snprintf(ret_session, SESSION_ID_SIZE, "%s", session.id);
	return 0;
}

void kernels_end(struct request *request, const char *uuid)
{
	cleanup_call struct call call = CALL_INIT;
	char session[SESSION_ID_SIZE];

	if (act(request, uuid, session) == 0 &&
	    call_or_refuse(request, API_SESSION_DELETE,
			   &(struct api_session_delete_in){ .session = session }, NULL, &call) == 0)
		server_answer_nothing(request);
}

void kernels_interrupt(struct request *request, const char *uuid)
{
	cleanup_call struct call call = CALL_INIT;
	char session[SESSION_ID_SIZE];

	if (act(request, uuid, session) == 0 &&
	    call_or_refuse(request, API_INTERRUPT, &(struct api_interrupt_in){ .session = session },
			   NULL, &call) == 0)
		server_answer_nothing(request);
}

/* What runs ends first, as far as it lets itself be interrupted. */
void kernels_restart(struct request *request, const char *uuid)
{
	cleanup_call struct call call = CALL_INIT, shown = CALL_INIT;
	char session[SESSION_ID_SIZE];
	struct api_session now;

	if (act(request, uuid, session) < 0 ||
	    call_or_refuse(request, API_INTERRUPT, &(struct api_interrupt_in){ .session = session },
			   NULL, &call) < 0 ||
	    call_or_refuse(request, API_RESTART, &(struct api_restart_in){ .session = session },
			   NULL, &call) < 0)
		return;
	if (find(request, uuid, &now, &shown) == 0)
		answer_kernel(request, 200, &now);
}
