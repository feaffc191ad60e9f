/*
 * machine.c - boxes that persist between the runs of a conversation: one per user and hint.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    hints of any client with the key; documents of the key's tenant.
 * Never:    gives a user another user's box, or runs two programs of a conversation at once.
 *
 * A document holds the session's id. If two requests create one at the same time, the older session
 * counts.
 */
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/librechat/librechat.h"

#define COLLECTION "librechat-machines"
#define RETENTION_MS ((uint64_t)30 * 24u * 3600u * 1000u)
#define IDLE_MS ((uint64_t)3600u * 1000u) /* afterwards only its files remain */
#define VALUE_MAX 1024u
#define METADATA_MAX 4096u
#define HINT_MAX 255u
#define PROFILE "X-CodeAPI-Execution-Profile: "

/* ---- the request ---------------------------------------------------------------------------- */

static bool expects(struct request *request, const char *wanted)
{
	const char *profile = http_header(request_head(request), "x-codeapi-expected-profile");

	return profile != NULL && strcmp(profile, wanted) == 0;
}

static void refuse_profile(struct request *request, const char *why)
{
	answer_refuse_simple(request, 409, "execution_profile_mismatch", why, NULL);
}

bool librechat_expects_state(struct request *request)
{
	if (!expects(request, "stateful"))
		return false;
	refuse_profile(request, "programs that call tools have a box of their own here");
	return true;
}

int librechat_hint(struct request *request, const struct json_value *body, const char **ret)
{
	const char *hint = json_get_str(body, "runtime_session_hint");

	*ret = NULL;
	if (strlen(hint) > HINT_MAX) {
		answer_refuse_simple(request, 400, "invalid_request",
				     "runtime_session_hint has at most 255 bytes", NULL);
		return -1;
	}
	if (hint[0] == '\0' && expects(request, "stateful")) {
		refuse_profile(request, "a machine that stays needs a runtime_session_hint");
		return -1;
	}
	if (hint[0] != '\0' && !expects(request, "default"))
		*ret = hint;
	answer_note_headers(request, *ret != NULL ? PROFILE "stateful\r\n" : PROFILE "default\r\n");
	return 0;
}

/* ---- finding it ----------------------------------------------------------------------------- */

static int write_key(const char *user, const char *hint, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "user", user);
	json_write_member_string(&json, "hint", hint);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* 1: found; 0: there is none. Negative: an answer was sent. */
static int find(struct request *request, const char *key, char session[OURS_SIZE],
		char document[OURS_SIZE])
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_document *oldest;
	struct json_value *value = NULL;
	struct api_documents page;
	struct err err;

	if (call_or_refuse(request, API_DOCUMENT_LIST,
			   &(struct api_document_list_in){
				   .collection = COLLECTION,
				   .metadata = key,
				   .order = API_DOCUMENT_LIST_IN_ORDER_ASC,
				   .has_limit = true,
				   .limit = 1 },
			   &page, &call) < 0)
		return -1;
	if (page.documents.count == 0)
		return 0;
	oldest = page.documents.items;
	(void)snprintf(document, OURS_SIZE, "%s", oldest->id);
	if (json_read_parse(oldest->value.data, oldest->value.len, VALUE_MAX, &value, &err) < 0)
		return 0;
	(void)snprintf(session, OURS_SIZE, "%s", json_get_str(value, "session"));
	json_read_free(value);
	return session[0] != '\0';
}

/* 1: it exists, maybe paused; 0: it is gone. Negative: an answer was sent. */
static int is_live(struct request *request, const char *session)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session shown;
	const enum call_status status =
		call_make(request, API_SESSION_SHOW,
			  &(struct api_session_show_in){ .session = session }, &shown, &call);

	if (status == CALL_OK)
		return strcmp(shown.status, "live") == 0;
	if (status == CALL_GONE)
		return -1;
	if (call.failure->error == API_ERR_NOT_FOUND ||
	    strncmp(api_error_of(call.failure)->name, "session_", 8) == 0)
		return 0;
	call_refuse(request, call.failure);
	return -1;
}

