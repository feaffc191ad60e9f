/*
 * forget.c - the call that removes conversations of a tenant, or of one of its keys.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    removes a run that has not ended: it stops the run, and a later request removes it.
 *
 * A conversation consists of questions and answers (runs), what ran for them (executions of the
 * sessions, with outputs and files), and the state that dialects store (documents in collections
 * whose names begin with "conversation.").
 */
#include <inttypes.h>
#include <string.h>

#include "host/calls/call.h"
#include "host/db/forget.h"
#include "host/host.h"

#define PREFIX "conversation."
#define DOCUMENTS_MAX 5000u

static bool is_meant(const struct run *run, const struct tenant *tenant, const char *key)
{
	return run->tenant == tenant && (key == NULL || strcmp(run->actor, key) == 0);
}

/* Stops runs that have not ended, and frees the others. Returns whether any has not ended. */
static bool stop_runs(struct host *host, const struct tenant *tenant, const char *key)
{
	struct run *next;
	bool goes_on = false;

	for (struct run *at = host->runs.first; at != NULL; at = next) {
		next = at->next;
		if (!is_meant(at, tenant, key))
			continue;
		if (at->state == RUN_ENDED && at->jobs == 0) {
			run_discard(at);
			continue;
		}
		goes_on = true;
		if (at->state != RUN_ENDED)
			run_stop(at);
	}
	return goes_on;
}

static int end_sessions(struct host *host, const struct tenant *tenant,
			const struct db_forget *forget, bool *ret_some, struct err *err)
{
	struct session *next;
	int found;

	for (struct session *at = host->sessions.first; at != NULL; at = next) {
		next = at->next;
		if (at->tenant != tenant)
			continue;
		found = db_forget_is_in(host->db, forget, at->row.id, err);
		if (found < 0)
			return (int)err->code;
		if (found == 0)
			continue;
		*ret_some = true;
		session_end(at, API_ERR_SESSION_CLOSED, "its conversations were removed", 0);
	}
	return 0;
}

static int remove_all(struct host *host, const struct api_run_forget_in *in,
		      struct db_forget *forget, uint64_t *ret_documents, uint64_t *ret_bytes,
		      struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_forget_runs(host->db, forget, in->sessions, err);
	if (code >= 0 && in->key == NULL)
		code = db_forget_documents(host->db, forget->tenant, PREFIX, DOCUMENTS_MAX,
					   ret_documents, ret_bytes, err);
	if (code >= 0)
		code = audit_add(host, "agent.forget", forget->tenant, "ok", err,
				 "runs=%" PRIu64 " executions=%" PRIu64 " sessions=%" PRIu64
				 " documents=%" PRIu64, forget->runs, forget->executions,
				 forget->sessions, *ret_documents);
	return audit_end(host, code, err);
}

void handle_run_forget(struct host *host, const struct request *req,
		       const struct api_run_forget_in *in)
{
	struct tenant *tenant = tenant_of_id(host, req, in->tenant);
	uint64_t documents = 0, bytes = 0;
	struct db_forget forget = { .key = in->key };
	bool goes_on, is_own, ends = false;
	struct err err;

	if (tenant == NULL)
		return;
	forget.tenant = tenant->row.id;
	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	goes_on = stop_runs(host, tenant, in->key);
	if ((in->sessions && end_sessions(host, tenant, &forget, &ends, &err) < 0) ||
	    remove_all(host, in, &forget, &documents, &bytes, &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else {
		tenant->row.stored_bytes -=
			bytes < tenant->row.stored_bytes ? bytes : tenant->row.stored_bytes;
		reply_run_forget(host, req->id,
				 &(struct api_forgotten){ .runs = forget.runs,
							  .executions = forget.executions,
							  .sessions = forget.sessions,
							  .documents = documents,
							  .more = goes_on || ends ||
								  documents == DOCUMENTS_MAX });
	}
	transaction_leave(host, is_own, 0);
}
