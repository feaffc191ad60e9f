/*
 * pause.c - pauses and resumes sessions: the box is frozen, and the session's time limit stops.
 *
 * Runs in:  reckond's loop; pause_work() in a thread of the pool.
 * Reads:    jobs that came back, the clocks.
 * Never:    freezes running code: a pause waits for its end; never ends a paused session.
 *
 * A paused session keeps its box, and so its memory, while the daemon runs. After a restart of the
 * daemon it is still paused and has only its files. A session that is paused without its memory
 * gives up its box at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/host.h"

#define LEFT_MIN_MS 300000u /* for a session that had less time left */

static void move(struct session *session, enum session_life to)
{
	(void)life_move(&session->life, to, session->row.id);
}

static void write_down(struct session *session)
{
	struct err err;

	if (persist_write(session, &err) < 0)
		transaction_fail(session->host, &err);
}

/* ---- pausing -------------------------------------------------------------------------------- */

static bool is_quiet(const struct session *session)
{
	return session->queue.running == NULL && session->queue.first == NULL &&
	       session->kernels.opening == 0 && !context_is_running(session) &&
	       file_queue_is_idle(session) && session->processes.jobs == 0 &&
	       session->processes.starts == NULL;
}

static void paused(struct session *session)
{
	struct pause *pause = &session->pause;
	bool is_own;
	struct err err;

	move(session, SESSION_PAUSED);
	session->looks.ran_since = false;
	session->persisted.paused_ms = clock_wall_ms();
	if (transaction_join(session->host, &is_own, &err) < 0) {
		transaction_fail(session->host, &err);
		return;
	}
	write_down(session);
	audit_note(session->host, "session.pause", session->row.id, "ok", "%s",
		   pause->request == 0 ? "its time is over" : "");
	log_line(LOG_INFO, "session paused", "session=%s", session->row.id);
	if (pause->request != 0)
		MODULE_EACH(session->host, session_paused, session, pause->request);
	pause->request = 0;
	transaction_leave(session->host, is_own, 0);
}

void pause_try(struct session *session)
{
	struct job *job;

	if (session->life != SESSION_PAUSE_REQUESTED || !is_quiet(session))
		return;
	if (session_is_parked(session)) {
		paused(session);
		return;
	}
	job = job_new(session, JOB_PAUSE, 0);
	if (session->pause.drops_box)
		job->how = JOB_HOW_DROPS_BOX;
	session_enqueue(session, job);
	move(session, SESSION_PAUSING);
}

void pause_begin(struct session *session)
{
	if (session->life != SESSION_LIVE)
		return;
	move(session, SESSION_PAUSE_REQUESTED);
	session->pause.request = 0;
	session->pause.drops_box = (session->persisted.pauses & DB_PAUSES_WITHOUT_MEMORY) != 0;
	pause_try(session);
}

void pause_work(struct job *job)
{
	struct session *session = job->session;
	reckon_error ignored;

	/* Scans the files first, whatever happens to the box afterwards. */
	if (job->kind == JOB_PAUSE || job->how == JOB_HOW_DROPS_BOX)
		(void)reckon_workspace_keep(session->box.handle, 1, &job->error);
	if (job->error.code < 0)
		return;
	if (job->how == JOB_HOW_DROPS_BOX) {
		(void)reckon_workspace_take(session->box.handle, &job->result.changes, &ignored);
		restore_close_box(session);
	} else if (job->kind == JOB_PAUSE) {
		(void)reckon_session_freeze(session->box.handle, &job->error);
	} else {
		(void)reckon_session_thaw(session->box.handle, &job->error);
	}
}

/* ---- resuming ------------------------------------------------------------------------------- */

