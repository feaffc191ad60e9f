/*
 * fence.h - the privileges that a process that speaks HTTP drops before it reads its first byte.
 *
 * Afterwards it has a separate uid (if it was root), no capability, no new privileges, no file
 * (Landlock), no outgoing connection, and a system call filter that allows reading, writing,
 * accepting and memory, and answers EPERM to everything else. Open descriptors stay usable.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define FENCE_FILE_MAX (64ull << 30) /* for one upload */

/* Applies the whole fence, or fails. `descriptors` is how many the process may have open. */
int httpd_fence(uint64_t descriptors, struct err *err);
