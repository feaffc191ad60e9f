/* unshare.h - gives a copied process memory of its own where the copy would share it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/twin/trace.h"

bool unshare_is_needed(pid_t pid);

/*
 * fork() leaves MAP_SHARED areas shared: each of them becomes a new one with the same contents,
 * charged to the memory cgroup that the process is in by then.
 * `base` stands behind a `syscall` of our own. ERR_LIMIT when there is too much of it.
 */
int unshare_memory(pid_t pid, const struct trace_regs *base, struct err *err);
