/*
 * done.c - handles jobs of a session that came back: opened, closed, or done by its kernel.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back from the pool.
 * Never:    answers for a session that lost its state, or keeps one whose id nobody got.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/files/watch.h"
#include "host/fronts/reply.h"
#include "host/host.h"
#include "host/sessions/prewarmed.h"
#include "host/sessions/restart/row_before_open.h"
#include "host/tenants/usage.h"

/* Whether a run or a client still waits for the session. */
static bool is_wanted(const struct host *host, const struct job *job)
{
	if (job->run != NULL)
		return job->run->state != RUN_ENDED;
	return front_is_pending(host, job->request);
}

/* Makes the session live and stores it. */
static int note_opened(struct session *session, struct err *err)
{
	(void)snprintf(session->row.id, sizeof(session->row.id), "%s",
		       reckon_session_id(session->box.handle));
	session_index(session);
	(void)snprintf(session->row.template_name, sizeof(session->row.template_name), "%s",
		       reckon_session_template(session->box.handle));
	(void)life_move(&session->life, SESSION_LIVE, session->row.id);
	row_before_open_note(session);
	prewarmed_want(session->host);
	if (session->transactions.early_failed.code != ERR_OK) {
		*err = session->transactions.early_failed;
		return (int)err->code;
	}
	if (session->transactions.is_early)
		return 0;
	clock_rfc3339_now(session->row.created_at);
	persist_use(session);
	return session_commit_start(session, err);
}

/* The last of them answers (calls/session.c). */
static void enqueue_imports(struct session *session, struct job *opened)
{
	struct job *job;

	while ((job = opened->box.imports) != NULL) {
		opened->box.imports = job->next;
		job->session = session;
		job->request = opened->request;
		job->about = opened->about;
		memcpy(job->actor, opened->actor, sizeof(job->actor));
		if (opened->box.imports == NULL)
			job->how = JOB_HOW_LAST;
		file_queue_enqueue(session, job);
	}
}

static void session_opened(struct session *session, struct job *job)
{
	struct host *host = session->host;
	struct err err;

	host->admission.opening -= session->measured.is_admitted;
	session->measured.is_admitted = false;
	if (life_is_closing(session->life)) {
		/* Its CLOSE is already in the queue, maybe behind code that runs (calls/once.c). */
		session_interrupt(session);
		front_fail(host, job->request, API_ERR_UNAVAILABLE, session->row.why, "", "", 0);
		MODULE_EACH(host, job_failed, job, API_ERR_UNAVAILABLE, session->row.why);
		if (life_is_leaving(session->life))
			row_before_open_undo(session, session->row.why);
		session_pump(session);
		return;
	}
	if (session->box.handle == NULL) {
		front_fail_reckon(host, job->request, &job->error);
		MODULE_EACH(host, job_failed, job,
			    job->error.code == RECKON_ENOT_FOUND ? API_ERR_NOT_FOUND
								 : API_ERR_UNAVAILABLE,
			    job->error.message);
		row_before_open_undo(session, job->error.message);
		session_forget(session);
		return;
	}
	if (note_opened(session, &err) < 0) {
		front_fail_err(host, job->request, &err);
		execution_rowless(session, &err);
		session_end(session, API_ERR_SESSION_LOST, err.text, 0);
	} else if (!is_wanted(host, job) || lifecycle_is_ending(&host->life)) {
		/* The client disconnected and never got the id. */
		usage_unopened(host, session->tenant);
		session_end(session, API_ERR_SESSION_CLOSED, "nobody waited for it any more", 0);
	} else {
		log_line(LOG_INFO, "session opened", "session=%s tenant=%s", session->row.id,
			 session->row.tenant);
		if (job->how != JOB_HOW_ONCE && job->box.imports != NULL)
			enqueue_imports(session, job);
		else
			MODULE_EACH(host, session_opened, session, job);
	}
	MODULE_EACH(host, job_opened, job);
}

static void session_closed(struct session *session, const struct job *job)
{
	struct err err;

	if (session->transactions.is_end_unsaved && session_keep_end_again(session, &err) < 0)
		transaction_fail(session->host, &err);
	reply_done(session->host, job->request);
	(void)life_move(&session->life,
			life_is_leaving(session->life) ? SESSION_LEFT : SESSION_ENDED,
			session->row.id);
}

/* Drops the code of a session that could not be opened. */
static void drop_then(struct job *opened)
{
	execution_free(opened->box.then->execution);
	job_free(TAKE_PTR(opened->box.then));
}

void session_job_opened(struct job *job)
{
	struct session *session = job->session;

	session->queue.running = NULL;
	observe_job(session->host, job);
	persist_job_done(session, job);
	observe_opened(session, job);
	if (session->box.handle != NULL)
		tenant_share_check(session->host, job);
	if (job->box.then != NULL && session->box.handle != NULL)
		session_run(session, job->box.then); /* its thread already runs it */
	else if (job->box.then != NULL)
		drop_then(job);
	session_opened(session, job);
	job_free(job);
}

void session_job_closed(struct job *job)
{
	struct session *session = job->session;

	session->queue.running = NULL;
	observe_job(session->host, job);
	persist_job_done(session, job);
	session_closed(session, job);
	job_free(job);
	if (session->kernels.first == NULL)
		session_forget(session);
}

void session_job_answered(struct job *job)
{
	struct session *session = job->session;

	persist_job_done(session, job);
	if (job->context != NULL) {
		context_job_done(job);
		return;
	}
	session->queue.running = NULL;
	observe_job(session->host, job);
	files_changed(session, job);
	session->box.kernel_lost = job->result.loss == JOB_LOST_KERNEL;
	observe_kernel(session);
	once_keep(session, job);
	session_answer_job(session, job);
	once_done(session);
	if (job->result.loss == JOB_LOST_BOX && life_is_live(session->life) &&
	    !session_is_parked(session))
		restore_park(session, job->result.why_lost.message);
	job_free(job);
	session_pump(session);
}

void file_queue_job_done(struct job *job)
{
	struct session *session = job->session;

	session->file_queue.running = NULL;
	if (job->kind != JOB_PROCESS_END)
		observe_job(session->host, job);
	if (job->watch != NULL) {
		watch_job_done(job);
	} else {
		persist_job_done(session, job);
		files_changed(session, job);
		if (job->kind == JOB_PROCESS_END)
			process_job_done(job);
		else
			session_answer_job(session, job);
	}
	if (job->result.loss == JOB_LOST_BOX && life_is_live(session->life) &&
	    !session_is_parked(session))
		restore_park(session, job->result.why_lost.message);
	job_free(job);
	file_queue_pump(session);
	session_pump(session); /* a CLOSE, or a new box, may have waited for this job */
}
