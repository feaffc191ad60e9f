/*
 * context.c - additional kernels of a session, each with its own queue, so that they run in
 * parallel.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back from the pool.
 * Never:    closes a session while a thread opens a context in it, or replaces a context's kernel
 *           without reporting it.
 *
 *   OPENING --opened--> LIVE --DELETE--> DELETING --closed--> gone, and its row
 *                       LIVE --end of the session--> CLOSING --closed--> gone
 *                       LIVE --box lost, or the daemon restarted--> PARKED --a job--> LIVE
 *
 * A parked context has no kernel, and ends as a live one does.
 *
 * While a job runs, its thread owns the context's handle, as with a session's handle; libreckon
 * allows handles of one session to be used in parallel. If a kernel is restarted or its context
 * deleted, its waiting and running jobs fail: they were written for variables that no longer exist.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/fronts/reply.h"
#include "host/host.h"
#include "host/sessions/restart/box_lease.h"

struct context *context_find(const struct session *session, const char *id)
{
	struct context *at = session->kernels.first;

	while (at != NULL && strcmp(at->row.id, id) != 0)
		at = at->next;
	return at;
}

void context_tell(const struct context *context, struct api_context *ret)
{
	*ret = (struct api_context){
		.id = context->row.id,
		.session = context->session->row.id,
		.language = context->row.language,
		.cwd = context->row.cwd,
		.created_at = context->row.created_at,
		.kernel = context->kernel_lost ? API_CONTEXT_KERNEL_LOST : API_CONTEXT_KERNEL_READY,
		.pending = context->queued + (context->running != NULL),
	};
}

bool context_is_live(const struct context *context)
{
	return context->state == CONTEXT_LIVE || context->state == CONTEXT_PARKED;
}

static bool context_is_closing(const struct context *context)
{
	return context->state == CONTEXT_CLOSING || context->state == CONTEXT_DELETING;
}

/*
 * The warden counts contexts with a kernel; parked ones count here too, because they get one again.
 */
bool context_has_room(const struct session *session)
{
	unsigned count = 1;

	for (const struct context *at = session->kernels.first; at != NULL; at = at->next)
		count += !context_is_closing(at);
	return count < HOST_KERNELS_MAX;
}

/*
 * Returns the oldest context of the language, even while it is being opened, so that two requests
 * do not open two. Opens one if there is none.
 */
struct context *context_of_language(struct session *session, const char *language)
{
	struct context *at = session->kernels.first;

	while (at != NULL &&
	       (context_is_closing(at) || strcmp(at->row.language, language) != 0))
		at = at->next;
	if (at != NULL || !context_has_room(session))
		return at;
	at = context_new(session);
	(void)snprintf(at->row.language, sizeof(at->row.language), "%s", language);
	(void)snprintf(at->row.cwd, sizeof(at->row.cwd), "/mnt/data");
	/*
	 * No request waits for the context itself. If it cannot be opened, its waiting jobs fail.
	 */
	context_enqueue(session, at, job_new(session, JOB_CONTEXT_OPEN, 0));
	return at;
}

static void context_free(struct context *context)
{
	struct session *session = context->session;

	for (struct context **at = &session->kernels.first; *at != NULL; at = &(*at)->next)
		if (*at == context) {
			*at = context->next;
			break;
		}
	db_context_done(&context->row);
	free(context);
	if (session->kernels.first == NULL && life_is_closed(session->life))
		session_forget(session);
}

static void fail_waiting(struct context *context, enum api_error end, const char *why)
{
	struct job *job;

	while ((job = context->first) != NULL) {
		context->first = job->next;
		job_fail(job, end, why);
	}
	context->last = NULL;
	context->queued = 0;
}

