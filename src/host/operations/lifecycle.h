/*
 * lifecycle.h - where reckond is between its start and its end.
 *
 *   STARTING --> SERVING <--> DRAINING
 *   SERVING, DRAINING --SIGTERM--> STOP_GRACE --cells have ended--> STOPPING
 *   SERVING, DRAINING --SIGUSR2--> UPGRADE_GRACE --cells have ended--> UPGRADING
 *
 * All moves that there are stand in a table (lifecycle.c, docs/internals/daemon.md).
 */
#pragma once

#include <stdbool.h>

enum lifecycle_state {
	LIFECYCLE_STARTING, /* no loop yet */
	LIFECYCLE_SERVING,
	LIFECYCLE_DRAINING, /* no new sessions are taken */
	LIFECYCLE_FAILED, /* the native front never came up */
	LIFECYCLE_STOP_GRACE, /* cells go on, nothing begins */
	LIFECYCLE_STOPPING, /* sessions leave; the last one to go ends the loop */
	LIFECYCLE_UPGRADE_GRACE, /* the same two, and then the new binary */
	LIFECYCLE_UPGRADING,
	LIFECYCLE_COUNT_,
};

struct lifecycle {
	enum lifecycle_state state;
	enum lifecycle_state end_began_in; /* of a state in which it ends: the one before those */
};

const char *lifecycle_name(enum lifecycle_state state);
bool lifecycle_allows(enum lifecycle_state from, enum lifecycle_state to);
/* The only way from one state to another. False, and logged: there is no such move. */
bool lifecycle_move(struct lifecycle *life, enum lifecycle_state to);

/* It is to end, so nothing begins any more. */
bool lifecycle_is_ending(const struct lifecycle *life);
bool lifecycle_is_in_grace(const struct lifecycle *life);
bool lifecycle_is_upgrade(const struct lifecycle *life);
/* Somebody drained it, perhaps before its end began. */
bool lifecycle_is_drained(const struct lifecycle *life);
