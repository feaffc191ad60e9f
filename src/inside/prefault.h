/* prefault.h - copies the pages that every session writes to into the zygote ahead of time. */
#pragma once

#include <stddef.h>

/*
 * Call once, in a zygote with a frozen heap (cow_heap.h), before it is traced. A child rehearses a
 * session; the pages that it touches become anonymous memory of this process, so that fork() copies
 * their page table entries. Returns the number of pages; 0 if the host lacks a feature: sessions
 * are then slower, but work the same.
 */
size_t prefault_keep(void);

/*
 * Call in a fork of it, before a client uses the fork: copies the pages that every session writes
 * to before it is ready, and some of those that its first cell writes to.
 */
void prefault_write_ahead(void);
/* Call in a parked kernel: copies all other pages that a first cell writes to. */
void prefault_write_rest(void);
