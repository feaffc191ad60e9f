/*
 * zygote.h - messages between the warden and its zygotes (SOCK_SEQPACKET, fixed structs).
 *
 * A zygote is started in its template's root with
 *   descriptor 3  this socket
 *   descriptor 4  the system call filter: an array of struct sock_filter
 * It warms up, moves its heap into a memory file and sends ZYGOTE_READY. Then it forks a twin for
 * each ZYGOTE_SPAWN; the twin forks the kernel (inside/zygote.c). The zygote sends no reply: the
 * warden traces it and sees the forks.
 *
 * The new kernel sends one report on its boot socket: a struct zygote_boot and, on success, the
 * descriptor on which the warden receives denied system calls.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define ZYGOTE_FD 3
#define ZYGOTE_FILTER_FD 4

enum zygote_type { ZYGOTE_READY = 1, ZYGOTE_SPAWN = 2 };

struct zygote_ready {
	uint32_t type;
	uint32_t frozen_areas;
	uint64_t frozen_bytes;
	uint32_t hot_pages; /* pages copied ahead for every fork; 0: the host lacks the means */
	uint32_t reserved;
	struct err err; /* why warming up failed */
};

/*
 * Descriptors: init's pidfd, the kernel's end of the control socket, the boot socket, a Landlock
 * ruleset if has_landlock; then `tasks` files of the cgroups that the twin joins, and if has_leave
 * one more, which the twin keeps as ZYGOTE_LEAVE_FD: the warden will make it write to that.
 */
#define ZYGOTE_JOINS_MAX 5
#define ZYGOTE_LEAVE_FD 199
#define ZYGOTE_FDS_MAX (4 + ZYGOTE_JOINS_MAX + 1)

struct zygote_spawn {
	uint32_t type;
	uint32_t has_landlock;
	uint32_t with_twin; /* 0: fork the kernel without a twin (no ptrace here) */
	uint32_t no_speculation; /* WARDEN_OPEN_NO_SPECULATION */
	uint32_t join_count;
	uint32_t has_leave;
};

struct zygote_boot {
	struct err err;
};

/* Identity of a kernel inside its box. */
#define BOX_UID 1000
#define BOX_GID 1000
