/*
 * fence.h - what a process gives up before it reads its first hostile byte.
 *
 * Afterwards: a uid of its own (when it was root), no capability, no new privileges, no file
 * (Landlock), no connection, no new process, bounds of memory and time, and a filter that answers
 * EPERM to every system call but those named. What is open stays usable. Who has to speak with a
 * server names it in `reach`: some files, some ports, and threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Right below the uids of boxes; nobody's. */
#define FENCE_UID_FRONT 0x6fff1c5fu
#define FENCE_UID_PEEK 0x6fff1c5eu
#define FENCE_UID_AGENT 0x6fff1c5du
#define FENCE_UID_NOBODY 65534u /* where those are not mapped */

/* mmap and mprotect (never of memory that runs), and fstat, are always allowed. */
/* What may be reached in spite of it. */
struct fence_reach {
	const char *const *files; /* to be opened for reading; those that do not exist do not matter */
	size_t file_count;
	const uint16_t *ports; /* of TCP, to be connected to: Linux 6.7 */
	size_t port_count;
};

struct fence {
	const char *who;
	uint32_t uid;
	uint64_t descriptors; /* that it may have open */
	uint64_t file_max;    /* bytes of a file that it writes; UINT64_MAX: no bound */
	uint64_t memory_max;
	uint64_t cpu_s; /* 0: no bound */
	const int *allowed;
	size_t allowed_count;
	/* NULL: nothing. With it threads and sockets of the internet may be made, too: a resolver
	 * needs both. */
	const struct fence_reach *reach;
};

/* Puts all of it up, or fails. */
int fence_apply(const struct fence *fence, struct err *err);
