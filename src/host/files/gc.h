/*
 * gc.h - what nobody needs any more leaves the store.
 *
 * An object is needed while a manifest of a live session, a snapshot or a record in the history
 * names it, in this daemon's database or in the other one that shares the store (a user's private
 * daemon and a `reckon serve` of the same state directory). Objects that no database knows, those
 * of `reckon run` among them, go when they are older than the option `store-keep`.
 */
#pragma once

#include <stdint.h>

struct host;

struct gc {
	uint64_t next_ns;
	unsigned directory;	 /* the next one */
	uint64_t objects, bytes; /* removed since the first one */
};

/* Now and then the next of the 256 directories, in the loop's thread: a few milliseconds. Safe at
 * any moment: what is being written is young, and a crash leaves an object too many, never one too
 * few. */
void gc_tick(struct host *host);
