/*
 * module.c - the hooks of executions.
 *
 * Runs in:  reckond's loop.
 * Reads:    the numbers of transactions.
 */
#include "host/executions/cancel.h"
#include "host/executions/replay.h"
#include "host/executions/row_before_run.h"
#include "host/host.h"

static void transactions_synced(struct session *session, uint64_t upto)
{
	for (struct execution *each = session->executions.first; each != NULL; each = each->next) {
		if (each->row != EXECUTION_ROW_UNCOMMITTED || each->transaction > upto)
			continue;
		pending_row_committed(each);
		each->row = EXECUTION_ROW_STORED;
	}
}

static void transactions_failed(struct session *session, uint64_t first, const struct err *failed)
{
	for (struct execution *each = session->executions.first; each != NULL; each = each->next) {
		if (each->row != EXECUTION_ROW_UNCOMMITTED || each->transaction < first)
			continue;
		each->row = EXECUTION_ROW_STORED;
		pending_row_failed(each);
		each->failed = true;
		each->failure = front_storage_error(failed);
		(void)err_set(&each->why, ERR_SYSTEM, "its record could not be kept: %s",
			      failed->text);
	}
}

static void session_gone(struct session *session)
{
	while (session->executions.first != NULL)
		execution_free(session->executions.first);
}

static void settled(struct host *host)
{
	struct execution *victim;

	while ((victim = replay_victim(host)) != NULL)
		execution_free(victim);
}

const struct module executions_module = {
	.request_gone = cancel_request_gone,
	.front_lost = cancel_front_lost,
	.session_transactions_synced = transactions_synced,
	.session_transactions_failed = transactions_failed,
	.transactions_synced = row_before_run_synced,
	.transactions_failed = row_before_run_failed,
	.session_lost = execution_rowless,
	.session_gone = session_gone,
	.settled = settled,
};
