/*
 * gc.h - removes objects from the store that no database row needs.
 *
 * An object is needed while a manifest of a live session, a snapshot, a document, a link or a
 * record in the history names it, in this daemon's database or in the other one that shares the
 * store (a user's private daemon and a `reckon serve` of the same state directory). Objects that no
 * database names, such as those of `reckon run`, are removed when they are older than the option
 * `store-keep`.
 */
#pragma once

#include <stdint.h>

struct host;

struct gc {
	uint64_t next_ns;
	unsigned directory;	 /* the next one */
	uint64_t objects, bytes; /* removed since directory 0 */
};

/*
 * Collects the next of the 256 directories from time to time, in the loop's thread, which takes a
 * few milliseconds. Safe at any moment: an object that is being written is too young to be removed,
 * and a crash never removes a needed object.
 */
void gc_tick(struct host *host);
