/*
 * retain.h - how long history and ended sessions are kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

#define RETAIN_CUTOFF_SIZE (ID_TIME_SIZE)

struct host;

struct retainer {
	uint64_t last_ns;
	uint64_t executions, sessions; /* taken, and not told yet */
	bool has_failed;
};

void retain_tick(struct host *host);
void retain_stop(struct host *host);

/* What ids begin with that were made so long ago; "" when nothing is ever too old. */
void retain_cutoff(uint64_t now_ms, uint64_t keep_ms, char ret[RETAIN_CUTOFF_SIZE]);
/* Whether something with this id would be gone by now, had it been there; keep 0: never. */
bool retain_is_expired(uint64_t keep_ms, const char *id);
