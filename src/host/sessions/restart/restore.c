/*
 * restore.c - makes a new box for a session that has none: with its files from the store, its old
 * id.
 *
 * Runs in:  reckond's loop; restore_work() in a thread of the pool.
 * Reads:    the manifest in the database.
 * Never:    continues with an incomplete workspace, unless a client asked for the intact files; or
 *           discards the list of files after a failure: the next request tries again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/host.h"
#include "host/sessions/folders.h"

#define RESTORING_MAX 4u
#define MISSING_PATHS_MAX 100u
#define MISSING_PATHS_SIZE ((size_t)2 << 20)

/* ---- what the store lacks ------------------------------------------------------------------- */

/* Runs in the pool's thread. */
static void note_missing(const char *path, const char *why, void *arg)
{
	struct job *job = arg;
	struct missing *missing = job->box.missing;
	struct json_writer json;
	struct err ignored;

	if (missing == NULL) {
		missing = job->box.missing = mem_new0(1, sizeof(*missing));
		missing->paths = BUF_INIT(MISSING_PATHS_SIZE);
		(void)snprintf(missing->why, sizeof(missing->why),
			       "%.100s could not be restored: %s", path, why);
	}
	if (missing->count++ >= MISSING_PATHS_MAX)
		return;
	if (missing->paths.len > 0)
		missing->paths.len--; /* removes the closing bracket */
	(void)buf_addc(&missing->paths, missing->paths.len > 0 ? ',' : '[', &ignored);
	json_write_init(&json, &missing->paths);
	json_write_string(&json, path);
	(void)json_write_finish(&json, &ignored);
	(void)buf_addc(&missing->paths, ']', &ignored);
}

static void refuse_missing(struct job *job)
{
	const struct missing *missing = job->box.missing;

	job->error.code = RECKON_ELOST;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s", missing->why);
	if (missing->count > 1)
		(void)snprintf(job->error.message, sizeof(job->error.message), "%s, and %zu more",
			       missing->why, missing->count - 1);
}

/* ---- a box ---------------------------------------------------------------------------------- */

int job_fill_env(struct job *job, const struct buf *env, struct err *err)
{
	size_t count = 0;

	if (env->len > 0 && buf_add(&job->box.env, env->data, env->len, err) < 0)
		return (int)err->code;
	for (size_t at = 0; at < job->box.env.len; at += strlen(job->box.env.data + at) + 1)
		count++;
	job->box.env_list = mem_new0(count + 1, sizeof(*job->box.env_list));
	count = 0;
	for (size_t at = 0; at < job->box.env.len; at += strlen(job->box.env.data + at) + 1)
		job->box.env_list[count++] = job->box.env.data + at;
	return 0;
}

/* Adds to the reason that the next record reports with lost variables. */
static void tell_lost(struct session *session, size_t count, const char *how, const char *first)
{
	char *why = session->persisted.lost_why;
	const size_t len = strlen(why);

	/* An earlier try that failed added it already. */
	if (count == 0 || strstr(why, how) != NULL)
		return;
	(void)snprintf(why + len, sizeof(session->persisted.lost_why) - len,
		       "%s%zu %s and are gone: %s", len > 0 ? "; " : "", count, how, first);
}

/* Reports files that were not stored, and so do not come back. */
static void tell_unsaved(struct session *session, const reckon_workspace *manifest)
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->count; i++)
		count += manifest->entries[i].kind == RECKON_ENTRY_NOT_KEPT;
	tell_lost(session, count, "files had not been kept", session->persisted.unsaved_why);
}

static void begin(struct session *session)
{
	struct host *host = session->host;
	struct job *job;
	struct err err;

	if (host->sessions.restoring >= RESTORING_MAX) {
		session->box.state = BOX_IN_LINE;
		return;
	}
	session->box.state = BOX_PARKED;
	job = job_new(session, JOB_RESTORE, 0);
	tenant_share_note(host, job);
	if (db_files_load(host->db, session->row.id, &job->box.manifest, &err) < 0 ||
	    job_fill_env(job, &session->persisted.env, &err) < 0) {
		job_free(job);
		MODULE_EACH(host, session_fails, session, API_ERR_INTERNAL, err.text);
		return;
	}
	tell_unsaved(session, job->box.manifest);
	/* Gives up only files that are known to be missing, which the first try finds out. */
	if (session->box.wants_intact && session->box.missing != NULL) {
		job->how = JOB_HOW_INTACT;
		tell_lost(session, session->box.missing->count, "files are missing in the store",
			  session->box.missing->why);
	}
	folders_again(session);
	session->queue.running = job;
	job->times.queued_ns = job->times.submitted_ns = clock_mono_ns();
	host->sessions.restoring++;
	pool_submit_to(host->pools.main, session->tenant->lane, &job->item);
}

