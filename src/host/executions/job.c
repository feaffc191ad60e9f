/*
 * job.c - the jobs of a session: made, queued, run one after the other, answered.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back from the pool.
 * Never:    runs two jobs of one kernel at once, or forgets who waits for one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/calls/document.h"
#include "host/files/file_mounts.h"
#include "host/host.h"
#include "host/tenants/quota.h"
#include "host/tenants/usage.h"
#include "host/processes/port_work.h"

struct job *job_new(struct session *session, enum job_kind kind, uint64_t request)
{
	struct job *job = mem_new0(1, sizeof(*job));

	job->session = session;
	if (session != NULL)
		answer_note(session->host, job);
	job->kind = kind;
	job->request = request;
	job->fd = job->ret_fd = -1;
	job->code = BUF_INIT(FRONT_CODE_MAX);
	job->argv_text = BUF_INIT(DB_PROCESS_TEXT_MAX);
	job->env = BUF_INIT((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX);
	return job;
}

void job_free(struct job *job)
{
	if (job->fd >= 0)
		(void)close(job->fd);
	if (job->ret_fd >= 0)
		(void)close(job->ret_fd);
	buf_done(&job->code);
	buf_done(&job->env);
	buf_done(&job->argv_text);
	free(job->argv);
	free(job->env_list);
	free(job->path);
	free(job->ports);
	file_work_done(&job->files);
	free(job->json);
	reckon_workspace_free(job->manifest);
	reckon_workspace_free(job->changes);
	free(job->objects);
	stored_free(job->stored);
	while (job->imports != NULL) {
		struct job *next = job->imports->next;

		job_free(job->imports);
		job->imports = next;
	}
	file_mounts_free(job->mounts);
	job_told_free(job->told);
	missing_free(job->missing);
	free(job);
}

void job_arm(struct job *job)
{
	struct session *session = job->session;

	/* What PATCH may have changed since the box was made. */
	if (job->timeout_ms == 0)
		job->timeout_ms = session->limits.wall_ms;
	job->output_bytes = session->limits.output_bytes;
	job->forgets = session->forgets;
	session->forgets = false;
}

static void run(struct session *session, struct job *job)
{
	session->running = job;
	if (job->execution == NULL)
		return;
	job->execution->state = EXECUTION_RUNNING;
	session->tenant->started++;
}

void session_pump(struct session *session)
{
	struct job *job = session->first;

	if (session->running != NULL || job == NULL || row_before_run_holds(job))
		return;
	/* They use the handle that goes. */
	if (job->kind == JOB_CLOSE &&
	    (session->opening_contexts > 0 || session->file_queue.running != NULL ||
	     process_is_busy(session)))
		return;
	if (session->is_parked && job->kind != JOB_CLOSE) {
		restore_want(session);
		return;
	}
	session->first = job->next;
	if (session->first == NULL)
		session->last = NULL;
	session->queued--;
	job_arm(job);
	run(session, job);
	job->submitted_ns = clock_mono_ns();
	/* Of these two the loop writes what is to be kept meanwhile (sessions/row_before_open.c, session_end()). */
	if (job->kind == JOB_CLOSE || (job->kind == JOB_OPEN && session->is_early))
		pool_submit_beside(session->host->pool, session->tenant->lane, &job->item);
	else
		pool_submit_to(session->host->pool, session->tenant->lane, &job->item);
}

void session_enqueue(struct session *session, struct job *job)
{
	job->next = NULL;
	job->queued_ns = clock_mono_ns();
	if (session->last != NULL)
		session->last->next = job;
	else
		session->first = job;
	session->last = job;
	session->queued++;
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
	struct job *job = take_out(&session->first, &session->last, &session->queued, execution);

	for (struct context *at = session->contexts; at != NULL && job == NULL; at = at->next)
		job = take_out(&at->first, &at->last, &at->queued, execution);
	return job;
}

void job_fail(struct job *job, enum api_error error, const char *why)
{
	if (job->kind == JOB_PROCESS_END)
		job->session->processes.is_end_queued = false;
	if (job->execution != NULL && error == API_ERR_UNAVAILABLE)
		execution_release_key(job->execution);
	if (job->execution != NULL)
		execution_fail(job->execution, error, why);
	else
		front_fail(job->session->host, job->request, error, why, "", "", 0);
	if (job->run != NULL)
		run_job_failed(job->run, error, why);
	job_free(job);
}

void session_fail_waiting(struct session *session, enum api_error end, const char *why)
{
	struct job *next;

	for (struct job *job = session->first; job != NULL; job = next) {
		next = job->next;
		job_fail(job, end, why);
	}
	session->first = session->last = NULL;
	session->queued = 0;
}

void session_fail_executions(struct session *session, enum api_error end, const char *why)
{
	struct job *first = session->first, *next;

	session->first = session->last = NULL;
	session->queued = 0;
	for (struct job *job = first; job != NULL; job = next) {
		next = job->next;
		if (job->execution != NULL || job->kind == JOB_VARIABLES ||
		    job->kind == JOB_COMPLETE || job->kind == JOB_INSPECT)
			job_fail(job, end, why);
		else
			session_enqueue(session, job);
	}
}

