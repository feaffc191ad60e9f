/*
 * stop.c - stopping a question, and the time limit that its agent must keep.
 *
 * Runs in:  reckon ask, libreckon, reckond.
 * Reads:    the owner's stop requests.
 * Never:    kills an agent: the owner decides that.
 */
#include "driver/driver.h"

int driver_interrupt(struct driver *driver, struct err *err)
{
	driver->is_stopping = true;
	return driver_tell_stop(driver, err);
}

int driver_tell_stop(struct driver *driver, struct err *err)
{
	if (!driver->is_stopping && driver->ops->wants_stop != NULL)
		driver->is_stopping = driver->ops->wants_stop(driver->arg);
	if (!driver->is_stopping ||
	    (driver->state != DRIVER_THINKING && driver->state != DRIVER_RUNNING))
		return 0;
	return agent_client_interrupt(driver->client, err);
}

uint64_t driver_left_ns(const struct driver *driver, uint64_t now_ns)
{
	if (driver->over_ns == 0)
		return UINT64_MAX;
	return driver->over_ns > now_ns ? driver->over_ns - now_ns : 0;
}

uint64_t driver_cell_limit_ms(const struct driver *driver, uint64_t most_ms, uint64_t now_ns)
{
	const uint64_t left_ns = driver_left_ns(driver, now_ns);
	/* Rounded up, because 0 means no limit. */
	const uint64_t left_ms = left_ns / 1000000u + 1;

	if (left_ns == UINT64_MAX || (most_ms > 0 && most_ms <= left_ms))
		return 0;
	return left_ms;
}

bool driver_is_late(const struct driver *driver, uint64_t now_ns)
{
	return (driver->state == DRIVER_THINKING ||
		(driver->state == DRIVER_STARTING && driver->has_question)) &&
	       now_ns > driver->deadline_ns;
}
