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