/* What is not in the database, and told when it is done. */
static void audit_job(struct host *host, const struct job *job)
{
	static const char *const actions[] = {
		[JOB_FILE_PUT] = "file.put",	       [JOB_FILE_GET] = "file.get",
		[JOB_FILE_DELETE] = "file.delete",     [JOB_FILE_MOVE] = "file.move",
		[JOB_FILE_MKDIR] = "file.mkdir",       [JOB_ARCHIVE_GET] = "archive.get",
		[JOB_ARCHIVE_PUT] = "archive.put",     [JOB_RESTART] = "kernel.restart",
		[JOB_PORT_CONNECT] = "port.connect",
		[JOB_CONTEXT_OPEN] = "context.create", [JOB_CONTEXT_CLOSE] = "context.delete",
	};
	const char *action = (size_t)job->kind < ARRAY_LEN(actions) ? actions[job->kind] : NULL;

	if (action != NULL)
		audit_note(host, action, job->session->row.id,
			   job->error.code < 0 || job->files.refusal != 0 ? "failed" : "ok",
			   "%s%s%s%s", job->path == NULL		     ? ""
			   : job->kind == JOB_PORT_CONNECT ? "port="
							   : "path=",
			   job->path != NULL ? job->path : "",
			   job->files.to != NULL ? " to=" : "",
			   job->files.to != NULL ? job->files.to : "");
}

/* Until the next execution measures the workspace again, it has grown by this much. */
static void note_upload(struct session *session, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	session_measured(session, session->memory_used, session->workspace + (uint64_t)st.st_size);
	usage_add(session->host, session->tenant,
		  &(struct front_usage){ .bytes_in = (uint64_t)st.st_size });
}

static void note_transfer(struct session *session, const struct job *job)
{
	if (job->ret_fd >= 0 && job->kind != JOB_PORT_CONNECT)
		usage_add(session->host, session->tenant,
			  &(struct front_usage){ .bytes_out = job->ret_size });
	else if (job->kind == JOB_FILE_PUT || job->kind == JOB_ARCHIVE_PUT)
		note_upload(session, job->fd);
}

/* What reads needs nothing that is written with it: an audit or a clock that could not be kept. */
static bool is_reading(const struct job *job)
{
	return job->kind == JOB_FILE_GET || job->kind == JOB_FILE_LIST ||
	       job->kind == JOB_ARCHIVE_GET || job->kind == JOB_VARIABLES ||
	       job->kind == JOB_COMPLETE || job->kind == JOB_INSPECT || job->kind == JOB_PORT_LIST;
}

void session_answer_job(struct session *session, struct job *job)
{
	struct host *host = session->host;

	host->answer_is_reading = is_reading(job);
	audit_job(host, job);
	if (job->execution != NULL) {
		session->tenant->started--;
		execution_finish(job->execution, job);
	} else if (job->is_import) {
		stored_imported(session, job);
	} else if (job->files.refusal != 0) {
		front_fail(host, job->request, job->files.refusal, job->error.message, "",
			  job->error.remedy, 0);
	} else if (job->error.code < 0) {
		front_fail_reckon(host, job->request, &job->error);
	} else {
		note_transfer(session, job);
		if (!files_answer_job(host, job) && !port_answer_job(host, job) &&
		    !call_answer_job(host, job))
			reply_done(host, job->request); /* a restart */
	}
	host->answer_is_reading = false;
	if (job->run != NULL)
		run_job_done(job->run, job);
}

static void job_done(struct session *session, struct job *job)
{
	if (job->process != NULL && job->kind != JOB_PROCESS_END) {
		process_job_done(session, job);
		return;
	}
	if (job->is_for_files) {
		file_queue_job_done(session, job);
		return;
	}
	if (job->context != NULL) {
		persist_job_done(session, job);
		context_job_done(job);
		return;
	}
	session->running = NULL;
	observe_job(session->host, job);
	if (job->kind == JOB_RESTORE) {
		restore_done(session, job);
		return;
	}
	persist_job_done(session, job);
	if (job->kind == JOB_OPEN) {
		observe_opened(session, job);
		if (session->handle != NULL)
			tenant_share_check(session->host, job);
		if (job->then != NULL && session->handle != NULL)
			run(session, job->then); /* its thread does already */
		else if (job->then != NULL)
			once_not_run(job);
		session_opened(session, job);
		job_free(job);
		return;
	}
	if (job->kind == JOB_CLOSE) {
		session_closed(session, job);
		job_free(job);
		if (session->contexts == NULL)
			session_forget(session);
		return;
	}
	files_changed(session, job);
	session->kernel_lost = job->is_kernel_lost;
	observe_kernel(session);
	once_keep(session, job);
	session_answer_job(session, job);
	once_done(session);
	if (job->is_lost && session->phase == SESSION_LIVE && !session->is_parked)
		restore_park(session, job->why_lost.message);
	job_free(job);
	session_pump(session);
}

/* The early one that is next, out of its list. */
static struct job *next_early(struct session *session)
{
	for (struct job **at = &session->early; *at != NULL; at = &(*at)->next)
		if ((*at)->changes->number == session->taken + 1) {
			struct job *found = *at;

			*at = found->next;
			return found;
		}
	return NULL;
}

/*
 * What changed in the workspace is committed in the order in which it was looked at: of two jobs
 * that ran at once the later look may come back first, and waits for the other's, which is on its
 * way.
 */
void session_job_done(struct session *session, struct job *job)
{
	const uint64_t number = job->changes != NULL ? job->changes->number : 0;

	if (number > session->taken + 1) {
		job->next = session->early;
		session->early = job;
		return;
	}
	if (number != 0)
		session->taken = number;
	job_done(session, job);
	/* One without a look may have been the session's last. */
	while (number != 0 && (job = next_early(session)) != NULL) {
		session->taken++;
		answer_begin(session->host, job);
		job_done(session, job);
	}
}