/* Moves the expiry by the time that the session was paused. */
static void give_time(struct session *session)
{
	struct pause *pause = &session->pause;
	const struct db_persisted *persisted = &session->persisted;
	const uint64_t from = pause->counts_from_ms > persisted->paused_ms ? pause->counts_from_ms
									   : persisted->paused_ms;
	const uint64_t now = clock_wall_ms();
	uint64_t left = persisted->expires_ms > from ? persisted->expires_ms - from : 0;

	if (pause->expires_in_ms != 0)
		persist_set_expiry(session, now + pause->expires_in_ms);
	else if (persisted->expires_ms != 0 && persisted->paused_ms != 0)
		persist_set_expiry(session, now + (left > LEFT_MIN_MS ? left : LEFT_MIN_MS));
	pause->expires_in_ms = pause->counts_from_ms = 0;
}

static void resumed(struct session *session)
{
	struct pause *pause = &session->pause;
	struct db_persisted *persisted = &session->persisted;
	bool is_own;
	struct err err;

	move(session, SESSION_LIVE);
	pause->is_unwanted = pause->drops_box = false;
	give_time(session);
	persisted->paused_ms = 0;
	persist_use(session);
	process_begin_anew(session);
	if (transaction_join(session->host, &is_own, &err) < 0) {
		transaction_fail(session->host, &err);
		return;
	}
	write_down(session);
	audit_note(session->host, "session.resume", session->row.id, "ok", "%s", "");
	log_line(LOG_INFO, "session resumed", "session=%s", session->row.id);
	for (unsigned i = 0; i < pause->resume_count; i++)
		MODULE_EACH(session->host, session_paused, session, pause->resumes[i]);
	pause->resume_count = 0;
	transaction_leave(session->host, is_own, 0);
	MODULE_EACH(session->host, session_goes_on, session);
}

static void resume(struct session *session)
{
	struct job *job;

	if (session_is_parked(session)) {
		resumed(session);
		return;
	}
	move(session, SESSION_RESUMING);
	/* Bypasses the queue, because the waiting jobs need it. */
	job = job_new(session, JOB_RESUME, 0);
	if (session->pause.drops_box)
		job->how = JOB_HOW_DROPS_BOX;
	session->queue.running = job;
	job->times.queued_ns = job->times.submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->pools.main, session->tenant->lane, &job->item);
}

void pause_end_set(struct session *session)
{
	if (life_is_paused(session->life))
		session->pause.counts_from_ms = clock_wall_ms();
}

void pause_job_done(struct job *job)
{
	struct session *session = job->session;
	struct pause *pause = &session->pause;
	const bool is_pause = job->kind == JOB_PAUSE;
	char why[DB_WHY_SIZE];

	persist_job_done(session, job);
	session->queue.running = NULL;
	observe_job(session->host, job);
	files_changed(session, job);
	if (session->box.handle == NULL && life_is_live(session->life))
		restore_park(session, "it was paused, and its files alone stayed");
	if (!life_is_live(session->life)) {
		pause_fail_waiting(session, session->end, session->row.why);
	} else if (!is_pause && job->error.code < 0 && job->result.loss != JOB_LOST_BOX) {
		move(session, SESSION_PAUSED);
		pause_fail_waiting(session, API_ERR_UNAVAILABLE, job->error.message);
	} else if (!is_pause) {
		/* If the box is gone, waiting jobs make another one. */
		if (job->result.loss == JOB_LOST_BOX && !session_is_parked(session))
			restore_park(session, job->result.why_lost.message);
		resumed(session);
	} else if (job->error.code < 0) {
		(void)snprintf(why, sizeof(why), "it could not be paused: %.200s",
			       job->error.message);
		move(session, SESSION_LIVE);
		persist_use(session);
		pause_fail_waiting(session, API_ERR_UNAVAILABLE, why);
		if (job->result.loss == JOB_LOST_BOX && !session_is_parked(session))
			restore_park(session, job->result.why_lost.message);
	} else {
		paused(session);
		if (pause->is_unwanted)
			resume(session);
	}
	job_free(job);
	MODULE_EACH(session->host, session_goes_on, session);
}

