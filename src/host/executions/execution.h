/*
 * execution.h - executions: who waits for them, their rows, what became of them; part of host.h.
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
void execution_forget(struct execution *execution, uint64_t request); /* whoever waited went away */
void execution_finish(struct execution *execution, const struct job *job);
void execution_fail(struct execution *execution, enum api_error error, const char *why);
/* Its row could not be kept, and so it is not to run: whoever waits is told. */
void execution_drop(struct execution *execution, const struct err *failed);
/* It never began, and the caller is told to ask again: then its Idempotency-Key is to run it. */
void execution_release_key(const struct execution *execution);
void execution_want_stop(struct execution *execution, enum execution_stop stop);
/* An interrupt that met the moment before the code began was not heard: says it again. */
void execution_nudge(const struct execution *execution, reckon_session *handle);
/* The session's row never got into the database: none of its executions has one, for which it would
 * have to be there. What runs ends all the same. */
void execution_rowless(struct session *session, const struct err *failed);
void execution_publish(struct host *host); /* new events to those who wait */

/* With its row, of which the caller may have set the request's hash; NULL: it could not be made. */
struct execution *execution_begin(struct session *session, struct db_execution *row,
				  const char *idempotency, const char *code, size_t len,
				  struct err *err);
struct job *execution_job(struct execution *execution); /* it is to run: to be queued */

/* ---- executions/pending_row.c ---- */
/* It has begun: this is to be its row, written with its end or soon. Its code is there. */
void pending_row_note(struct execution *execution, const struct db_execution *row,
		const char *idempotency);
bool pending_row_waits(const struct execution *execution);
void pending_row_drop(struct execution *execution); /* it is to have no row */
/* Within the transaction that is open, which fails with it; with its end, if that is known. */
int pending_row_write(struct execution *execution, const struct db_end *end, struct err *err);
void pending_row_write_all(struct host *host); /* before somebody looks */
void pending_row_kept(struct execution *execution);	  /* what was written is committed */
void pending_row_not_kept(struct execution *execution); /* it is not, and waits again */
void pending_row_forget(struct execution *execution);
