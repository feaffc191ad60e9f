/*
 * lifecycle.h - the states of reckond from start to end.
 *
 *   STARTING --> SERVING <--> DRAINING
 *   SERVING, DRAINING --SIGTERM--> STOP_GRACE --cells have ended--> STOPPING
 *   SERVING, DRAINING --SIGUSR2--> UPGRADE_GRACE --cells have ended--> UPGRADING
 *
 * lifecycle.c has the table of all transitions (see also docs/internals/daemon.md).
 */
#pragma once

#include <stdbool.h>

enum lifecycle_state {
	LIFECYCLE_STARTING, /* no loop yet */
	LIFECYCLE_SERVING,
	LIFECYCLE_DRAINING, /* refuses new sessions */
	LIFECYCLE_FAILED, /* the native front was never ready */
	LIFECYCLE_STOP_GRACE, /* running cells continue, nothing new begins */
	LIFECYCLE_STOPPING, /* sessions close; the last one ends the loop */
	LIFECYCLE_UPGRADE_GRACE, /* as the two states above, then the new binary */
	LIFECYCLE_UPGRADING,
	LIFECYCLE_COUNT_,
};

struct lifecycle {
	enum lifecycle_state state;
	enum lifecycle_state end_began_in; /* while it is ending: the state before that */
};

const char *lifecycle_name(enum lifecycle_state state);
bool lifecycle_allows(enum lifecycle_state from, enum lifecycle_state to);
/* Changes the state. If the transition is not allowed, logs it and returns false. */
bool lifecycle_move(struct lifecycle *life, enum lifecycle_state to);

/* Whether the daemon is ending, so that nothing new may begin. */
bool lifecycle_is_ending(const struct lifecycle *life);
bool lifecycle_is_in_grace(const struct lifecycle *life);
bool lifecycle_is_upgrade(const struct lifecycle *life);
/* Whether it is draining, or was when its end began. */
bool lifecycle_is_drained(const struct lifecycle *life);
