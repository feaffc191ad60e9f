/*
 * steady.c - a wall clock that does not leap ahead, for what would remove things.
 *
 * Runs in:  reckond's loop.
 * Reads:    the wall clock, and the boot clock, which nobody sets.
 * Never:    is ahead of the wall clock.
 *
 * A clock that is set a year ahead by mistake would make everything old at once, and what retention
 * takes is gone for good. So a leap is believed only after a day: until then time goes on from before
 * it, as the boot clock counts. A clock that is set back is believed at once: nothing gets older.
 */
#include "host/steady.h"

#include "base/clock.h"
#include "base/log.h"

#define LEAP_MS (10ull * 60 * 1000)	  /* more than this ahead is no slewing */
#define BELIEVED_MS (24ull * 3600 * 1000) /* after it stood so long */

uint64_t steady_at(struct steady *steady, uint64_t wall_ms, uint64_t boot_ms)
{
	const uint64_t expected = steady->wall_ms + (boot_ms - steady->boot_ms);

	if (steady->wall_ms != 0 && wall_ms > expected + LEAP_MS) {
		if (!steady->has_leapt)
			steady->leapt_boot_ms = boot_ms;
		steady->has_leapt = true;
		if (boot_ms - steady->leapt_boot_ms < BELIEVED_MS)
			return expected;
	}
	*steady = (struct steady){ .wall_ms = wall_ms, .boot_ms = boot_ms };
	return wall_ms;
}

uint64_t steady_now(struct steady *steady)
{
	const bool had_leapt = steady->has_leapt;
	const uint64_t wall = clock_wall_ms(), now = steady_at(steady, wall, clock_boot_ms());

	if (steady->has_leapt && !had_leapt)
		log_line(LOG_WARN, "the clock leapt ahead: nothing is removed by it for a day",
			 "seconds=%llu", (unsigned long long)((wall - now) / 1000));
	return now;
}
