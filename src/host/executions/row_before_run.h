/*
 * row_before_run.h - executions whose row is on the disk before they run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct execution;
struct host;
struct job;

/*
 * Writes the row, in a transaction of its own; to be called before the execution's job is queued, which
 * then waits until that transaction is on the disk. An error: it is not written, and must not run.
 */
int row_before_run_write(struct execution *execution, struct err *err);
/* In pending_row.c: */
bool row_before_run_holds(const struct job *job); /* it has to wait, at the head of its queue */
void row_before_run_forget(struct execution *execution); /* it has ended, or goes */

/* ---- hooks of module.c ---- */
/* More transactions are on the disk: what waited for them runs. */
void row_before_run_kept(struct host *host);
/* These transactions never will be: what waited for them does not run, and whoever waits is told. */
void row_before_run_failed(struct host *host, uint64_t from, const struct err *failed);