void restore_want(struct session *session)
{
	/* Jobs that still use the old box call this again when they return; so does an adoption. */
	if (life_is_live(session->life) && session->box.state != BOX_LEFT &&
	    session->queue.running == NULL &&
	    session->kernels.opening == 0 && session->file_queue.running == NULL &&
	    session->processes.jobs == 0 && !context_is_running(session))
		begin(session);
}

void restore_close_box(struct session *session)
{
	reckon_session_close(session->file_queue.handle);
	session->file_queue.handle = NULL;
	reckon_session_close(session->box.handle);
	reckon_engine_close(session->box.engine);
	session->box.handle = NULL;
	session->box.engine = NULL;
}

void restore_work(struct job *job)
{
	struct session *session = job->session;

	restore_close_box(session); /* the lost box, if there is one */
	work_open(job);
	if (session->box.handle == NULL)
		return;
	if (reckon_workspace_restore_intact(session->box.handle, job->box.manifest, note_missing,
					    job, &job->error) == RECKON_OK) {
		if (job->box.missing == NULL || job->how == JOB_HOW_INTACT)
			return;
		refuse_missing(job);
	}
	restore_close_box(session);
}

void restore_park(struct session *session, const char *why)
{
	struct db_persisted *persisted = &session->persisted;
	struct err err;

	log_line(LOG_WARN, "a session lost its box", "session=%s why=\"%s\"", session->row.id, why);
	session->box.state = BOX_PARKED;
	session->box.kernel_lost = false;
	MODULE_EACH(session->host, box_lost, session, why);
	free(session->box.observed);
	session->box.observed = NULL;
	session->looks.ran_since = false;
	(void)snprintf(persisted->kernel, sizeof(persisted->kernel), "lost");
	(void)snprintf(persisted->lost_why, sizeof(persisted->lost_why), "%s", why);
	if (persist_write(session, &err) < 0)
		transaction_fail(session->host, &err);
}

void restore_next(struct host *host)
{
	for (struct session *at = host->sessions.first; at != NULL &&
	     host->sessions.restoring < RESTORING_MAX;
	     at = at->next)
		if (at->box.state == BOX_IN_LINE) {
			at->box.state = BOX_PARKED;
			restore_want(at);
		}
}

static void restored(struct session *session)
{
	struct db_persisted *persisted = &session->persisted;
	struct err err;

	session->box.state = BOX_THERE;
	session->box.wants_intact = false;
	session->looks.taken = 0;
	(void)snprintf(persisted->kernel, sizeof(persisted->kernel), "ready");
	clock_rfc3339_now(persisted->restored_at);
	/*
	 * The loss is reported with the next record. What that record leaves belongs to the new
	 * kernel.
	 */
	persisted->lost_why[0] = '\0';
	free(persisted->variables);
	persisted->variables = NULL;
	persist_use(session);
	if (persist_write(session, &err) < 0)
		transaction_fail(session->host, &err);
	log_line(LOG_INFO, "session restored", "session=%s", session->row.id);
}

void restore_done(struct job *job)
{
	struct session *session = job->session;
	char why[DB_WHY_SIZE];

	session->queue.running = NULL;
	observe_job(session->host, job);
	session->host->sessions.restoring--;
	if (session->box.handle != NULL && life_is_live(session->life)) {
		observe_opened(session, job);
		tenant_share_check(session->host, job);
		restored(session);
	} else if (life_is_live(session->life)) {
		log_line(LOG_ERROR, "a session could not be restored", "session=%s why=\"%s\"",
			 session->row.id, job->error.message);
		(void)snprintf(why, sizeof(why), "it could not be brought back: %s",
			       job->error.message);
		/* Keeps the manifest, and each request tries again: missing files may come back. */
		if (!session->box.wants_intact || job->how == JOB_HOW_INTACT ||
		    job->box.missing == NULL) {
			session->box.wants_intact = false;
			MODULE_EACH(session->host, session_fails, session, API_ERR_UNAVAILABLE,
				    why);
		}
	}
	missing_free(session->box.missing);
	session->box.missing = session->box.handle == NULL ? TAKE_PTR(job->box.missing) : NULL;
	job_free(job);
	MODULE_EACH(session->host, session_goes_on, session);
	restore_next(session->host);
}
