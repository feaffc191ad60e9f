/*
 * guard.h - walls against side channels of the processor, which a session may ask for.
 *
 * Core scheduling: all tasks of a box (its kernel, what that starts, pid 1, the twin) have one
 * cookie of their own, so that the host never runs another task beside them on a core with several
 * threads. Children inherit it; a branch gets one of its own.
 *
 * Speculation control: a kernel turns speculative store bypass and indirect branch speculation off
 * for good before it loads its filter (inside/enter.c); the result is verified here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* prctl(PR_SCHED_CORE, …): 0, or a negative errno. Tests replace it. */
typedef int guard_core_fn(unsigned command, pid_t pid, unsigned scope, uint64_t *cookie);
extern guard_core_fn *guard_core_call;

/* Gives these processes one new cookie, and verifies it. ERR_UNAVAILABLE: the host has no
 * cookies. */
int guard_core_own(const pid_t *pids, size_t count, struct err *err);
bool guard_core_is_there(const char **ret_why);

enum guard_speculation {
	GUARD_HELD,	  /* off for good, or the processor is not affected */
	GUARD_LOOSE,	  /* could be off, but is not */
	GUARD_UNKNOWN,	  /* this host cannot switch it */
};

/* From the text of a /proc/PID/status. */
enum guard_speculation guard_speculation_of(const char *status);
bool guard_speculation_is_there(void);

/*
 * Raises the requested walls (WARDEN_OPEN_… in `requested`) around a box whose kernel has not run
 * user code, and verifies them. *ret_unheld says what the host lacks; it is an error if a wall
 * could stand and does not.
 */
int guard_raise(uint32_t requested, const pid_t *pids, size_t count, pid_t kernel,
		uint32_t *ret_unheld, struct err *err);

/*
 * The same for a kernel that joins a box whose pid 1 is `member`: it gets the box's cookie. What
 * the host lacks was reported when the box was opened.
 */
int guard_join(uint32_t requested, pid_t member, const pid_t *pids, size_t count, pid_t kernel,
	       struct err *err);

/* For strict clients: ERR_UNAVAILABLE if the host lacks a requested wall. */
int guard_require(uint32_t requested, struct err *err);
