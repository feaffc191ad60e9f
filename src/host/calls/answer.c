/*
 * answer.c - checks that several handlers share: the session of a request, the scopes of its key.
 *
 * Runs in:  reckond's loop.
 * Reads:    structs that passed api_check().
 * Never:    finds a session of another tenant.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/calls/answer.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/tenants/quota.h"

/* A private daemon checks no scopes: its key may have been made before a scope existed. */
bool answer_has_scope(const struct host *host, const struct request *req, uint32_t scope)
{
	return scope == 0 || scope == API_SCOPE_ANY || host->config.is_private ||
	       (req->key->row.scopes & scope) != 0;
}

/* Answers the request; always returns false. */
bool answer_refuse_scope(struct host *host, const struct request *req, uint32_t scope)
{
	char message[96];
	size_t bit = 0;

	while ((scope >> bit & 1u) == 0)
		bit++;
	(void)snprintf(message, sizeof(message), "this API key lacks the scope %s",
		       front_scope_names[bit]);
	metrics_add(&host->seen.metrics, METRICS_DENIED, 0, 1);
	refuse(host, req->id,
	       &(struct refusal){ .error = API_ERR_SCOPE,
				  .message = message,
				  .remedy = "use a key that has it, or ask for one",
				  .quota = front_scope_names[bit] });
	return false;
}

bool answer_check_scope(struct host *host, const struct request *req, uint32_t scope)
{
	return answer_has_scope(host, req, scope) || answer_refuse_scope(host, req, scope);
}

struct session *answer_session_for_files(struct host *host, const struct request *req,
					 const char *id)
{
	struct session *session = answer_session_named(host, req, id, false);

	if (session == NULL || !file_queue_is_full(session))
		return session;
	observe_refused(host, "queue");
	front_fail(host, req->id, API_ERR_BUSY,
		  "too many requests about files wait for this session", "", "wait for those", 1);
	return NULL;
}

struct session *answer_session_named(struct host *host, const struct request *req, const char *id,
				     bool for_job)
{
	struct session *session;

	session = session_find(host, req->tenant, id);
	if (lifecycle_is_ending(&host->life) &&
	    (session == NULL || life_is_leaving(session->life))) {
		front_fail(host, req->id, API_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return NULL;
	}
	if (session == NULL || life_is_closing(session->life)) {
		session_tell_gone(host, req->tenant, req->id, id);
		return NULL;
	}
	if (for_job && session->queue.count >= HOST_QUEUE_MAX) {
		observe_refused(host, "queue");
		front_fail(host, req->id, API_ERR_BUSY,
			  "too many requests wait for this session", "",
			  "wait for those, interrupt the running one, or use another session", 1);
		return NULL;
	}
	return session;
}

/* Copies the variables into one buffer, and makes a list of pointers into it. */
int answer_take_env(struct job *job, const struct api_list *env, struct err *err)
{
	const char *const *variables = env->items;
	size_t at = 0;

	for (size_t i = 0; i < env->count; i++)
		if (buf_add(&job->box.env, variables[i], strlen(variables[i]) + 1, err) < 0)
			return (int)err->code;
	job->box.env_list = mem_new0(env->count + 1, sizeof(*job->box.env_list));
	for (size_t i = 0; i < env->count; i++) {
		job->box.env_list[i] = job->box.env.data + at;
		at += strlen(job->box.env_list[i]) + 1;
	}
	return 0;
}
