/*
 * sample.h - memory and CPU time of a box at one moment, measured from outside.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct sample {
	uint64_t at_ms; /* since 1970 */
	uint64_t memory_bytes;
	uint64_t cpu_ns; /* total since the start */
};

/*
 * Measures the box of process `pid`: from its control groups if they can be read, otherwise from
 * the process alone (its proportional share of memory). Fails if the process has ended.
 */
int sample_take(pid_t pid, struct sample *ret, struct err *err);
