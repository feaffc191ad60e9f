/*
 * sample.h - what a box uses just now, seen from outside.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct sample {
	uint64_t at_ms; /* since 1970 */
	uint64_t memory_bytes;
	uint64_t cpu_ns; /* so far */
};

/*
 * Of the box that this process is in: of its control groups where they can be read, else of the
 * process alone (its proportional share of memory). Errors when it is gone.
 */
int sample_take(pid_t pid, struct sample *ret, struct err *err);
