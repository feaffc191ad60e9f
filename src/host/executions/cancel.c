/*
 * cancel.c - cancels executions: by a request, or because their client disconnected.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests; leases of executions (lease.h).
 * Never:    cancels an execution because of its lease while a client waits for it, or one without a
 *           lease.
 *
 * A queued execution leaves its queue: it never runs, and its Idempotency-Key may be used again. A
 * running one is interrupted, and its record has the reason.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/executions/cancel.h"
#include "host/host.h"

static const reckon_reason client_gone = {
	.code = "client_gone",
	.message = "interrupted because the client that asked for it went away, as its request "
		   "said (on_disconnect: cancel)",
};
static const reckon_reason on_request = {
	.code = "cancelled",
	.message = "interrupted because a client cancelled it",
};
static const char was_cancelled[] = "a client cancelled it before it began";
static const char never_began[] = "the client that asked for it went away before it began, and its "
				  "request said on_disconnect: cancel";

static bool runs(const struct job *running, const struct execution *execution)
{
	return running != NULL && running->execution == execution;
}

void cancel_note_why(struct execution *execution)
{
	execution->reason = &client_gone;
	execution->cancel = EXECUTION_ABANDONED;
}

static void stop(struct session *session, struct execution *execution)
{
	execution_want_stop(execution, EXECUTION_STOP_INTERRUPT);
	if (runs(session->queue.running, execution))
		execution_nudge(execution, session->box.handle);
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (runs(at->running, execution))
			execution_nudge(execution, at->handle);
}

static void cancel(struct execution *execution, const reckon_reason *reason, const char *why)
{
	struct session *session = execution->session;
	struct job *job;

	free(TAKE_PTR(execution->lease));
	if (execution->state == EXECUTION_RUNNING) {
		execution->reason = reason;
		execution->cancel = reason == &client_gone ? EXECUTION_ABANDONED : EXECUTION_WANTED;
		stop(session, execution);
		return;
	}
	job = session_unqueue(session, execution);
	if (job == NULL)
		return;
	execution->cancel = EXECUTION_CANCELLED;
	execution_release_key(execution);
	execution_fail(execution, API_ERR_EXECUTION_CANCELLED, why);
	/* A run may wait for the result of this cell. */
	MODULE_EACH(session->host, job_failed, job, API_ERR_EXECUTION_CANCELLED, why);
	job_free(job);
}

void cancel_on_request(struct execution *execution)
{
	cancel(execution, &on_request, was_cancelled);
}

/* ---- abandoned executions ------------------------------------------------------------------- */

static struct execution *find_abandoned(const struct session *session, uint64_t now_ns)
{
	struct execution *at = session->executions.first;

	while (at != NULL && !lease_is_over(at->lease, now_ns))
		at = at->next;
	return at;
}

void cancel_abandoned(struct session *session)
{
	const uint64_t now = clock_mono_ns();
	struct execution *execution;

	/*
	 * Searches from the start each time: cancelling one execution may remove older ones from
	 * the list.
	 */
	while ((execution = find_abandoned(session, now)) != NULL) {
		audit_note(session->host, "execution.cancel", session->row.id, "ok",
			   "execution=%s its client went away", execution->id);
		cancel(execution, &client_gone, never_began);
	}
}

void cancel_front_lost(struct host *host, uint64_t first, uint64_t last)
{
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct execution *at = session->executions.first; at != NULL; at = at->next)
			lease_lose(at->lease, first, last);
}

void cancel_request_gone(struct host *host, uint64_t request)
{
	for (struct session *session = host->sessions.first; session != NULL; session = session->next) {
		for (struct execution *at = session->executions.first; at != NULL; at = at->next)
			execution_forget(at, request);
		cancel_abandoned(session);
	}
}
