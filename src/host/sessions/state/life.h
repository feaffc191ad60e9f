/*
 * life.h - the states of a session and the allowed transitions.
 *
 *   OPENING --opened--> LIVE --DELETE, expiry, lost kernel--> ENDING --closed--> ENDED --> (a row)
 *   OPENING, LIVE --the daemon stops--> LEAVING --closed--> LEFT --> (the next daemon's)
 *   LIVE --pause--> PAUSE_REQUESTED --nothing runs--> PAUSING --frozen--> PAUSED
 *   PAUSED --resume--> RESUMING --thawed--> LIVE
 *
 * life.c has the table of all transitions (see also docs/internals/daemon.md). Whether the session
 * has a box is independent (struct session_box of session.h): a live or a paused session may have
 * none.
 */
#pragma once

#include <stdbool.h>

enum session_life {
	SESSION_OPENING,
	SESSION_LIVE,
	SESSION_PAUSE_REQUESTED, /* waits until nothing runs */
	SESSION_PAUSING,	 /* a thread freezes its box */
	SESSION_PAUSED,
	SESSION_RESUMING, /* a thread thaws its box */
	SESSION_ENDING, /* its row is ended; running code is interrupted, the box is being closed */
	SESSION_ENDED,	/* it has no box; contexts may still have to close */
	SESSION_LEAVING, /* as ENDING and ENDED, but the daemon stops: the row stays live */
	SESSION_LEFT,
	SESSION_LIFE_COUNT_,
};

const char *life_name(enum session_life life);
bool life_allows(enum session_life from, enum session_life to);
/* Changes the state. If the transition is not allowed, logs it and returns false. */
bool life_move(enum session_life *life, enum session_life to, const char *session);

bool life_is_live(enum session_life life); /* open, and neither ending nor leaving; or paused */
bool life_is_closing(enum session_life life); /* or is closed */
bool life_is_closed(enum session_life life); /* it has ended or left, and has no kernel */
bool life_has_ended(enum session_life life); /* or is ending: its row is ended */
bool life_is_leaving(enum session_life life); /* or has left */
bool life_is_paused(enum session_life life); /* or is being paused or resumed */
/* The box is frozen, or is being frozen or thawed: jobs wait. */
bool life_stands_still(enum session_life life);
