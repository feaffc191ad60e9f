/*
 * row_before_run.h - executions whose row is synced before they run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct execution;
struct host;
struct job;

/*
 * Writes the row in a transaction. Call it before the execution's job is queued; the job then waits
 * until that transaction is synced. On an error the row is not written, and the code must not run.
 */
int row_before_run_write(struct execution *execution, struct err *err);
/* In pending_row.c: */
bool row_before_run_holds(const struct job *job); /* it has to wait, at the head of its queue */
void row_before_run_forget(struct execution *execution); /* it has ended, or is freed */

/* ---- hooks of module.c ---- */
/* More transactions are synced: runs the executions that waited for them. */
void row_before_run_synced(struct host *host);
/* Transactions from `from` on failed: fails the executions that waited for them. */
void row_before_run_failed(struct host *host, uint64_t from, const struct err *failed);
