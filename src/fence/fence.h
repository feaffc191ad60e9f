/*
 * fence.h - what a process gives up before it reads its first hostile byte.
 *
 * Afterwards the process has a separate uid (if it was root), no capability, no new privileges, no
 * file (Landlock), no connection, no new process, bounds of memory and time, and a filter that
 * answers EPERM to every system call that is not listed. Open descriptors stay usable. A process
 * that must connect to a server gets a `reach`: some files, some ports, and threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Right below the uids of boxes; no other process uses them. */
#define FENCE_UID_FRONT 0x6fff1c5fu
#define FENCE_UID_PEEK 0x6fff1c5eu
#define FENCE_UID_AGENT 0x6fff1c5du
#define FENCE_UID_NOBODY 65534u /* if the host does not map those */

/* What the process may still reach. */
struct fence_reach {
	const char *const *files; /* files to open for reading; missing ones are skipped */
	size_t file_count;
	const uint16_t *ports; /* TCP ports to connect to (enforced from Linux 6.7) */
	size_t port_count;
};

struct fence {
	const char *who;
	uint32_t uid;
	uint64_t descriptors; /* how many it may have open */
	uint64_t file_max;    /* largest file that it may write, in bytes; UINT64_MAX: no limit */
	uint64_t memory_max;
	uint64_t cpu_s; /* 0: no limit */
	/* Allowed system calls; mmap and mprotect (not executable) and fstat always are. */
	const int *allowed;
	size_t allowed_count;
	/* NULL: nothing. A reach also allows threads and internet sockets, because a resolver needs
	 * both. */
	const struct fence_reach *reach;
};

/* Applies the whole fence, or fails. */
int fence_apply(const struct fence *fence, struct err *err);
