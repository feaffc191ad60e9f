/*
 * answer_once.c - code that gets a session for itself, which ends with it: one request.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    leaves a session that nobody knows of.
 *
 *   the request --session opened--> its code runs --ended--> the record is answered, the session ends
 *
 * Its client is the only one who waits: when that one goes away the code is interrupted, and the
 * session ends all the same; so it does when the daemon stops, or when it comes back after a crash.
 * What it made is in the store and the history.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/host.h"
#include "host/quota.h"

static const char has_ended[] = "its only execution has ended";

bool once_is(const struct session *session)
{
	return (session->row.policy & DB_POLICY_ONCE) != 0;
}

void answer_once(struct host *host, const struct asked *asked)
{
	const struct kernel_item *code = front_find(asked->items, asked->count, FRONT_TAG_CODE);
	const uint64_t timeout_ms =
		front_u64(asked->items, asked->count, FRONT_TAG_TIMEOUT_MS, 0);
	struct session *session;
	struct err err;
	struct job *job;

	if (!quota_execution(host, asked, NULL, timeout_ms))
		return;
	session = answer_session_add(host, asked);
	if (session == NULL)
		return;
	session->row.policy |= DB_POLICY_ONCE;
	job = job_new(session, JOB_OPEN, asked->id);
	job->is_once = true;
	job->timeout_ms = timeout_ms;
	job->text_bytes = front_u64(asked->items, asked->count, FRONT_TAG_TEXT_BYTES, 0);
	if (buf_add(&job->code, code->data, code->len, &err) < 0)
		answer_open_failed(session, job, &err);
	else
		answer_session_open(host, asked, session, job);
}

void once_opened(struct session *session, const struct job *opened)
{
	const struct asked asked = { .id = opened->request, .tenant = session->tenant };
	struct host *host = session->host;
	struct execution *execution = NULL;
	struct db_execution row = { 0 };
	struct err err;
	struct job *job;

	/* Others may have begun meanwhile. */
	if (quota_execution(host, &asked, session, opened->timeout_ms)) {
		execution = execution_begin(session, &row, NULL, buf_text(&opened->code),
					    opened->code.len, &err);
		if (execution == NULL)
			peer_fail_err(host, opened->request, &err);
	}
	if (execution == NULL) {
		session_end(session, FRONT_ERR_SESSION_CLOSED, "its code was not run", 0);
		return;
	}
	execution->hold = hold_new(0, opened->request);
	execution_wait(execution, opened->request);
	job = execution_job(execution);
	job->timeout_ms = opened->timeout_ms;
	job->text_bytes = opened->text_bytes;
	session_enqueue(session, job);
}

/* Whoever waits for the record need not wait for the end of the session to be kept. */
void once_done(struct session *session)
{
	struct host *host = session->host;

	if (!once_is(session) || session->phase != SESSION_LIVE || session->running != NULL ||
	    session->first != NULL || session->is_over)
		return;
	session->is_over = true;
	session->next_over = host->over;
	host->over = session;
}

void once_forget(struct session *session)
{
	struct session **at = &session->host->over;

	while (*at != NULL && *at != session)
		at = &(*at)->next_over;
	if (*at != NULL)
		*at = session->next_over;
}

void once_end(struct host *host)
{
	struct session *session;

	while ((session = host->over) != NULL) {
		host->over = session->next_over;
		session_end(session, FRONT_ERR_SESSION_CLOSED, has_ended, 0);
	}
}
