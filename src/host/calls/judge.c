/*
 * judge.c - checks a call from a front: its key, the key's rights, quotas; then calls the handler.
 *
 * Runs in:  reckond's loop.
 * Reads:    structs that passed api_check().
 * Never:    handles a call without a valid key, unless the table says that it needs none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/calls/tenants/snapshot_held.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/about.h"
#include "host/tenants/quota.h"
#include "host/sessions/token.h"
#include "host/tenants/usage.h"
#include "host/descriptors.h"

/* Sets the context of log lines until the answer. */
static void answer_about(struct host *host, const char *trace)
{
	struct log_context *about = &host->about;

	if (trace != NULL && strlen(trace) == 48) {
		memcpy(about->trace, trace, 32);
		memcpy(about->span, trace + 32, 16);
	}
	log_about(about);
}

/* An id in the arguments of the call; "" if there is none. */
static const char *id_at(const struct request *req, uint16_t offset)
{
	const char *id = NULL;

	if (offset != API_NO_OFFSET)
		id = *(const char *const *)((const char *)req->in + offset);
	return id != NULL ? id : "";
}

static void about_call(struct host *host, const struct request *req,
		       const struct api_caller *caller)
{
	struct log_context *about = &host->about;

	memset(about, 0, sizeof(*about));
	(void)snprintf(about->request, sizeof(about->request), "%s",
		       caller->request != NULL ? caller->request : "");
	(void)snprintf(about->session, sizeof(about->session), "%s",
		       id_at(req, req->call->session_offset));
	(void)snprintf(about->execution, sizeof(about->execution), "%s",
		       id_at(req, req->call->execution_offset));
	answer_about(host, caller->trace);
}

/* A COMMIT has no key; file.c sets the actor of its upload. */
static void name_actor(struct host *host, const struct request *req)
{
	(void)snprintf(host->actor, sizeof(host->actor), "%s",
		       host->config.is_private	? "local"
		       : req->key != NULL	? req->key->row.id
						: "anybody");
	if (req->tenant != NULL)
		(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s",
			       req->tenant->row.id);
}

/* Finds the key. `of_token` receives the rights of a token, so that other code sees only keys. */
static bool is_known(struct host *host, struct request *req, const char *text, size_t len,
		     struct key *of_token)
{
	struct key *key = of_token;
	int judged;

	req->is_token = token_looks(text, len);
	judged = req->is_token ? token_judge(host, text, of_token)
				 : key_judge(host, text, len, &key);
	if (judged == 0) {
		req->key = key;
		req->tenant = key->tenant;
		return true;
	}
	metrics_add(&host->seen.metrics, METRICS_DENIED, 0, 1);
	audit_denied(host);
	if (judged == API_ERR_SESSION_CLOSED)
		session_token_gone(host, req->id, text);
	else if (judged == API_ERR_NOT_FOUND)
		front_fail(host, req->id, API_ERR_NOT_FOUND, "the volume of this token was removed",
			   "", "make another one", 0);
	else if (judged == API_ERR_KEY_EXPIRED)
		front_fail(host, req->id, API_ERR_KEY_EXPIRED, "this API key has expired", "",
			  "ask for a new one; an admin key makes it: POST /reckon/v1/keys", 0);
	else
		front_fail(host, req->id, API_ERR_UNAUTHORIZED,
			  len == 0 ? "an API key is needed" : "this API key is not known",
			  "", "send the header Authorization: Bearer rk_...", 0);
	return false;
}

/* Calls that need no key: by the table, or by the configuration. */
static bool is_open(const struct host *host, const struct api_call *call)
{
	return call->scope == API_SCOPE_NONE ||
	       (call == &api_calls[API_METRICS] && metrics_are_open(host));
}

/* Counts one request of a client only once, although the front may make several calls for it. */
static bool is_second_half(const struct request *req)
{
	if (req->call == &api_calls[API_EXECUTION_EVENTS])
		return ((const struct api_execution_events_in *)req->in)->goes_on;
	if (req->call == &api_calls[API_PROCESS_EVENTS])
		return ((const struct api_process_events_in *)req->in)->goes_on;
	if (req->call == &api_calls[API_RUN_EVENTS])
		return ((const struct api_run_events_in *)req->in)->goes_on;
	if (req->call == &api_calls[API_WATCH])
		return ((const struct api_watch_in *)req->in)->goes_on;
	return req->call->is_part;
}

/*
 * A key without `read` may read results of what it started itself. That is looked up here:
 * `goes_on` is only a claim of the front, so it gives no rights.
 */
static bool is_own(struct host *host, const struct request *req)
{
	const void *in = req->in;

	if ((req->key->row.scopes & (uint32_t)req->call->own_scope) == 0)
		return false;
	switch (req->call - api_calls) {
	case API_EXECUTION_SHOW:
	case API_EXECUTION_EVENTS:
		return execution_is_own(host, req, id_at(req, req->call->session_offset),
					id_at(req, req->call->execution_offset));
	case API_PROCESS_SHOW:
		return process_is_own(host, req, id_at(req, req->call->session_offset),
				      ((const struct api_process_show_in *)in)->process);
	case API_PROCESS_WAIT:
		return process_is_own(host, req, id_at(req, req->call->session_offset),
				      ((const struct api_process_wait_in *)in)->process);
	case API_PROCESS_EVENTS:
		return process_is_own(host, req, id_at(req, req->call->session_offset),
				      ((const struct api_process_events_in *)in)->process);
	case API_RUN_SHOW:
		return run_is_own(host, req, ((const struct api_run_show_in *)in)->id);
	case API_RUN_CONVERSATION:
		return run_is_own(host, req,
				  ((const struct api_run_conversation_in *)in)->id);
	case API_RUN_EVENTS:
		return run_is_own(host, req, ((const struct api_run_events_in *)in)->id);
	default:
		return false;
	}
}

