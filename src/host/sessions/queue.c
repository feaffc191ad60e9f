/*
 * queue.c - the queue of jobs for a session's first kernel.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    runs two jobs of one kernel at once.
 */
#include "host/executions/row_before_run.h"
#include "host/host.h"
#include "host/sessions/restart/box_lease.h"

void job_arm(struct job *job)
{
	struct session *session = job->session;

	/* A PATCH may have changed these limits since the box was made. */
	if (job->timeout_ms == 0)
		job->timeout_ms = session->limits.wall_ms;
	job->output_bytes = session->limits.output_bytes;
	job->box.lease_seconds = box_lease_seconds(session);
	job->forgets = session->looks.forgets;
	session->looks.forgets = false;
}

void session_run(struct session *session, struct job *job)
{
	session->queue.running = job;
	if (job->execution == NULL)
		return;
	job->execution->state = EXECUTION_RUNNING;
	session->tenant->started++;
}

void session_pump(struct session *session)
{
	struct job *job = session->queue.first;

	if (session->queue.running != NULL || job == NULL || row_before_run_holds(job))
		return;
	/* A CLOSE waits while other jobs use the session's handle. */
	if (job->kind == JOB_CLOSE &&
	    (session->kernels.opening > 0 || session->file_queue.running != NULL ||
	     session->processes.jobs > 0))
		return;
	if (life_stands_still(session->life) && job->kind != JOB_PAUSE)
		return;
	if (session_is_parked(session) && job->kind != JOB_CLOSE) {
		MODULE_EACH(session->host, box_wanted, session);
		return;
	}
	session->queue.first = job->next;
	if (session->queue.first == NULL)
		session->queue.last = NULL;
	session->queue.count--;
	job_arm(job);
	session_run(session, job);
	job->times.submitted_ns = clock_mono_ns();
	/*
	 * While a thread runs one of these, the loop writes to the database
	 * (sessions/restart/row_before_open.c, session_end()).
	 */
	if (job->kind == JOB_CLOSE || (job->kind == JOB_OPEN && session->transactions.is_early))
		pool_submit_to_other_cpu(session->host->pools.main, session->tenant->lane,
					 &job->item);
	else
		pool_submit_to(session->host->pools.main, session->tenant->lane, &job->item);
}

void session_enqueue(struct session *session, struct job *job)
{
	job->next = NULL;
	job->times.queued_ns = clock_mono_ns();
	if (session->queue.last != NULL)
		session->queue.last->next = job;
	else
		session->queue.first = job;
	session->queue.last = job;
	session->queue.count++;
	session_pump(session);
}

static struct job *take_out(struct job **first, struct job **last, unsigned *queued,
			    const struct execution *execution)
{
	struct job *before = NULL;

	for (struct job *at = *first; at != NULL; before = at, at = at->next) {
		if (at->execution != execution)
			continue;
		if (before != NULL)
			before->next = at->next;
		else
			*first = at->next;
		if (*last == at)
			*last = before;
		(*queued)--;
		return at;
	}
	return NULL;
}

struct job *session_unqueue(struct session *session, const struct execution *execution)
{
	struct job *job = take_out(&session->queue.first, &session->queue.last,
				   &session->queue.count, execution);

	for (struct context *at = session->kernels.first; at != NULL && job == NULL; at = at->next)
		job = take_out(&at->first, &at->last, &at->queued, execution);
	return job;
}

void session_fail_waiting(struct session *session, enum api_error end, const char *why)
{
	struct job *next;

	for (struct job *job = session->queue.first; job != NULL; job = next) {
		next = job->next;
		job_fail(job, end, why);
	}
	session->queue.first = session->queue.last = NULL;
	session->queue.count = 0;
}

void session_fail_executions(struct session *session, enum api_error end, const char *why)
{
	struct job *first = session->queue.first, *next;

	session->queue.first = session->queue.last = NULL;
	session->queue.count = 0;
	for (struct job *job = first; job != NULL; job = next) {
		next = job->next;
		if (job->execution != NULL || job->kind == JOB_VARIABLES ||
		    job->kind == JOB_COMPLETE || job->kind == JOB_INSPECT ||
		    job->kind == JOB_IS_COMPLETE)
			job_fail(job, end, why);
		else
			session_enqueue(session, job);
	}
}
