/* verify.h - read from outside that a kernel stands behind its walls. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Reads /proc/PID/status: all capability sets empty, a filter loaded, no new privileges, no
 * supplementary groups (but the caller's own when rootless), uid not 0 (as root). A kernel that
 * lacks one of these is not handed out.
 */
int verify_kernel(pid_t pid, bool rootless, struct err *err);

/*
 * That a box has Landlock rules where this system has Landlock. Whoever joins it ends when it cannot
 * put them into force; no file shows from outside whether somebody did.
 */
int verify_landlock(int ruleset_fd, struct err *err);

/*
 * That a kernel stands in the box of this pid 1: every namespace is the same one, and so is each
 * group that limits memory and processes. A branch and a kernel that joins a box later are no
 * different from the first.
 */
int verify_box(pid_t pid, pid_t init, struct err *err);