/* Gets a kernel for a parked context; its waiting jobs run afterwards. */
static void reopen(struct context *context, bool adopts)
{
	struct session *session = context->session;
	struct job *job = job_new(session, JOB_CONTEXT_OPEN, 0);
	struct err err;

	job->context = context;
	if (adopts)
		job->how = JOB_HOW_ADOPTS;
	if (job_fill_env(job, &context->row.env, &err) < 0) {
		job_free(job);
		fail_waiting(context, API_ERR_INTERNAL, err.text);
		return;
	}
	context->running = job;
	job->box.lease_seconds = box_lease_seconds(session);
	session->kernels.opening++;
	job->times.queued_ns = job->times.submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->pools.main, session->tenant->lane, &job->item);
}

static void pump(struct context *context)
{
	struct session *session = context->session;
	struct job *job = context->first;

	if (context->running != NULL || job == NULL || row_before_run_holds(job) ||
	    life_stands_still(session->life))
		return;
	if (job->kind != JOB_CONTEXT_CLOSE && session_is_parked(session)) {
		restore_want(session);
		return;
	}
	if (job->kind != JOB_CONTEXT_CLOSE && context->state == CONTEXT_PARKED) {
		reopen(context, false);
		return;
	}
	session->kernels.opening += job->kind == JOB_CONTEXT_OPEN;
	context->first = job->next;
	if (context->first == NULL)
		context->last = NULL;
	context->queued--;
	context->running = job;
	if (job->execution != NULL) {
		job->execution->state = EXECUTION_RUNNING;
		session->tenant->started++;
	}
	job->box.lease_seconds = box_lease_seconds(session);
	job->times.submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->pools.main, session->tenant->lane, &job->item);
}

void context_enqueue(struct session *session, struct context *context, struct job *job)
{
	if (context == NULL) {
		session_enqueue(session, job);
		return;
	}
	job->context = context;
	job->next = NULL;
	job->times.queued_ns = clock_mono_ns();
	if (context->last != NULL)
		context->last->next = job;
	else
		context->first = job;
	context->last = job;
	context->queued++;
	pump(context);
}

/* Kills running code at once: its variables are not needed any more. */
static void stop_running(struct job *running, reckon_session *handle)
{
	if (running == NULL || running->execution == NULL)
		return;
	execution_want_stop(running->execution, EXECUTION_STOP_KILL);
	reckon_kill(handle);
}

static void begin_end(struct context *context, enum context_state state, enum api_error code,
		      const char *why, uint64_t request)
{
	struct job *close;

	if (context_is_closing(context)) {
		reply_done(context->session->host, request);
		return;
	}
	fail_waiting(context, code, why);
	/* A context that is being opened is closed when that is done. */
	if (context_is_live(context))
		stop_running(context->running, context->handle);
	context->state = state;
	close = job_new(context->session, JOB_CONTEXT_CLOSE, request);
	/* Its kernel waits for the next daemon, together with the session's box. */
	if (lifecycle_is_ending(&context->session->host->life) && state != CONTEXT_DELETING &&
	    box_lease_seconds(context->session) > 0)
		close->how = JOB_HOW_HANDS_OVER;
	context_enqueue(context->session, context, close);
}

void context_end(struct context *context, enum api_error code, const char *why, uint64_t request)
{
	begin_end(context, CONTEXT_CLOSING, code, why, request);
}

void context_delete(struct context *context, uint64_t request)
{
	begin_end(context, CONTEXT_DELETING, API_ERR_CONTEXT_NOT_FOUND, "the context was deleted",
	    request);
}

void context_end_all(struct session *session, enum api_error end, const char *why)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (!context_is_closing(at))
			context_end(at, end, why, 0);
}

static void put_row(struct context *context)
{
	struct session *session = context->session;
	struct err err;

	/* An ended session has no state in the database any more. */
	if (life_has_ended(session->life))
		return;
	if (db_context_put(session->host->db, session->row.id, &context->row, &err) < 0)
		transaction_fail(session->host, &err);
}

static void set_variables(struct db_context *row, const char *variables)
{
	free(row->variables);
	row->variables = variables != NULL ? mem_strdup(variables) : NULL;
}