void pause_fail_waiting(struct session *session, enum api_error error, const char *why)
{
	struct pause *pause = &session->pause;

	if (pause->request != 0)
		front_fail(session->host, pause->request, error, why, "", "", 0);
	for (unsigned i = 0; i < pause->resume_count; i++)
		front_fail(session->host, pause->resumes[i], error, why, "", "", 0);
	pause->request = 0;
	pause->resume_count = 0;
	pause->drops_box = false;
	if (session->life == SESSION_PAUSE_REQUESTED)
		move(session, SESSION_LIVE);
}

/* Resumes the session now, or after a pause that is in progress. */
static void want(struct session *session)
{
	struct pause *pause = &session->pause;

	if (session->life == SESSION_PAUSING)
		pause->is_unwanted = true;
	else if (session->life == SESSION_PAUSED)
		resume(session);
}

bool pause_lets(struct session *session, uint64_t request)
{
	if (!life_is_paused(session->life))
		return true;
	if ((session->persisted.pauses & DB_PAUSES_UNTIL_REQUEST) != 0) {
		want(session);
		return true;
	}
	front_fail(session->host, request, API_ERR_SESSION_PAUSED, "the session is paused", "",
		   "resume it: POST /reckon/v1/sessions/ID/resume", 0);
	return false;
}

/* ---- calls ---------------------------------------------------------------------------------- */

uint32_t pause_words(unsigned on_timeout, bool has_auto, bool is_auto,
		     uint32_t before)
{
	uint32_t ret = before;

	if (on_timeout != 0)
		ret &= DB_PAUSES_UNTIL_REQUEST;
	if (on_timeout == API_SESSION_ON_TIMEOUT_PAUSE ||
	    on_timeout == API_SESSION_ON_TIMEOUT_PAUSE_FILES)
		ret |= DB_PAUSES_AT_END;
	if (on_timeout == API_SESSION_ON_TIMEOUT_PAUSE_FILES)
		ret |= DB_PAUSES_WITHOUT_MEMORY;
	if (has_auto)
		ret = (ret & ~DB_PAUSES_UNTIL_REQUEST) | (is_auto ? DB_PAUSES_UNTIL_REQUEST : 0);
	return ret;
}

unsigned pause_on_timeout(uint32_t pauses)
{
	if ((pauses & DB_PAUSES_AT_END) == 0)
		return API_SESSION_ON_TIMEOUT_END;
	return (pauses & DB_PAUSES_WITHOUT_MEMORY) != 0 ? API_SESSION_ON_TIMEOUT_PAUSE_FILES
							: API_SESSION_ON_TIMEOUT_PAUSE;
}

bool pause_ask(struct session *session, uint64_t request, bool drops_box)
{
	struct pause *pause = &session->pause;

	if (life_is_paused(session->life)) {
		front_fail(session->host, request, API_ERR_SESSION_PAUSED,
			   session->life == SESSION_RESUMING ? "the session is just being resumed"
						      : "the session is paused already",
			   "", "", 0);
		return false;
	}
	move(session, SESSION_PAUSE_REQUESTED);
	pause->request = request;
	pause->drops_box = drops_box;
	pause_try(session);
	return true;
}

bool pause_end(struct session *session, uint64_t request, bool drops_box, uint64_t expires_in_ms)
{
	struct pause *pause = &session->pause;

	if (session->life == SESSION_PAUSE_REQUESTED)
		pause_fail_waiting(session, API_ERR_SESSION_PAUSED,
				   "somebody wanted it to go on before it was paused");
	if (!life_is_paused(session->life))
		return false;
	if (pause->resume_count == PAUSE_WAITERS_MAX) {
		front_fail(session->host, request, API_ERR_BUSY,
			   "the session is just being resumed", "", "ask again", 1);
		return true;
	}
	pause->resumes[pause->resume_count++] = request;
	if (expires_in_ms != 0)
		pause->expires_in_ms = expires_in_ms;
	if (session->life == SESSION_PAUSED)
		pause->drops_box = drops_box;
	want(session);
	return true;
}
