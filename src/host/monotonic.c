/*
 * monotonic.c - wall clocks that ignore leaps: one for removing old data, one for expiring rights.
 *
 * Runs in:  reckond's loop.
 * Reads:    the wall clock, and the boot clock, which nobody can set.
 * Never:    monotonic: is ahead of the wall clock. strict: is behind it.
 *
 * If a clock is set a year ahead by mistake, everything becomes old at once, and retention removes
 * it for good. So a leap ahead is ignored for a day: until then the time continues from before, by
 * the boot clock. If a clock is set back, the new time is used at once, because nothing becomes
 * older.
 */
#include "host/monotonic.h"

#include "base/clock.h"
#include "base/log.h"

#define LEAP_MS (10ull * 60 * 1000)	  /* more than this is not slewing */
#define BELIEVED_MS (24ull * 3600 * 1000) /* after this time a leap is accepted */

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
