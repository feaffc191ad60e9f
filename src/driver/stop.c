/*
 * stop.c - wishes to end a question, and the time limit that its agent has to keep.
 *
 * Runs in:  reckon ask, libreckon, reckond.
 * Reads:    what the owner wants.
 * Never:    ends an agent by force: that is the owner's decision.
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
	return agent_client_interrupt(driver->talk, err);
}

bool driver_is_late(const struct driver *driver, uint64_t now_ns)
{
	return (driver->state == DRIVER_THINKING ||
		(driver->state == DRIVER_STARTING && driver->has_question)) &&
	       now_ns > driver->deadline_ns;
}
