/*
 * gc.h - what nobody needs any more leaves the store.
 *
 * An object is needed while a manifest of a live session or a record in the history names it, in
 * this daemon's database or in the other one that shares the store (a user's private daemon and a
 * `reckon serve` of the same state directory). Objects that no database knows, those of `reckon
 * run` among them, go when they are older than `age_s`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct host;

struct gc_report {
	uint64_t objects, bytes; /* removed */
	uint64_t kept, kept_bytes; /* of the store, as far as this run has come */
	unsigned directories; /* of 256 */
};

/*
 * The next of the 256 directories, in the loop's thread: a few milliseconds. *add grows; true when
 * that was the last one and the next call begins anew. Safe at any moment: what is being written is
 * young, and a crash leaves an object too many, never one too few.
 */
bool gc_step(struct host *host, uint64_t age_s, struct gc_report *add);

/* What the records of executions that retention removes kept in the store: call it with each
 * execution's row, in the same transaction. */
int gc_forget_execution(struct host *host, const char *execution, struct err *err);
