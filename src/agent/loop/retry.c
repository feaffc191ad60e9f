/*
 * retry.c - computes the delay before a retry.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    a header of a model's server.
 * Never:    sleeps itself.
 */
#include "agent/loop/retry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_MS 500u
#define MAX_MS 8000u
#define SECONDS_MAX 86400.0 /* a longer delay is treated as invalid */

uint64_t retry_after_read(const char *value, bool is_ms, int64_t now)
{
	struct tm tm = { 0 };
	char *end;
	const double number = strtod(value, &end);
	const char *rest;

	if (end != value && *end == '\0') {
		const double seconds = is_ms ? number / 1000 : number;

		return seconds > 0 && seconds <= SECONDS_MAX ? (uint64_t)(seconds * 1000) : 0;
	}
	rest = is_ms ? NULL : strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (rest != NULL && *rest == '\0') {
		const int64_t wait = (int64_t)timegm(&tm) - now;

		return wait > 0 && wait <= (int64_t)SECONDS_MAX ? (uint64_t)wait * 1000 : 0;
	}
	return 0;
}

uint64_t retry_delay_ms(unsigned attempt, uint64_t retry_after_ms, uint32_t random)
{
	uint64_t wait = FIRST_MS;

	if (retry_after_ms > RETRY_AFTER_MAX_MS)
		return UINT64_MAX;
	if (retry_after_ms > 0)
		return retry_after_ms;
	for (unsigned i = 1; i < attempt && wait < MAX_MS; i++)
		wait *= 2;
	return wait - wait * (random % 256) / 1024;
}