/* 1: it may be used; 0: it is gone. Negative: an answer was sent. */
static int is_free(struct request *request, const char *session)
{
	const int live = is_live(request, session);
	cleanup_call struct call call = CALL_INIT;
	struct api_processes running;

	if (live <= 0)
		return live;
	if (call_or_refuse(request, API_PROCESS_LIST,
			   &(struct api_process_list_in){
				   .session = session,
				   .has_limit = true,
				   .limit = 1,
				   .state = API_PROCESS_LIST_IN_STATE_RUNNING },
			   &running, &call) < 0)
		return -1;
	if (running.processes.count == 0)
		return 1;
	answer_refuse_simple(request, 409, "runtime_session_busy",
			     "a program of this conversation still runs", NULL);
	return -1;
}

/* ---- a new one ------------------------------------------------------------------------------ */

static int note(struct request *request, const char *key, const char *session)
{
	cleanup_call struct call call = CALL_INIT;
	char value[OURS_SIZE + 32];

	(void)snprintf(value, sizeof(value), "{\"session\":\"%s\"}", session);
	return call_or_refuse(request, API_DOCUMENT_CREATE,
			      &(struct api_document_create_in){ .collection = COLLECTION,
								.value = { value, strlen(value) },
								.metadata = { key, strlen(key) },
								.has_expires_in_ms = true,
								.expires_in_ms = RETENTION_MS },
			      NULL, &call);
}

static int make(struct request *request, const char *key, uint64_t output_bytes,
		char session[OURS_SIZE])
{
	const struct api_limits limits = { .has_output_bytes = true, .output_bytes = output_bytes };
	char document[OURS_SIZE], made[OURS_SIZE];
	cleanup_call struct call call = CALL_INIT;
	struct api_session new;
	int found;

	if (call_or_refuse(request, API_SESSION_CREATE,
			   &(struct api_session_create_in){
				   .language = "bash",
				   .limits = &limits,
				   .has_idle_timeout_ms = true,
				   .idle_timeout_ms = IDLE_MS,
				   .on_timeout = API_SESSION_CREATE_IN_ON_TIMEOUT_PAUSE_FILES,
				   .has_auto_resume = true,
				   .auto_resume = true },
			   &new, &call) < 0)
		return -1;
	(void)snprintf(made, sizeof(made), "%s", new.id);
	if (note(request, key, made) < 0)
		return -1;
	found = find(request, key, session, document);
	if (found > 0 && strcmp(session, made) != 0) {
		/* Another request created one first: delete ours. */
		if (call_make(request, API_SESSION_DELETE,
			      &(struct api_session_delete_in){ .session = made }, NULL, &call) ==
		    CALL_GONE)
			return -1;
		return is_free(request, session);
	}
	return found;
}

int librechat_machine(struct request *request, struct librechat_exec *exec, const char *hint,
		      uint64_t output_bytes)
{
	cleanup_buf struct buf key = BUF_INIT(METADATA_MAX);
	struct program *program = &exec->code.program;
	char session[OURS_SIZE], document[OURS_SIZE];
	struct err err;
	int found;

	if (write_key(exec->who.user, hint, &key, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid_request", err.text, NULL);
		return -1;
	}
	found = find(request, key.data, session, document);
	exec->is_reused = found > 0;
	if (found > 0)
		found = is_free(request, session);
	if (found == 0 && exec->is_reused) {
		exec->is_reused = false;
		found = call_delete_document(request, COLLECTION, document);
	}
	if (found == 0)
		found = make(request, key.data, output_bytes, session);
	if (found <= 0)
		return -1;
	program->request = request;
	program->output_max = output_bytes;
	(void)snprintf(program->session, sizeof(program->session), "%s", session);
	request_note(request, NULL, session, NULL);
	return 0;
}
