/*
 * retry.h - computes the delay before a retry. Pure.
 *
 * The server's delay is used, up to a minute. Otherwise the delay begins at half a second and
 * doubles up to eight; a random part of up to a quarter is subtracted, so that many clients do not
 * retry at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RETRY_AFTER_MAX_MS 60000u

/*
 * Parses "Retry-After" (seconds, maybe with a fraction, or an HTTP date, relative to `now` in
 * seconds since 1970) or "retry-after-ms"; 0: not understood.
 */
uint64_t retry_after_read(const char *value, bool is_ms, int64_t now);

/*
 * Milliseconds before attempt number `attempt` (1 is the first retry); `retry_after_ms` is the
 * server's delay, 0: none. `random` is any number. UINT64_MAX: the server's delay is too long.
 */
uint64_t retry_delay_ms(unsigned attempt, uint64_t retry_after_ms, uint32_t random);
