/*
 * pending_row.c - the row of an execution that has begun: written with its end, or a moment later.
 *
 * Runs in:  reckond's loop.
 * Reads:    requests, the database.
 * Never:    lets a request see an execution whose row is not written.
 *
 * Most cells end within a millisecond, and a transaction for the begin would cost as much as the
 * one for the end. So the row waits: for the end, which writes both; for START_MS; or for a request
 * that reads executions or the audit. If the row must be synced before the code runs
 * (row_before_run.c), it is written at once.
 *
 * The pending row is kept until it is committed. If a transaction fails, its rows wait again.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/executions/row_before_run.h"
#include "host/host.h"

#define START_MS 5u
#define AGAIN_MS 1000u /* after a failure, such as a full disk */

struct pending_row {
	struct pending_row *next; /* of those that wait */
	struct execution *execution;
	struct db_execution row;
	char *idempotency;
	struct log_context about;
	char actor[72];
	bool waits;
};

static void wait_for(struct host *host, struct pending_row *start)
{
	if (host->executions.pending_rows == NULL)
		loop_timer_set(host->sessions.start_timer, START_MS);
	start->waits = true;
	start->next = NULL;
	if (host->executions.pending_rows_last != NULL)
		host->executions.pending_rows_last->next = start;
	else
		host->executions.pending_rows = start;
	host->executions.pending_rows_last = start;
}

static void wait_no_more(struct host *host, struct pending_row *start)
{
	struct pending_row *before = NULL;

	for (struct pending_row *at = host->executions.pending_rows; at != start; at = at->next)
		before = at;
	if (before != NULL)
		before->next = start->next;
	else
		host->executions.pending_rows = start->next;
	if (host->executions.pending_rows_last == start)
		host->executions.pending_rows_last = before;
	start->waits = false;
	if (host->executions.pending_rows == NULL)
		loop_timer_clear(host->sessions.start_timer);
}

void pending_row_note(struct execution *execution, const struct db_execution *row,
		const char *idempotency)
{
	struct host *host = execution->session->host;
	struct pending_row *start = mem_new0(1, sizeof(*start));

	start->execution = execution;
	start->row = *row;
	memcpy(start->row.requester, execution->requester, sizeof(start->row.requester));
	start->idempotency = idempotency != NULL ? mem_strdup(idempotency) : NULL;
	start->about = host->about;
	memcpy(start->actor, host->actor, sizeof(start->actor));
	execution->pending_row = start;
	wait_for(host, start);
}

bool pending_row_waits(const struct execution *execution)
{
	return execution->pending_row != NULL && execution->pending_row->waits;
}

/*
 * The audit identifies the code by its unkeyed BLAKE2b-256, so that a person who has the code can
 * find the entry.
 */
static int put(struct host *host, const struct pending_row *start, const struct db_end *end,
	       struct err *err)
{
	const struct buf *code = &start->execution->code;
	unsigned char hash[AUDIT_HASH_SIZE];
	char hex[AUDIT_HASH_SIZE * 2 + 1];

	if (db_execution_add(host->db, &start->row, start->idempotency, code, end, err) < 0)
		return (int)err->code;
	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)buf_text(code),
				 code->len, NULL, 0);
	return audit_add(host, "execution.start", start->row.session, "ok", err,
			 "execution=%s bytes=%zu blake2b=%s", start->row.id, code->len,
			 sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash)));
}

int pending_row_write(struct execution *execution, const struct db_end *end, struct err *err)
{
	struct host *host = execution->session->host;
	struct pending_row *start = execution->pending_row;
	const struct log_context about = host->about;
	char actor[sizeof(host->actor)];
	int code;

	if (!pending_row_waits(execution))
		return 0;
	/*
	 * The audit names the request that started the execution, not the one that needs its row.
	 */
	memcpy(actor, host->actor, sizeof(actor));
	host->about = start->about;
	memcpy(host->actor, start->actor, sizeof(host->actor));
	code = put(host, start, end, err);
	host->about = about;
	memcpy(host->actor, actor, sizeof(actor));
	if (code >= 0)
		wait_no_more(host, start);
	return code < 0 ? (int)err->code : 0;
}

void pending_row_committed(struct execution *execution)
{
	struct pending_row *start = execution->pending_row;

	if (start != NULL && !start->waits) {
		free(start->idempotency);
		free(start);
		execution->pending_row = NULL;
	}
	/* The kernel and the database have the code. */
	if (execution->pending_row == NULL && execution->state == EXECUTION_FINISHED)
		buf_done(&execution->code);
}

void pending_row_failed(struct execution *execution)
{
	if (execution->pending_row != NULL && !execution->pending_row->waits)
		wait_for(execution->session->host, execution->pending_row);
}

void pending_row_forget(struct execution *execution)
{
	if (execution->pending_row != NULL && execution->pending_row->waits)
		wait_no_more(execution->session->host, execution->pending_row);
	pending_row_committed(execution);
	buf_done(&execution->code);
}

void pending_row_drop(struct execution *execution)
{
	if (pending_row_waits(execution))
		wait_no_more(execution->session->host, execution->pending_row);
}

/* Writes all in one transaction. */
static int write_waiting(struct host *host, struct pending_row **written, struct err *err)
{
	struct pending_row *next;

	for (struct pending_row *start = host->executions.pending_rows; start != NULL; start = next) {
		/*
		 * If the transaction with its end failed, the execution has ended without a record.
		 */
		const struct execution *execution = start->execution;
		const struct db_end failed = { .status = "failed", .why = execution->why.text };
		const bool has_ended = execution->state == EXECUTION_FINISHED;

		next = start->next;
		/* No client knows a session that is not open yet, and it may never be. */
		if (execution->session->life == SESSION_OPENING)
			continue;
		if (pending_row_write(start->execution, has_ended ? &failed : NULL, err) < 0)
			return (int)err->code;
		start->next = *written;
		*written = start;
	}
	return db_commit(host->db, err);
}

void pending_row_write_all(struct host *host)
{
	struct pending_row *written = NULL, *next;
	struct err err;
	int code;

	/* An open transaction writes the ends; rows of running executions are written after it. */
	if (host->executions.pending_rows == NULL || host->transactions.is_open)
		return;
	code = db_begin(host->db, &err);
	if (code >= 0)
		code = write_waiting(host, &written, &err);
	if (code < 0) {
		log_line(LOG_ERROR, "executions that have begun could not be kept", "why=\"%s\"",
			 err.text);
		db_rollback(host->db);
		audit_again(host);
	}
	for (struct pending_row *at = written; at != NULL; at = next) {
		next = at->next;
		if (code < 0)
			pending_row_failed(at->execution);
		else
			pending_row_committed(at->execution);
	}
	if (host->executions.pending_rows != NULL)
		loop_timer_set(host->sessions.start_timer, AGAIN_MS);
}

/* ---- before it runs -------------------------------------------------------------------------- */

void row_before_run_forget(struct execution *execution)
{
	struct execution **at = &execution->session->host->executions.firsts;

	if (execution->first_transaction == 0)
		return;
	while (*at != execution)
		at = &(*at)->next_first;
	*at = execution->next_first;
	execution->first_transaction = 0;
}

bool row_before_run_holds(const struct job *job)
{
	return job->execution != NULL &&
	       job->execution->first_transaction > job->session->host->transactions.synced;
}
