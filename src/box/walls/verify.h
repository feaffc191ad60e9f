/* verify.h - verifies from outside that a kernel stands behind its walls. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Checks in /proc/PID/status that all capability sets are empty, a filter is loaded and no new
 * privileges are possible; unless rootless, also that the uid is not 0 and that there are no
 * supplementary groups. ERR_DENIED or ERR_UNAVAILABLE otherwise: do not hand the kernel out.
 */
int verify_kernel(pid_t pid, bool rootless, struct err *err);

/*
 * Checks that a box has Landlock rules if this system has Landlock. A process that joins the box
 * ends if it cannot apply them; no file shows from outside whether it did.
 */
int verify_landlock(int ruleset_fd, struct err *err);

/*
 * Checks that a kernel is in the box of this pid 1: in every namespace of it, and in (or below) its
 * groups that limit memory and processes. A branch, and a kernel that joins a box later, must meet
 * the same conditions as the first.
 */
int verify_box(pid_t pid, pid_t init, struct err *err);
