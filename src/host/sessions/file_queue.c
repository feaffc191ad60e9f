/*
 * file_queue.c - jobs for a session's files and ports, independent of its kernels: they have their
 * own queue and handle.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs about files that came back from the pool.
 * Never:    waits for a cell, or lets the box be closed while a job uses it.
 *
 * One such job of a session runs at a time, in a separate pool, so that files stay accessible while
 * cells use all other threads. Two jobs of a session that run in parallel may both find changes in
 * the workspace; these are committed in the order of the scans (session_job_done()).
 */
#include "host/host.h"
#include "host/processes/port_work.h"

#define PORT_QUEUE_MAX 512u /* connections to ports, each of which takes no time */

static unsigned *count_of(struct file_queue *file_queue, const struct job *job)
{
	const bool is_of_port = job->kind == JOB_PORT_LIST || job->kind == JOB_PORT_CONNECT;

	return is_of_port ? &file_queue->queued_ports : &file_queue->queued;
}

void file_queue_pump(struct session *session)
{
	struct file_queue *file_queue = &session->file_queue;
	struct job *job = file_queue->first;

	if (file_queue->running != NULL || job == NULL || life_stands_still(session->life))
		return;
	if (session_is_parked(session)) {
		MODULE_EACH(session->host, box_wanted, session);
		return;
	}
	file_queue->first = job->next;
	if (file_queue->first == NULL)
		file_queue->last = NULL;
	*count_of(file_queue, job) -= 1;
	file_queue->running = job;
	job->forgets = session->looks.forgets;
	session->looks.forgets = false;
	if (session->host->job_types[job->kind].begin != NULL)
		session->host->job_types[job->kind].begin(job);
	job->times.submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->pools.files, session->tenant->file_lane, &job->item);
}

void file_queue_enqueue(struct session *session, struct job *job)
{
	struct file_queue *file_queue = &session->file_queue;

	job->is_for_files = true;
	job->next = NULL;
	job->times.queued_ns = clock_mono_ns();
	if (file_queue->last != NULL)
		file_queue->last->next = job;
	else
		file_queue->first = job;
	file_queue->last = job;
	*count_of(file_queue, job) += 1;
	file_queue_pump(session);
}

bool file_queue_is_full(const struct session *session)
{
	return session->file_queue.queued >= HOST_QUEUE_MAX;
}

/* The limit is high because a page makes many requests at once, each of which is short. */
bool file_queue_is_full_of_ports(const struct session *session)
{
	return session->file_queue.queued_ports >= PORT_QUEUE_MAX;
}

bool file_queue_is_idle(const struct session *session)
{
	return session->file_queue.running == NULL && session->file_queue.first == NULL;
}

void file_queue_fail_waiting(struct session *session, enum api_error end, const char *why)
{
	struct file_queue *file_queue = &session->file_queue;
	struct job *job;

	while ((job = file_queue->first) != NULL) {
		file_queue->first = job->next;
		if (session->host->job_types[job->kind].dropped != NULL)
			session->host->job_types[job->kind].dropped(job);
		job_fail(job, end, why);
	}
	file_queue->last = NULL;
	file_queue->queued = file_queue->queued_ports = 0;
}

/* Runs in a thread of the pool. */
reckon_session *file_queue_handle(struct job *job)
{
	struct file_queue *file_queue = &job->session->file_queue;

	/* Only reads the session's handle, as contexts do. */
	if (file_queue->handle == NULL)
		(void)reckon_files_open(job->session->box.handle, &file_queue->handle, &job->error);
	return file_queue->handle;
}
