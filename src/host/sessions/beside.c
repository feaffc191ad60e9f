/*
 * beside.c - a session's files and ports, beside whatever its kernels do: a queue and a handle of their own.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs about files that came back from the pool.
 * Never:    waits for a cell, or lets the box go while one of its files is in use.
 *
 * One such job of a session runs at a time, in a pool of its own: cells that take every worker leave
 * files within reach. What two jobs of a session that ran at once found changed in the workspace is
 * committed in the order in which they looked (session_job_done()).
 */
#include "host/host.h"
#include "host/files/watch.h"
#include "host/processes/port_work.h"

#define PORT_QUEUE_MAX 512u /* connections to ports, each of which takes no time */

static unsigned *count_of(struct beside *beside, const struct job *job)
{
	const bool is_of_port = job->kind == JOB_PORT_LIST || job->kind == JOB_PORT_CONNECT;

	return is_of_port ? &beside->queued_ports : &beside->queued;
}

void beside_pump(struct session *session)
{
	struct beside *beside = &session->beside;
	struct job *job = beside->first;

	if (beside->running != NULL || job == NULL)
		return;
	if (session->is_parked) {
		restore_want(session);
		return;
	}
	beside->first = job->next;
	if (beside->first == NULL)
		beside->last = NULL;
	*count_of(beside, job) -= 1;
	beside->running = job;
	job->forgets = session->forgets;
	session->forgets = false;
	if (job->kind == JOB_PROCESS_END)
		process_take_ended(session, job);
	job->submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->file_pool, session->tenant->file_lane, &job->item);
}

void beside_enqueue(struct session *session, struct job *job)
{
	struct beside *beside = &session->beside;

	job->is_beside = true;
	job->next = NULL;
	job->queued_ns = clock_mono_ns();
	if (beside->last != NULL)
		beside->last->next = job;
	else
		beside->first = job;
	beside->last = job;
	*count_of(beside, job) += 1;
	beside_pump(session);
}

bool beside_is_full(const struct session *session)
{
	return session->beside.queued >= HOST_QUEUE_MAX;
}

/* A page asks for many things at once, and none of them takes long here. */
bool beside_is_full_of_ports(const struct session *session)
{
	return session->beside.queued_ports >= PORT_QUEUE_MAX;
}

bool beside_is_idle(const struct session *session)
{
	return session->beside.running == NULL && session->beside.first == NULL;
}

void beside_fail_waiting(struct session *session, enum api_error end, const char *why)
{
	struct beside *beside = &session->beside;
	struct job *job;

	while ((job = beside->first) != NULL) {
		beside->first = job->next;
		if (job->watch != NULL)
			watch_job_dropped(job);
		job_fail(job, end, why);
	}
	beside->last = NULL;
	beside->queued = beside->queued_ports = 0;
}

void beside_job_done(struct session *session, struct job *job)
{
	session->beside.running = NULL;
	if (job->kind != JOB_PROCESS_END)
		observe_job(session->host, job);
	if (job->watch != NULL) {
		watch_job_done(job);
	} else {
		keep_job_done(session, job);
		files_changed(session, job);
		if (job->kind == JOB_PROCESS_END)
			process_job_done(session, job);
		else
			session_answer_job(session, job);
	}
	if (job->is_lost && session->phase == SESSION_LIVE && !session->is_parked)
		restore_park(session, job->why_lost.message);
	job_free(job);
	beside_pump(session);
	session_pump(session); /* a CLOSE, or a new box, may have waited for this */
}

/* In a thread of the pool. */
reckon_session *beside_handle(struct job *job)
{
	struct beside *beside = &job->session->beside;

	/* The session's handle is read alone, as for a context. */
	if (beside->handle == NULL)
		(void)reckon_files_open(job->session->handle, &beside->handle, &job->error);
	return beside->handle;
}
