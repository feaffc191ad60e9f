/*
 * lifecycle.c - the states of reckond from start to end, and the allowed transitions.
 *
 * Runs in:  reckond's loop, and before it starts.
 * Reads:    nothing.
 * Never:    makes a transition that the table lacks, or ends the process because of one.
 */
#include "host/operations/lifecycle.h"

#include <stddef.h>

#include "base/log.h"

#define TO(state) (1u << LIFECYCLE_##state)

static const struct {
	const char *name;
	unsigned moves;
} states[LIFECYCLE_COUNT_] = {
	[LIFECYCLE_STARTING] = { "starting", TO(SERVING) },
	[LIFECYCLE_SERVING] = { "serving", TO(DRAINING) | TO(FAILED) | TO(STOP_GRACE) |
						   TO(STOPPING) | TO(UPGRADE_GRACE) |
						   TO(UPGRADING) },
	[LIFECYCLE_DRAINING] = { "draining", TO(SERVING) | TO(FAILED) | TO(STOP_GRACE) |
						     TO(STOPPING) | TO(UPGRADE_GRACE) |
						     TO(UPGRADING) },
	[LIFECYCLE_FAILED] = { "failed", 0 },
	[LIFECYCLE_STOP_GRACE] = { "stop-grace", TO(STOPPING) },
	[LIFECYCLE_STOPPING] = { "stopping", 0 },
	[LIFECYCLE_UPGRADE_GRACE] = { "upgrade-grace", TO(UPGRADING) },
	[LIFECYCLE_UPGRADING] = { "upgrading", 0 },
};

const char *lifecycle_name(enum lifecycle_state state)
{
	return state < LIFECYCLE_COUNT_ ? states[state].name : "unknown";
}

bool lifecycle_allows(enum lifecycle_state from, enum lifecycle_state to)
{
	return from < LIFECYCLE_COUNT_ && to < LIFECYCLE_COUNT_ &&
	       (states[from].moves & (1u << to)) != 0;
}

static bool ends(enum lifecycle_state state)
{
	switch (state) {
	case LIFECYCLE_STOP_GRACE:
	case LIFECYCLE_STOPPING:
	case LIFECYCLE_UPGRADE_GRACE:
	case LIFECYCLE_UPGRADING:
		return true;
	case LIFECYCLE_STARTING:
	case LIFECYCLE_SERVING:
	case LIFECYCLE_DRAINING:
	case LIFECYCLE_FAILED:
	case LIFECYCLE_COUNT_:
		break;
	}
	return false;
}

bool lifecycle_move(struct lifecycle *life, enum lifecycle_state to)
{
	if (!lifecycle_allows(life->state, to)) {
		log_line(LOG_ERROR, "the daemon refused a change of its state", "from=%s to=%s",
			 lifecycle_name(life->state), lifecycle_name(to));
		return false;
	}
	if (ends(to) && !ends(life->state))
		life->end_began_in = life->state;
	life->state = to;
	return true;
}

bool lifecycle_is_ending(const struct lifecycle *life)
{
	return ends(life->state);
}

bool lifecycle_is_in_grace(const struct lifecycle *life)
{
	return life->state == LIFECYCLE_STOP_GRACE || life->state == LIFECYCLE_UPGRADE_GRACE;
}

bool lifecycle_is_upgrade(const struct lifecycle *life)
{
	return life->state == LIFECYCLE_UPGRADE_GRACE || life->state == LIFECYCLE_UPGRADING;
}

bool lifecycle_is_drained(const struct lifecycle *life)
{
	return (ends(life->state) ? life->end_began_in : life->state) == LIFECYCLE_DRAINING;
}
