/*
 * jobs.c - jobs about processes, which ask the warden in threads of the pool.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    starts a program before its row is synced, if it has an Idempotency-Key.
 */
#include "host/host.h"
#include "host/processes/process.h"

bool process_is_held(const struct process *process)
{
	return process->phase == PROCESS_STARTING && process->is_uncommitted;
}

static void submit(struct session *session, struct job *job)
{
	session->processes.jobs++;
	job->process->jobs++;
	job->times.submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->pools.files, session->tenant->file_lane, &job->item);
}

void process_pump(struct session *session)
{
	struct job **at = &session->processes.starts, *job;

	if (life_stands_still(session->life))
		return;
	if (session_is_parked(session) && session->processes.starts != NULL) {
		restore_want(session);
		return;
	}
	session->processes.pending_rows_last = NULL;
	while ((job = *at) != NULL) {
		if (process_is_held(job->process)) {
			session->processes.pending_rows_last = job;
			at = &job->next;
			continue;
		}
		*at = job->next;
		submit(session, job);
	}
}

void process_start(struct process *process, struct job *job)
{
	struct session *session = process->session;

	job->process = process;
	job->next = NULL;
	job->times.queued_ns = clock_mono_ns();
	if (session->processes.pending_rows_last != NULL)
		session->processes.pending_rows_last->next = job;
	else
		session->processes.starts = job;
	session->processes.pending_rows_last = job;
	process_pump(session);
}

void process_ask(struct process *process, enum job_kind kind, struct job *job)
{
	if (job == NULL)
		job = job_new(process->session, kind, 0);
	job->process = process;
	job->times.queued_ns = clock_mono_ns();
	submit(process->session, job);
}

void process_over(struct process *process)
{
	struct session *session = process->session;
	struct process **at = &session->processes.ended;

	process->phase = PROCESS_ENDING;
	while (*at != NULL)
		at = &(*at)->next_ended;
	*at = process;
	process->next_ended = NULL;
	if (session->processes.is_end_queued)
		return;
	session->processes.is_end_queued = true;
	file_queue_enqueue(session, job_new(session, JOB_PROCESS_END, 0));
}

void process_take_ended(struct job *job)
{
	struct session *session = job->session;

	job->process = session->processes.ended;
	session->processes.ended = NULL;
	session->processes.is_end_queued = false;
	for (struct process *at = job->process; at != NULL; at = at->next_ended)
		at->jobs++;
}
