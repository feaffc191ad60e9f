/*
 * first.h - executions whose row is on the disk before they run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct execution;
struct host;
struct job;

/*
 * Writes the row, in a turn of its own; to be called before the execution's job is queued, which
 * then waits until that turn is on the disk. An error: it is not written, and must not run.
 */
int first_write(struct execution *execution, struct err *err);
bool first_holds(const struct job *job); /* it has to wait, at the head of its queue */
void first_forget(struct execution *execution); /* it has ended, or goes */

/* ---- for turn.c ---- */
void first_kept(struct host *host); /* more turns are on the disk: what waited for them runs */
/* These turns never will be: what waited for them does not run, and whoever waits is told. */
void first_failed(struct host *host, uint64_t from, const struct err *failed);
