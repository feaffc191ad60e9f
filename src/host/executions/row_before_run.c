/*
 * row_before_run.c - executions whose row is synced before they run.
 *
 * Runs in:  reckond's loop.
 * Reads:    the numbers of transactions.
 * Never:    runs code that a client would run again after a crash, or lets others wait for a sync.
 *
 * An execution that is acknowledged before its end, or has an Idempotency-Key, must be known after
 * a crash, even if the crash comes at once. Its row gets a transaction (transaction.c); until that
 * is synced, its job stays at the head of its queue, and the loop serves other requests.
 */
#include "host/executions/row_before_run.h"

#include "host/host.h"

static void add(struct execution *execution)
{
	struct host *host = execution->session->host;

	execution->first_transaction = host->transactions.current;
	execution->next_first = host->executions.firsts;
	host->executions.firsts = execution;
}

int row_before_run_write(struct execution *execution, struct err *err)
{
	struct host *host = execution->session->host;
	bool is_own;
	int code;

	if (transaction_join(host, &is_own, err) < 0)
		return (int)err->code;
	add(execution);
	if (audit_begin(host, err) < 0)
		code = (int)err->code;
	else
		code = audit_end(host, pending_row_write(execution, NULL, err), err);
	transaction_leave(host, is_own, 0);
	if (code >= 0 && execution->failed) {
		*err = execution->why; /* its transaction has already failed */
		code = (int)err->code;
	}
	if (code < 0)
		row_before_run_forget(execution);
	return code;
}

static struct execution *find(struct host *host, uint64_t from, uint64_t to)
{
	struct execution *at = host->executions.firsts;

	while (at != NULL && (at->first_transaction < from || at->first_transaction > to))
		at = at->next_first;
	return at;
}

static void pump(struct session *session)
{
	session_pump(session);
	context_pump_all(session);
}

void row_before_run_synced(struct host *host)
{
	struct execution *execution;

	while ((execution = find(host, 1, host->transactions.synced)) != NULL) {
		row_before_run_forget(execution);
		pending_row_committed(execution);
		pump(execution->session);
	}
}

void row_before_run_failed(struct host *host, uint64_t from, const struct err *failed)
{
	struct execution *execution;

	while ((execution = find(host, from, UINT64_MAX)) != NULL) {
		struct session *session = execution->session;
		struct job *job = session_unqueue(session, execution);

		row_before_run_forget(execution);
		execution_drop(execution, failed);
		execution_release_key(execution); /* a repeated request may run it */
		/*
		 * No job: the row is being written by row_before_run_write(), which returns the
		 * error.
		 */
		if (job == NULL)
			continue;
		job_free(job);
		pump(session);
	}
}
