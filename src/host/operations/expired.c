/*
 * expired.c - decides from an id alone whether its object is older than retention allows.
 *
 * Runs in:  reckond's loop.
 * Reads:    the clock.
 */
#include <string.h>

#include "base/clock.h"
#include "host/operations/retain.h"

#define ID_DIGITS 26u

void retain_cutoff(uint64_t now_ms, uint64_t keep_ms, char ret[RETAIN_CUTOFF_SIZE])
{
	ret[0] = '\0';
	if (keep_ms > 0 && keep_ms < now_ms)
		id_time(now_ms - keep_ms, ret);
}

bool retain_is_expired(uint64_t keep_ms, const char *id)
{
	char cutoff[RETAIN_CUTOFF_SIZE];
	const char *time = strchr(id, '_');

	retain_cutoff(clock_wall_ms(), keep_ms, cutoff);
	return cutoff[0] != '\0' && time != NULL && strlen(time) == ID_DIGITS + 1 &&
	       strncmp(time + 1, cutoff, strlen(cutoff)) < 0;
}
