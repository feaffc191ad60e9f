/*
 * fence.h - what a process gives up before it reads its first hostile byte.
 *
 * Afterwards: a uid of its own (when it was root), no capability, no new privileges, no file
 * (Landlock), no connection, no new process, bounds of memory and time, and a filter that answers
 * EPERM to every system call but those named. What is open stays usable.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Right below the uids of boxes; nobody's. */
#define FENCE_UID_FRONT 0x6fff1c5fu
#define FENCE_UID_PEEK 0x6fff1c5eu
#define FENCE_UID_NOBODY 65534u /* where those are not mapped */

/* mmap and mprotect (never of memory that runs), and fstat, are always allowed. */
struct fence {
	const char *who;
	uint32_t uid;
	uint64_t descriptors; /* that it may have open */
	uint64_t file_max;    /* bytes of a file that it writes */
	uint64_t memory_max;
	uint64_t cpu_s; /* 0: no bound */
	const int *allowed;
	size_t allowed_count;
};

/* Puts all of it up, or fails. */
int fence_apply(const struct fence *fence, struct err *err);
