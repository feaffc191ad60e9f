/*
 * execution.h - executions: the requests that wait for them, their rows, their end; included by
 * host.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "host/host.h"

/* ---- executions/execution.c ---- */
struct execution *execution_find(struct session *session, const char *id);
void execution_free(struct execution *execution);
void execution_wait(struct execution *execution, const struct request *req);
void execution_wait_events(struct execution *execution, uint64_t request, uint64_t after);
void execution_forget(struct execution *execution, uint64_t request); /* its client disconnected */
void execution_finish(struct execution *execution, const struct job *job);
void execution_fail(struct execution *execution, enum api_error error, const char *why);
/* Fails an execution whose row could not be stored, so that it must not run. */
void execution_drop(struct execution *execution, const struct err *failed);
/* The execution did not begin, and the client is told to try again: frees its Idempotency-Key. */
void execution_release_key(const struct execution *execution);
void execution_want_stop(struct execution *execution, enum execution_stop stop);
/*
 * Repeats a wanted interrupt, because one that arrives just before the code begins has no effect.
 */
void execution_nudge(const struct execution *execution, reckon_session *handle);
/*
 * The session's row could not be stored, and its executions need it: they get no rows either.
 * Running code continues until the session ends.
 */
void execution_rowless(struct session *session, const struct err *failed);
void execution_publish(struct host *host); /* sends new events to the requests that wait for them */

/*
 * Also notes its row, in which the caller may set request_hash and key_tenant. NULL: failed, see
 * *err.
 */
struct execution *execution_begin(struct session *session, struct db_execution *row,
				  const char *idempotency, const char *code, size_t len,
				  struct err *err);
struct job *execution_job(struct execution *execution); /* for the queue */

/* ---- executions/pending_row.c ---- */
/* The execution exists: notes its row, which is written with its end or soon. Its code follows. */
void pending_row_note(struct execution *execution, const struct db_execution *row,
		const char *idempotency);
bool pending_row_waits(const struct execution *execution);
void pending_row_drop(struct execution *execution); /* it must not get a row */
/* Writes the row into the open transaction, which an error fails; with `end` if it has ended. */
int pending_row_write(struct execution *execution, const struct db_end *end, struct err *err);
void pending_row_write_all(struct host *host); /* before a request reads executions or the audit */
void pending_row_committed(struct execution *execution); /* the written row is committed */
void pending_row_failed(struct execution *execution);	 /* the row failed, and waits again */
void pending_row_forget(struct execution *execution);
