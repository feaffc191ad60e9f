/*
 * clock.c - time.
 *
 * Runs in:  every process.
 * Reads:    the system clocks.
 * Never:    fails.
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

uint64_t clock_mono_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t read_ms(clockid_t which)
{
	struct timespec now;

	(void)clock_gettime(which, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

uint64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

uint64_t clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

void clock_rfc3339(uint64_t ms, char text[CLOCK_RFC3339_SIZE])
{
	const time_t seconds = (time_t)(ms / 1000u);
	struct tm utc = { .tm_mday = 1 };
	size_t used;

	(void)gmtime_r(&seconds, &utc);
	used = strftime(text, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
	(void)snprintf(text + used, CLOCK_RFC3339_SIZE - used, ".%03uZ", (unsigned)(ms % 1000u));
}

void clock_rfc3339_now(char text[CLOCK_RFC3339_SIZE])
{
	clock_rfc3339(clock_wall_ms(), text);
}

uint64_t clock_read_s(const char *text)
{
	struct tm tm = { 0 };

	return text != NULL && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) != NULL
		       ? (uint64_t)timegm(&tm)
		       : 0;
}

int64_t clock_stamp_ns(struct timespec at)
{
	return (int64_t)((uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec);
}
