/*
 * retain.h - retention of history and ended sessions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

#define RETAIN_CUTOFF_SIZE (ID_TIME_SIZE)

struct host;

struct retainer {
	uint64_t last_ns;
	uint64_t executions, sessions; /* removed and not reported yet */
	bool has_failed;
};

void retain_tick(struct host *host);
void retain_stop(struct host *host);

/* The beginning of ids made `keep_ms` ago; "" if nothing is too old. */
void retain_cutoff(uint64_t now_ms, uint64_t keep_ms, char ret[RETAIN_CUTOFF_SIZE]);
/* Whether an object with this id would have been removed by now; keep_ms 0: never. */
bool retain_is_expired(uint64_t keep_ms, const char *id);
