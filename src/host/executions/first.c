/*
 * first.c - executions whose row is on the disk before they run.
 *
 * Runs in:  reckond's loop.
 * Reads:    how far the turns are.
 * Never:    runs what a crash could make run twice, or lets others wait for its sync.
 *
 * What is acknowledged before its end, and what has an Idempotency-Key, must be known after a crash
 * even when that comes in its first moment. Its row is a turn of its own (turn.c); until that is on
 * the disk its job stays at the head of its queue, and the loop goes on with what others asked for.
 */
#include "host/executions/first.h"

#include "host/host.h"

static void add(struct execution *execution)
{
	struct host *host = execution->session->host;

	execution->first_turn = host->turn;
	execution->next_first = host->firsts;
	host->firsts = execution;
}

void first_forget(struct execution *execution)
{
	struct execution **at = &execution->session->host->firsts;

	if (execution->first_turn == 0)
		return;
	while (*at != execution)
		at = &(*at)->next_first;
	*at = execution->next_first;
	execution->first_turn = 0;
}

int first_write(struct execution *execution, struct err *err)
{
	struct host *host = execution->session->host;
	bool is_own;
	int code;

	if (keep_turn_join(host, &is_own, err) < 0)
		return (int)err->code;
	add(execution);
	if (audit_begin(host, err) < 0)
		code = (int)err->code;
	else
		code = audit_end(host, start_write(execution, NULL, err), err);
	keep_turn_leave(host, is_own, 0);
	if (code >= 0 && execution->failed) {
		*err = execution->why; /* its turn was over, and has failed */
		code = (int)err->code;
	}
	if (code < 0)
		first_forget(execution);
	return code;
}

bool first_holds(const struct job *job)
{
	return job->execution != NULL &&
	       job->execution->first_turn > job->session->host->synced;
}

static struct execution *find(struct host *host, uint64_t from, uint64_t to)
{
	struct execution *at = host->firsts;

	while (at != NULL && (at->first_turn < from || at->first_turn > to))
		at = at->next_first;
	return at;
}

static void pump(struct session *session)
{
	session_pump(session);
	context_pump_all(session);
}

void first_kept(struct host *host)
{
	struct execution *execution;

	while ((execution = find(host, 1, host->synced)) != NULL) {
		first_forget(execution);
		start_kept(execution);
		pump(execution->session);
	}
}

void first_failed(struct host *host, uint64_t from, const struct err *failed)
{
	struct execution *execution;

	while ((execution = find(host, from, UINT64_MAX)) != NULL) {
		struct session *session = execution->session;
		struct job *job = session_unqueue(session, execution);

		first_forget(execution);
		execution_drop(execution, failed);
		execution_release_key(execution); /* asked again, it may run */
		/* Without a job it is being written just now, and its writer sees what became of it. */
		if (job == NULL)
			continue;
		job_free(job);
		pump(session);
	}
}
