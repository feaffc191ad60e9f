/*
 * once.c - sessions that end with their only execution, or stay when its record is stored.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back.
 * Never:    ends a session while a client still reads its events.
 */
#include "host/sessions/once.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "host/executions/asking.h"
#include "host/host.h"
#include "host/tenants/quota.h"

#define READ_NS (10ull * 1000000000u) /* for a client to read the next event */
#define OVER_MS 3u /* the answer is sent first, because ending a box uses several CPUs */

bool once_is(const struct session *session)
{
	return (session->row.policy & DB_POLICY_ONCE) != 0;
}

void once_free(struct once *once)
{
	if (once != NULL)
		asking_free(once->asking);
	free(once);
}

void once_keep(struct session *session, const struct job *executed)
{
	struct host *host = session->host;
	struct err err;

	if (!session->alone.is_to_stay || executed->execution == NULL ||
	    executed->result.json == NULL ||
	    executed->execution->cancel == EXECUTION_ABANDONED ||
	    (!life_is_live(session->life) && !life_is_leaving(session->life)))
		return;
	session->alone.is_to_stay = false;
	session->row.policy &= ~(uint64_t)DB_POLICY_ONCE;
	session->alone.stays_transaction = host->transactions.current;
	if (db_session_change(host->db, &session->row, &err) < 0)
		transaction_fail(host, &err);
}

/* No client knows that the session was to stay, so it ends as planned (session_tick()). */
void once_transaction_failed(struct session *session, uint64_t first, const struct err *failed)
{
	(void)failed;
	if (session->alone.stays_transaction >= first)
		session->row.policy |= DB_POLICY_ONCE;
	session->alone.stays_transaction = 0;
}

/* Whether a client is still reading its events. */
static bool is_unread(const struct session *session)
{
	const struct execution *at = session->executions.first;

	return session->alone.is_streamed && at != NULL && !at->is_read &&
	       at->cancel != EXECUTION_ABANDONED && clock_mono_ns() - at->given_ns < READ_NS;
}

/*
 * Ends the session a moment later, so that the client's answer does not wait for that transaction.
 */
void once_done(struct session *session)
{
	struct host *host = session->host;

	if (!once_is(session) || !life_is_live(session->life) || session->queue.running != NULL ||
	    session->queue.first != NULL || session->alone.is_over || is_unread(session))
		return;
	session->alone.is_over = true;
	if (host->sessions.over == NULL)
		loop_timer_set(host->sessions.over_timer, OVER_MS);
	session->alone.next_over = host->sessions.over;
	host->sessions.over = session;
	host->sessions.leaving++;
	session->tenant->leaving++;
	session->tenant->leaving_limits += quota_memory_of(&session->limits);
}

void once_forget(struct session *session)
{
	struct session **at = &session->host->sessions.over;

	once_free(TAKE_PTR(session->alone.once));
	if (session->alone.is_over) {
		session->host->sessions.leaving--;
		session->tenant->leaving--;
		session->tenant->leaving_limits -= quota_memory_of(&session->limits);
	}
	while (*at != NULL && *at != session)
		at = &(*at)->alone.next_over;
	if (*at != NULL)
		*at = session->alone.next_over;
}
