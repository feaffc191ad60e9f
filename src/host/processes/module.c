/*
 * module.c - the hooks of processes.
 *
 * Runs in:  reckond's loop.
 * Reads:    the numbers of transactions.
 */
#include "host/host.h"

static void transactions_failed(struct session *session, uint64_t first, const struct err *failed)
{
	(void)failed;
	process_transaction_failed(session, first);
}

static void ends(struct session *session, enum api_error end, const char *why)
{
	process_fail_waiting(session, end, why);
	process_lose_all(session, API_PROCESS_STATE_ENDED, API_PROCESS_CAUSE_SESSION_ENDED, why);
}

static void session_leaves(struct session *session)
{
	process_fail_waiting(session, API_ERR_UNAVAILABLE, "the daemon is stopping");
	process_lose_all(session, API_PROCESS_STATE_LOST, 0, "the daemon was stopped");
}

static void box_lost(struct session *session, const char *why)
{
	process_lose_all(session, API_PROCESS_STATE_LOST, 0, why);
}

const struct module processes_module = {
	.request_gone = process_forget,
	.front_lost = process_front_lost,
	.session_transactions_synced = process_transaction_synced,
	.session_transactions_failed = transactions_failed,
	.transactions_failed = process_claims_failed,
	.session_ends = ends,
	.session_leaves = session_leaves,
	.session_gone = process_forget_all,
	.session_fails = process_fail_waiting,
	.session_goes_on = process_pump,
	.box_lost = box_lost,
};
