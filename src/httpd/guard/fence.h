/*
 * fence.h - what a process that speaks HTTP gives up before it reads its first byte.
 *
 * Afterwards: a uid of its own (when it was root), no capability, no new privileges, no file
 * (Landlock), no outgoing connection, and a system call filter that knows reading, writing,
 * accepting and memory, and answers EPERM to everything else. What is open stays usable.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define FENCE_FILE_MAX (64ull << 30) /* of one upload */

/* Puts all of it up, or fails. `descriptors` is how many it may have open. */
int httpd_fence(uint64_t descriptors, struct err *err);