static void park(struct context *context, const char *why)
{
	struct db_context *row = &context->row;

	if (context->state != CONTEXT_LIVE)
		return;
	context->state = CONTEXT_PARKED;
	if (!row->has_run)
		return;
	context->kernel_lost = true;
	(void)snprintf(row->kernel, sizeof(row->kernel), "lost");
	(void)snprintf(row->lost_why, sizeof(row->lost_why), "%s", why);
	put_row(context);
}

/* Handles the end of reopen(). */
static void reopened(struct context *context, const struct job *job)
{
	struct session *session = context->session;
	struct db_context *row = &context->row;

	if (job->error.code < 0 && job->how == JOB_HOW_ADOPTS) {
		/* The first job that needs a kernel starts a new one. */
		log_line(LOG_INFO, "a context was not adopted",
			 "session=%s context=%s why=\"%s\"", session->row.id, row->id,
			 job->error.message);
	} else if (job->error.code < 0) {
		log_line(LOG_ERROR, "a context could not be brought back",
			 "session=%s context=%s why=\"%s\"", session->row.id, row->id,
			 job->error.message);
		if (job->error.code == RECKON_ELOST && !session_is_parked(session) &&
		    life_is_live(session->life))
			restore_park(session, job->error.message); /* waiting jobs get a new box */
		else
			fail_waiting(context, API_ERR_UNAVAILABLE, job->error.message);
	} else if (!session_is_parked(session) && context_is_live(context)) {
		context->state = CONTEXT_LIVE;
		context->kernel_lost = false;
		(void)snprintf(row->kernel, sizeof(row->kernel), "ready");
		/*
		 * The loss is reported with the next record. What that record leaves belongs to the
		 * new kernel.
		 */
		row->lost_why[0] = '\0';
		if (job->how != JOB_HOW_ADOPTS)
			set_variables(row, NULL);
		put_row(context);
	}
	pump(context);
}

static void opened(struct context *context, struct job *job)
{
	struct session *session = context->session;
	struct host *host = session->host;
	struct api_context reply;

	session->kernels.opening--;
	if (context->row.id[0] != '\0') {
		reopened(context, job);
		return;
	}
	if (job->error.code < 0) {
		front_fail_reckon(host, job->request, &job->error);
		/*
		 * Fails the jobs of a context that was opened for a language. A waiting CLOSE stays
		 * and has nothing to do.
		 */
		if (!context_is_closing(context))
			fail_waiting(context, front_error_of(&job->error), job->error.message);
		context->state = CONTEXT_CLOSING;
		if (context->first == NULL)
			context_free(context);
		else
			pump(context);
	} else {
		(void)snprintf(context->row.id, sizeof(context->row.id), "%s",
			       reckon_context_id(context->handle));
		clock_rfc3339_now(context->row.created_at);
		if (context_is_closing(context)) {
			front_fail(host, job->request, API_ERR_SESSION_CLOSED,
				  "the session was closed meanwhile", "", "", 0);
		} else if (job->request != 0 && !front_is_pending(host, job->request)) {
			/* The client disconnected and never got the id. */
			context->state = CONTEXT_LIVE;
			context_end(context, API_ERR_SESSION_CLOSED, "nobody waited for it", 0);
			return;
		} else {
			/* The box may have been lost meanwhile. */
			context->state = session_is_parked(session) ? CONTEXT_PARKED : CONTEXT_LIVE;
			context->is_unborn = host->transactions.is_open;
			context->unborn_transaction = host->transactions.current;
			transaction_note(session);
			put_row(context);
			context_tell(context, &reply);
			reply_context_create(host, job->request, &reply);
		}
		pump(context);
	}
}

