/*
 * zygote.h - what the warden and its zygotes say to each other (SOCK_SEQPACKET, fixed structs).
 *
 * A zygote is started in its template's root with
 *   descriptor 3  this socket
 *   descriptor 4  the system call filter: an array of struct sock_filter
 * warms up, moves its heap into a memory file and sends ZYGOTE_READY. From then on it answers each
 * ZYGOTE_SPAWN by forking a twin, which makes the kernel (inside/zygote.c). It sends nothing back:
 * the warden traces it and sees the forks.
 *
 * The new kernel reports once on its boot socket: a struct zygote_boot, and on success the
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
	uint32_t hot_pages; /* kept for every fork; 0: the host lacks the means */
	uint32_t reserved;
	struct err err; /* why warming up failed */
};

/*
 * Descriptors: init's pidfd, the kernel's end of the control socket, the boot socket, a Landlock
 * ruleset when has_landlock; then `tasks` files of control groups for the twin to join, and one
 * that the warden will make it write to, when has_leave: it keeps that as ZYGOTE_LEAVE_FD.
 */
#define ZYGOTE_SEATS_MAX 5
#define ZYGOTE_LEAVE_FD 199
#define ZYGOTE_FDS_MAX (4 + ZYGOTE_SEATS_MAX + 1)

struct zygote_spawn {
	uint32_t type;
	uint32_t has_landlock;
	uint32_t with_twin; /* 0: make the kernel without one (no ptrace here) */
	uint32_t no_speculation; /* WARDEN_OPEN_NO_SPECULATION */
	uint32_t seat_count;
	uint32_t has_leave;
};

struct zygote_boot {
	struct err err;
};

/* Identity of a kernel inside its box. */
#define BOX_UID 1000
#define BOX_GID 1000
