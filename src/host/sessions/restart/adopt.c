/*
 * adopt.c - takes over boxes that an earlier daemon left, with their kernels.
 *
 * Runs in:  reckond's loop; adopt_work() in a thread of the pool.
 * Reads:    the database, what libreckon reports about a box.
 * Never:    continues with a kernel that ran something whose end the database does not have: then
 *           the session is restored from the database, as if its box were gone.
 *
 * A box has a lease, whose key only a daemon with the secret of this state directory can compute.
 * When the daemon ends in any way, the warden keeps the box frozen for `adopt-grace` seconds. The
 * next daemon adopts the boxes of all live sessions at its start, many at a time, because these
 * leases expire. The next job of the session, or a job soon after (session_tick()), scans every
 * byte of the workspace and reports all differences as one change.
 */
#include "host/sessions/restart/adopt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/host.h"
#include "host/sessions/restart/box_lease.h"

#define ADOPTING_MAX 16u

static void close_all(struct session *session)
{
	reckon_session_close(session->box.handle);
	reckon_engine_close(session->box.engine);
	session->box.handle = NULL;
	session->box.engine = NULL;
}

void adopt_work(struct job *job)
{
	struct session *session = job->session;
	const reckon_session_options options = work_options(job);
	unsigned char key[RECKON_LEASE_SIZE];
	int code = work_engine(session->host, &session->box.engine, &job->error);

	box_lease_key(session, session->row.id, key);
	if (code == RECKON_OK)
		code = reckon_session_adopt(session->box.engine, &options, key,
					    (const char *const *)job->box.recorded,
					    &session->box.handle, &job->error);
	explicit_bzero(key, sizeof(key));
	if (code == RECKON_OK)
		box_lease(job);
	else
		close_all(session);
}

/* False: the box cannot be adopted; a session that needs one is restored. */
static bool begin(struct session *session)
{
	struct host *host = session->host;
	struct job *job = job_new(session, JOB_ADOPT, 0);
	struct err err;

	tenant_share_note(host, job);
	job_arm(job);
	if (db_recorded(host->db, session->row.id, &job->box.recorded, &err) < 0 ||
	    job_fill_env(job, &session->persisted.env, &err) < 0) {
		log_line(LOG_WARN, "a session cannot be adopted", "session=%s why=\"%s\"",
			 session->row.id, err.text);
		job_free(job);
		return false;
	}
	session->queue.running = job;
	job->times.queued_ns = job->times.submitted_ns = clock_mono_ns();
	host->sessions.adopting++;
	pool_submit_to(host->pools.main, session->tenant->lane, &job->item);
	return true;
}

/* A session that needs a box waits until this is done (restore_want()). */
static void adopt_next(struct host *host)
{
	for (struct session *at = host->sessions.first; at != NULL &&
	     host->sessions.adopting < ADOPTING_MAX;
	     at = at->next) {
		if (at->box.state != BOX_LEFT || at->queue.running != NULL ||
		    (life_is_live(at->life) && begin(at)))
			continue;
		at->box.state = BOX_PARKED;
		MODULE_EACH(host, session_goes_on, at);
	}
}

/* A warden in our control group is ended with us by a service manager, and its boxes with it. */
static void check_manager(const struct host *host)
{
	const char *path = secure_getenv("RECKON_WARDEN_SOCKET");

	if (path == NULL || path[0] == '\0' || host->config.adopt_grace_ms == 0 ||
	    access(path, W_OK) == 0)
		return;
	log_line(LOG_WARN, "kernels will not outlive a crash of this service",
		 "why=\"cannot ask for a warden at %s: %s\"", path, strerror(errno));
}

void adopt_start(struct host *host)
{
	check_manager(host);
	adopt_next(host);
}

static void adopted(struct session *session, const struct job *job)
{
	struct db_persisted *persisted = &session->persisted;
	struct err err;

	session->box.state = BOX_THERE;
	session->looks.ran_since = true; /* its workspace is not scanned yet */
	(void)snprintf(persisted->kernel, sizeof(persisted->kernel), "ready");
	persisted->lost_why[0] = '\0';
	observe_adopted(session);
	tenant_share_check(session->host, job);
	audit_note(session->host, "session.adopt", session->row.id, "ok", "%s",
		   "its kernel was left by the daemon before");
	if (persist_write(session, &err) < 0)
		transaction_fail(session->host, &err);
	log_line(LOG_INFO, "session adopted", "session=%s", session->row.id);
	context_adopt_all(session);
}

static void not_adopted(const struct session *session, const struct job *job)
{
	const bool is_gone = job->error.code == RECKON_ENOT_FOUND;

	metrics_add(&session->host->seen.metrics, METRICS_ADOPTED, 1, 1);
	log_line(is_gone ? LOG_INFO : LOG_WARN, "a session was not adopted",
		 "session=%s why=\"%s\"", session->row.id, job->error.message);
}

void adopt_done(struct job *job)
{
	struct session *session = job->session;
	struct host *host = session->host;

	session->queue.running = NULL;
	session->box.state = BOX_PARKED;
	host->sessions.adopting--;
	observe_job(host, job);
	if (life_is_live(session->life) && session->box.handle != NULL)
		adopted(session, job);
	else if (life_is_live(session->life))
		not_adopted(session, job);
	job_free(job);
	MODULE_EACH(host, session_goes_on, session);
	adopt_next(host);
}