/*
 * Calls that begin or add nothing remain possible while the daemon stops and when the disk is full.
 */
static bool is_possible(struct host *host, const struct request *req)
{
	reserve_look(host);
	if (req->call->begins && lifecycle_is_ending(&host->life)) {
		front_fail(host, req->id, API_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return false;
	}
	if (req->call->begins && !descriptors_are_left()) {
		observe_refused(host, "descriptors");
		front_fail(host, req->id, API_ERR_OVERLOADED, DESCRIPTORS_NONE_LEFT, "",
			   "wait until something ends, or raise the daemon's limit of open files",
			   1);
		return false;
	}
	if (req->call->grows && host->operations.reserve.is_full) {
		observe_refused(host, "host_disk");
		front_fail(host, req->id, API_ERR_DISK_FULL,
			  "the disk of the state directory is full: nothing is begun, or added", "",
			  "free some space there; what is kept can be read, closed and deleted", 0);
		return false;
	}
	return true;
}

/* Whether the key may make this call now. */
static bool is_allowed(struct host *host, const struct request *req)
{
	const uint32_t needed = req->call->scope;

	if (strcmp(req->tenant->row.state, "active") != 0) {
		front_fail(host, req->id, API_ERR_TENANT_SUSPENDED,
			  "the tenant of this API key is suspended", "",
			  "ask whoever runs this daemon", 0);
		return false;
	}
	if (!is_second_half(req) && !quota_request(host, req))
		return false;
	if (req->is_token && !token_may(req)) {
		metrics_add(&host->seen.metrics, METRICS_DENIED, 0, 1);
		front_fail(host, req->id, API_ERR_TOKEN,
			  "the token is for one session or volume alone", "",
			  "use an API key", 0);
		return false;
	}
	return answer_has_scope(host, req, needed) || is_own(host, req) ||
	       answer_refuse_scope(host, req, needed);
}

static int note_id(const struct db_session *row, void *arg, struct err *err)
{
	(void)err;
	(void)snprintf(arg, ID_SIZE, "%s", row->id);
	return 0;
}

/*
 * A session's name may be used instead of its id: it stands for the live session with this name,
 * otherwise for the newest that had it. Replaces the name by the id, in `id`, which must live as
 * long as `in`.
 */
static void resolve_session(struct host *host, const struct request *req, char id[ID_SIZE])
{
	const uint16_t offset = req->call->session_offset;
	const struct session *session;
	const char **given;
	struct err ignored;

	if (offset == API_NO_OFFSET || req->tenant == NULL)
		return;
	given = (const char **)((uintptr_t)req->in + offset);
	if (*given == NULL || strncmp(*given, "se_", 3) == 0 ||
	    !id_is_name(*given, strlen(*given), "se"))
		return;
	session = session_named(host, req->tenant, *given);
	if (session != NULL)
		(void)snprintf(id, ID_SIZE, "%s", session->row.id);
	else if (db_name_list(host->db, req->tenant->row.id, *given, NULL, 1, note_id, id,
			      &ignored) < 0)
		return;
	/* A name that is too long for an id cannot match any session. */
	if (id[0] != '\0')
		*given = id;
	else if (strlen(*given) >= ID_SIZE)
		*given = "-";
}

/* If the call needs the box: whether the session is not paused, or is resumed for this call. */
static bool is_awake(struct host *host, const struct request *req)
{
	const uint16_t offset = req->call->session_offset;
	struct session *session;
	const char *id;

	if (!req->call->needs_box || offset == API_NO_OFFSET || req->tenant == NULL)
		return true;
	id = *(const char *const *)((uintptr_t)req->in + offset);
	session = id != NULL ? session_find(host, req->tenant, id) : NULL;
	return session == NULL || pause_lets(session, req->id);
}

void answer_call(struct host *host, const struct request *given, const struct api_caller *caller,
		 const void *in)
{
	const char *key = caller->key != NULL ? caller->key : "";
	struct key of_token;
	struct request req = *given;
	char session[ID_SIZE] = "";

	host->door.last_request_ns = clock_mono_ns();
	/* Later calls must see one-execution sessions as ended. */
	if (req.call != &api_calls[API_EXECUTE_ONCE])
		once_end(host);
	req.in = in;
	about_call(host, &req, caller);
	if (is_open(host, req.call) || is_known(host, &req, key, strlen(key), &of_token)) {
		name_actor(host, &req);
		resolve_session(host, &req, session);
		if ((req.tenant == NULL || is_allowed(host, &req)) && is_possible(host, &req) &&
		    is_awake(host, &req))
			call_handle(host, &req, in);
	}
	about_end(host);
}

static void request_gone(struct host *host, uint64_t request)
{
	snapshot_let_go(host, request, request);
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		if (host->files.uploads[i].ticket == request)
			upload_drop(&host->files.uploads[i]);
}

static void session_opened(struct session *session, struct job *opened)
{
	if (opened->how == JOB_HOW_ONCE)
		once_opened(session, opened);
	else
		session_reply_opened(session, opened->request);
}

const struct module calls_module = {
	.session_opened = session_opened,
	.session_paused = session_reply_shown,
	.request_gone = request_gone,
	.front_lost = snapshot_let_go,
	.session_transactions_failed = once_transaction_failed,
};
