/*
 * job_end.c - answers requests whose jobs came back or will not run.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back from the pool.
 * Never:    leaves a request unanswered.
 */
#include <sys/stat.h>

#include "host/about.h"
#include "host/fronts/reply.h"
#include "host/host.h"
#include "host/tenants/usage.h"

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
	MODULE_EACH(job->session->host, job_failed, job, error, why);
	job_free(job);
}

/* Audits actions that are not in the database, when they are done. */
static void audit_job(struct host *host, const struct job *job)
{
	const char *action = host->job_types[job->kind].action;

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

/* Adds the upload to the workspace's size until the next execution measures it. */
static void note_upload(struct session *session, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	session_measured(session, session->measured.memory,
			 session->measured.workspace + (uint64_t)st.st_size);
	usage_add(session->host, session->tenant,
		  &(struct front_usage){ .bytes_in = (uint64_t)st.st_size });
}

static void note_transfer(struct session *session, const struct job *job)
{
	if (job->result.fd >= 0 && job->kind != JOB_PORT_CONNECT)
		usage_add(session->host, session->tenant,
			  &(struct front_usage){ .bytes_out = job->result.size });
	else if (job->kind == JOB_FILE_PUT || job->kind == JOB_ARCHIVE_PUT)
		note_upload(session, job->fd);
}

void session_answer_job(struct session *session, struct job *job)
{
	struct host *host = session->host;

	host->transactions.is_reading = host->job_types[job->kind].is_reading;
	audit_job(host, job);
	if (job->execution != NULL) {
		session->tenant->started--;
		execution_finish(job->execution, job);
	} else if (job->on_done != NULL) {
		job->on_done(session, job);
	} else if (job->files.refusal != 0) {
		front_fail(host, job->request, job->files.refusal, job->error.message, "",
			  job->error.remedy, 0);
	} else if (job->error.code < 0) {
		front_fail_reckon(host, job->request, &job->error);
	} else {
		note_transfer(session, job);
		if (host->job_types[job->kind].answer != NULL)
			host->job_types[job->kind].answer(host, job);
		else
			reply_done(host, job->request);
	}
	host->transactions.is_reading = false;
	MODULE_EACH(host, job_done, job);
}

/* Removes from the list the early job that is next. */
static struct job *next_early(struct session *session)
{
	for (struct job **at = &session->looks.early; *at != NULL; at = &(*at)->next)
		if ((*at)->result.changes->number == session->looks.taken + 1) {
			struct job *found = *at;

			*at = found->next;
			return found;
		}
	return NULL;
}

/*
 * Changes in the workspace are committed in the order of the scans. If two jobs ran in parallel,
 * the one with the later scan may come back first. Then it waits for the other, which still runs.
 */
void session_job_done(struct session *session, struct job *job)
{
	const uint64_t number = job->result.changes != NULL ? job->result.changes->number : 0;
	struct host *host = session->host;

	if (number > session->looks.taken + 1) {
		job->next = session->looks.early;
		session->looks.early = job;
		return;
	}
	if (number != 0)
		session->looks.taken = number;
	host->job_types[job->kind].done(job);
	/*
	 * After a job without a scan no early job can be next, and the session may be freed
	 * already.
	 */
	while (number != 0 && (job = next_early(session)) != NULL) {
		session->looks.taken++;
		about_begin(host, job);
		host->job_types[job->kind].done(job);
	}
}
