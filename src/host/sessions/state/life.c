/*
 * life.c - the states of a session and the allowed transitions.
 *
 * Runs in:  reckond's loop; life_is_leaving() also in threads of the pool.
 * Reads:    nothing.
 * Never:    makes a transition that the table lacks, or ends the daemon because of one.
 */
#include "host/sessions/state/life.h"

#include <stddef.h>

#include "base/log.h"

#define TO(state) (1u << SESSION_##state)
#define TO_GO	  (TO(ENDING) | TO(LEAVING))

static const struct {
	const char *name;
	unsigned moves;
} states[SESSION_LIFE_COUNT_] = {
	/* PAUSED: at its start the daemon finds the session paused. */
	[SESSION_OPENING] = { "opening", TO(LIVE) | TO(PAUSED) | TO_GO },
	[SESSION_LIVE] = { "live", TO(PAUSE_REQUESTED) | TO_GO },
	/* PAUSED: a session without a box needs no freezing. */
	[SESSION_PAUSE_REQUESTED] = { "pause-asked", TO(LIVE) | TO(PAUSING) | TO(PAUSED) | TO_GO },
	[SESSION_PAUSING] = { "pausing", TO(LIVE) | TO(PAUSED) | TO_GO },
	[SESSION_PAUSED] = { "paused", TO(LIVE) | TO(RESUMING) | TO_GO },
	[SESSION_RESUMING] = { "resuming", TO(LIVE) | TO(PAUSED) | TO_GO },
	[SESSION_ENDING] = { "ending", TO(ENDED) },
	[SESSION_ENDED] = { "ended", 0 },
	[SESSION_LEAVING] = { "leaving", TO(LEFT) },
	[SESSION_LEFT] = { "left", 0 },
};

const char *life_name(enum session_life life)
{
	return life < SESSION_LIFE_COUNT_ ? states[life].name : "unknown";
}

bool life_allows(enum session_life from, enum session_life to)
{
	return from < SESSION_LIFE_COUNT_ && to < SESSION_LIFE_COUNT_ &&
	       (states[from].moves & (1u << to)) != 0;
}

bool life_move(enum session_life *life, enum session_life to, const char *session)
{
	if (!life_allows(*life, to)) {
		log_line(LOG_ERROR, "a session refused a change of its state",
			 "session=%s from=%s to=%s", session, life_name(*life), life_name(to));
		return false;
	}
	*life = to;
	return true;
}

bool life_is_live(enum session_life life)
{
	return life == SESSION_LIVE || life_is_paused(life);
}

bool life_is_closing(enum session_life life)
{
	return life_has_ended(life) || life_is_leaving(life);
}

bool life_is_closed(enum session_life life)
{
	return life == SESSION_ENDED || life == SESSION_LEFT;
}

bool life_has_ended(enum session_life life)
{
	return life == SESSION_ENDING || life == SESSION_ENDED;
}

bool life_is_leaving(enum session_life life)
{
	return life == SESSION_LEAVING || life == SESSION_LEFT;
}

bool life_is_paused(enum session_life life)
{
	return life == SESSION_PAUSE_REQUESTED || life_stands_still(life);
}

bool life_stands_still(enum session_life life)
{
	return life == SESSION_PAUSING || life == SESSION_PAUSED || life == SESSION_RESUMING;
}
