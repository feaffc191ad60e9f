/* prefault.h - keeps the pages that every session touches where a fork finds them. */
#pragma once

#include <stddef.h>

/*
 * To be called once, in a zygote whose heap is frozen (freeze.h), before anybody traces it. A child
 * rehearses a session: what it touches is made anonymous memory of this process, so that fork()
 * copies the page table entries for it. Returns the number of pages, 0 where the host lacks the
 * means: sessions are then slower, and otherwise the same.
 */
size_t prefault_keep(void);

/*
 * In a fork of it, before it is of use to anybody: has the pages copied that every session writes to
 * before it is ready, and some of those that its first cell will write to.
 */
void prefault_write_ahead(void);
/* In one that waits for whoever comes: all others that a first cell will write to. */
void prefault_write_rest(void);
