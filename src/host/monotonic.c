/*
 * monotonic.c - wall clocks that do not leap: for what removes things, for what gives rights.
 *
 * Runs in:  reckond's loop.
 * Reads:    the wall clock, and the boot clock, which nobody sets.
 * Never:    steady: is ahead of the wall clock. strict: is behind it.
 *
 * A clock that is set a year ahead by mistake would make everything old at once, and what retention
 * takes is gone for good. So a leap is believed only after a day: until then time goes on from before
 * it, as the boot clock counts. A clock that is set back is believed at once: nothing gets older.
 */
#include "host/monotonic.h"

#include "base/clock.h"
#include "base/log.h"

#define LEAP_MS (10ull * 60 * 1000)	  /* more than this ahead is not slewing */
#define BELIEVED_MS (24ull * 3600 * 1000) /* after it stood so long */

uint64_t monotonic_at(struct monotonic *monotonic, uint64_t wall_ms, uint64_t boot_ms)
{
	const uint64_t expected = monotonic->wall_ms + (boot_ms - monotonic->boot_ms);

	if (monotonic->wall_ms != 0 && wall_ms > expected + LEAP_MS) {
		if (!monotonic->has_leapt)
			monotonic->leapt_boot_ms = boot_ms;
		monotonic->has_leapt = true;
		if (boot_ms - monotonic->leapt_boot_ms < BELIEVED_MS)
			return expected;
	}
	*monotonic = (struct monotonic){ .wall_ms = wall_ms, .boot_ms = boot_ms };
	return wall_ms;
}

uint64_t monotonic_now(struct monotonic *monotonic)
{
	const bool had_leapt = monotonic->has_leapt;
	const uint64_t wall = clock_wall_ms(), now = monotonic_at(monotonic, wall, clock_boot_ms());

	if (monotonic->has_leapt && !had_leapt)
		log_line(LOG_WARN, "the clock leapt ahead: nothing is removed by it for a day",
			 "seconds=%llu", (unsigned long long)((wall - now) / 1000));
	return now;
}

/* ---- strict --------------------------------------------------------------------------------- */

static uint64_t expected_of(const struct strict *strict, uint64_t boot_ms)
{
	return strict->wall_ms + (boot_ms - strict->boot_ms);
}

uint64_t strict_at(const struct strict *strict, uint64_t wall_ms, uint64_t boot_ms)
{
	uint64_t expected;

	if (strict->wall_ms == 0)
		return wall_ms;
	expected = expected_of(strict, boot_ms);
	return wall_ms > expected ? wall_ms : expected;
}

uint64_t strict_now(const struct strict *strict)
{
	return strict_at(strict, clock_wall_ms(), clock_boot_ms());
}

void strict_tick_at(struct strict *strict, uint64_t wall_ms, uint64_t boot_ms)
{
	const uint64_t expected = expected_of(strict, boot_ms);
	const bool goes_together = wall_ms >= expected && wall_ms <= expected + LEAP_MS;

	if (strict->wall_ms != 0 && !goes_together) {
		if (strict->apart_boot_ms == 0)
			strict->apart_boot_ms = boot_ms;
		if (boot_ms - strict->apart_boot_ms < BELIEVED_MS)
			return;
	}
	*strict = (struct strict){ .wall_ms = wall_ms, .boot_ms = boot_ms };
}

void strict_tick(struct strict *strict)
{
	strict_tick_at(strict, clock_wall_ms(), clock_boot_ms());
}
