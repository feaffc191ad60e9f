/* cow_heap.h - makes forks of this process cheap. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/*
 * Moves every private, written memory area of the calling process into one sealed memory file that
 * is mapped privately at the same addresses. fork() then has no page tables to copy for them, and
 * children share the pages until they write. The process must have a single thread.
 */
int freeze_heap(uint32_t *ret_areas, uint64_t *ret_bytes, struct err *err);
