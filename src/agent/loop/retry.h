/*
 * retry.h - how long to wait before asking again. Pure.
 *
 * What the server asks for counts, up to a minute; else half a second, doubled each time up to
 * eight, less up to a quarter, so that many clients do not come back at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RETRY_ASKED_MAX_MS 60000u

/*
 * "Retry-After" (seconds, a fraction too, or a date of HTTP, against `now` in seconds since 1970) or
 * "retry-after-ms"; 0 when it says nothing that is understood.
 */
uint64_t retry_after_read(const char *value, bool is_ms, int64_t now);

/*
 * Milliseconds before attempt number `attempt` (1 is the first that is repeated); `asked` is what the
 * server said, 0: nothing. `random` is any number. UINT64_MAX: it asked for longer than we wait.
 */
uint64_t retry_delay_ms(unsigned attempt, uint64_t asked_ms, uint32_t random);
