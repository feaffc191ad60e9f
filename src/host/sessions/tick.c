/*
 * tick.c - periodic work for sessions: expiry, repeated interrupts, scans after background work.
 *
 * Runs in:  reckond's loop.
 * Reads:    the clocks.
 */
#include <stdio.h>

#include "host/executions/cancel.h"
#include "host/files/watch.h"
#include "host/host.h"
#include "host/sessions/folders.h"

#define LOOK_AFTER_NS (5ull * 1000000000u)

static void time_is_over(struct session *session, const char *why)
{
	if ((session->persisted.pauses & DB_PAUSES_AT_END) != 0)
		pause_begin(session);
	else
		session_end(session, API_ERR_SESSION_EXPIRED, why, 0);
}

static void tick_one(struct session *session, uint64_t now)
{
	char why[96];

	if (session->queue.running != NULL && session->queue.running->execution != NULL)
		execution_nudge(session->queue.running->execution, session->box.handle);
	context_tick(session);
	cancel_abandoned(session);
	process_tick(session);
	watch_tick(session);
	once_done(session); /* of one that was cancelled before it began, or cut off by a crash */
	if (life_is_live(session->life))
		session_let_go_after_restart(session);
	if (!life_is_live(session->life))
		return;
	if (folders_are_over(session)) {
		session_end(session, API_ERR_SESSION_CLOSED,
			    "the program that granted it folders of the host has ended", 0);
		return;
	}
	if (life_is_paused(session->life)) {
		pause_try(session);
		return;
	}
	if (persist_expired(session, now) != NULL) {
		time_is_over(session, persist_expired(session, now));
		return;
	}
	if (session->queue.running == NULL && session->queue.first == NULL &&
	    session->looks.ran_since &&
	    !session_is_parked(session) && now - session->clock.idle_since_ns >= LOOK_AFTER_NS) {
		/* Finds changes that background processes made since the last cell. */
		session_enqueue(session, job_new(session, JOB_KEEP, 0));
		return;
	}
	if (session->queue.running != NULL || session->queue.first != NULL ||
	    context_is_running(session) ||
	    !file_queue_is_idle(session) || session->processes.jobs > 0 || process_keeps(session) ||
	    now - session->clock.idle_since_ns < session->row.idle_ms * 1000000u)
		return;
	(void)snprintf(why, sizeof(why), "nobody used it for %llu s",
		       (unsigned long long)(session->row.idle_ms / 1000));
	time_is_over(session, why);
}

void session_tick(struct host *host)
{
	const uint64_t now = clock_boot_ms() * 1000000u;
	struct session *next;

	persist_tick(host);
	for (struct session *at = host->sessions.first; at != NULL; at = next) {
		next = at->next;
		tick_one(at, now);
	}
}
