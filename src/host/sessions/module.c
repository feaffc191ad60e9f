/*
 * module.c - the hooks of sessions.
 *
 * Runs in:  reckond's loop.
 * Reads:    the numbers of transactions.
 */
#include "host/executions/cancel.h"
#include "host/host.h"

/* Ends sessions that are bound to this request. */
static void request_gone(struct host *host, uint64_t request)
{
	session_let_go(host, request, request);
}

/* Ends the session in a transaction of its own, which may fail as well. */
static void session_lost(struct session *session, const struct err *failed)
{
	if (session->life != SESSION_OPENING)
		session_end(session, API_ERR_SESSION_LOST, failed->text, 0);
}

static void transactions_failed(struct session *session, uint64_t first, const struct err *failed)
{
	(void)failed;
	context_transaction_failed(session, first);
}

static void ends(struct session *session, enum api_error end, const char *why)
{
	pause_fail_waiting(session, end, why);
	session_fail_waiting(session, end, why);
	file_queue_fail_waiting(session, end, why);
	context_end_all(session, end, why);
}

static void session_leaves(struct session *session)
{
	ends(session, API_ERR_UNAVAILABLE, "the daemon is stopping");
}

static void session_fails(struct session *session, enum api_error error, const char *why)
{
	session_fail_waiting(session, error, why);
	file_queue_fail_waiting(session, error, why);
	context_fail_waiting(session, error, why);
}

static void session_goes_on(struct session *session)
{
	session_pump(session);
	file_queue_pump(session);
	context_pump_all(session);
}

const struct module sessions_module = {
	.request_gone = request_gone,
	.front_lost = session_let_go,
	.session_transactions_synced = context_transaction_synced,
	.session_transactions_failed = transactions_failed,
	.session_lost = session_lost,
	.session_ends = ends,
	.session_leaves = session_leaves,
	.session_fails = session_fails,
	.session_goes_on = session_goes_on,
	.box_wanted = restore_want,
	.box_lost = context_park_all,
};
