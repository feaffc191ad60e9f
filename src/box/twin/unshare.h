/* unshare.h - gives a copied process memory of its own where the copy would share it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/twin/trace.h"

bool unshare_is_needed(pid_t pid);

/*
 * After fork() MAP_SHARED areas are still shared: replaces each of them by a new one with the same
 * contents, charged to the memory cgroup that the process is in now. `base` stands behind a
 * `syscall` of our own. ERR_LIMIT if there is too much shared memory.
 */
int unshare_memory(pid_t pid, const struct trace_regs *base, struct err *err);