void context_job_done(struct job *job)
{
	struct context *context = job->context;
	struct session *session = context->session;
	struct err err;
	bool is_last;

	context->running = NULL;
	persist_use(session);
	observe_job(session->host, job);
	if (job->kind == JOB_CONTEXT_OPEN) {
		opened(context, job);
		job_free(job);
		session_pump(session); /* a CLOSE may have waited for this job */
		if (session_is_parked(session)) {
			file_queue_pump(session);
			process_pump(session);
		}
		return;
	}
	if (job->kind == JOB_CONTEXT_CLOSE) {
		if (context->state == CONTEXT_DELETING &&
		    db_context_drop(session->host->db, context->row.id, &err) < 0)
			transaction_fail(session->host, &err);
		reply_done(session->host, job->request);
		job_free(job);
		is_last = life_is_closed(session->life);
		context_free(context);
		if (!is_last) {
			session_pump(session);
			file_queue_pump(session);
			process_pump(session);
		}
		return;
	}
	context->kernel_lost = job->result.loss == JOB_LOST_KERNEL;
	context_keep(context, job);
	files_changed(session, job);
	session_answer_job(session, job);
	if (job->result.loss == JOB_LOST_BOX)
		park(context, job->result.why_lost.message);
	job_free(job);
	pump(context);
	if (session_is_parked(session)) {
		session_pump(session); /* a new box may have waited for this job */
		file_queue_pump(session);
		process_pump(session);
	}
}

void context_keep(struct context *context, struct job *job)
{
	struct db_context *row = &context->row;
	const char *variables = job->result.changes != NULL ? job->result.changes->variables : NULL;
	bool is_new = false;

	if (job->kind == JOB_EXECUTE && !row->has_run)
		is_new = row->has_run = true;
	if (variables != NULL &&
	    strcmp(row->variables != NULL ? row->variables : "", variables) != 0) {
		set_variables(row, variables);
		is_new = true;
	}
	if (is_new)
		put_row(context);
}

void context_pump_all(struct session *session)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		pump(at);
}

void context_fail_waiting(struct session *session, enum api_error end, const char *why)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (!context_is_closing(at))
			fail_waiting(at, end, why);
}

void context_park_all(struct session *session, const char *why)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		park(at, why);
}

void context_transaction_synced(struct session *session, uint64_t upto)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (at->unborn_transaction <= upto)
			at->is_unborn = false;
}

void context_transaction_failed(struct session *session, uint64_t first)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next) {
		if (!at->is_unborn || at->unborn_transaction < first)
			continue;
		at->is_unborn = false;
		context_end(at, API_ERR_CONTEXT_NOT_FOUND, "it could not be kept", 0);
	}
}

struct context *context_new(struct session *session)
{
	struct context *context = mem_new0(1, sizeof(*context)), **end = &session->kernels.first;

	context->session = session;
	db_context_init(&context->row);
	while (*end != NULL)
		end = &(*end)->next;
	*end = context;
	return context;
}

static void revive(struct db_context *row, void *arg)
{
	struct context *context = context_new(arg);

	db_context_done(&context->row);
	context->row = *row;
	context->state = CONTEXT_PARKED;
	context->kernel_lost = strcmp(row->kernel, "lost") == 0;
}

void context_adopt_all(struct session *session)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (at->state == CONTEXT_PARKED && at->running == NULL)
			reopen(at, true);
}

int context_revive(struct session *session, struct err *err)
{
	return db_context_list(session->host->db, session->row.id, revive, session, err);
}

void context_restart(struct session *session, struct context *context, uint64_t request)
{
	static const char why[] = "the kernel was restarted before it began";

	if (context != NULL) {
		fail_waiting(context, API_ERR_KERNEL_LOST, why);
		stop_running(context->running, context->handle);
	} else {
		session_fail_executions(session, API_ERR_KERNEL_LOST, why);
		stop_running(session->queue.running, session->box.handle);
	}
	context_enqueue(session, context, job_new(session, JOB_RESTART, request));
}

void context_tick(struct session *session)
{
	for (struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (at->running != NULL && at->running->execution != NULL)
			execution_nudge(at->running->execution, at->handle);
}
