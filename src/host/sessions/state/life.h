/*
 * life.h - where a session is in its life: the states, and what moves there are.
 *
 *   OPENING --opened--> LIVE --DELETE, expiry, lost kernel--> ENDING --closed--> ENDED --> (a row)
 *   OPENING, LIVE --the daemon stops--> LEAVING --closed--> LEFT --> (the next daemon's)
 *   LIVE --asked--> PAUSE_ASKED --nothing runs--> PAUSING --frozen--> PAUSED
 *   PAUSED --resume--> RESUMING --thawed--> LIVE
 *
 * All of them stand in a table (life.c, docs/internals/daemon.md). Whether it has a box is another
 * question (struct session_box of session.h): a live session may have none, and a paused one as well.
 */
#pragma once

#include <stdbool.h>

enum session_life {
	SESSION_OPENING,
	SESSION_LIVE,
	SESSION_PAUSE_ASKED, /* waits until nothing runs */
	SESSION_PAUSING, /* a thread freezes its box */
	SESSION_PAUSED,
	SESSION_RESUMING, /* a thread thaws its box */
	SESSION_ENDING, /* its row says so; what runs is interrupted, its box is closed */
	SESSION_ENDED, /* it has no box; contexts may have to go yet */
	SESSION_LEAVING, /* the same two because the daemon stops: its row stays live */
	SESSION_LEFT,
	SESSION_LIFE_COUNT_,
};

const char *life_name(enum session_life life);
bool life_allows(enum session_life from, enum session_life to);
/* The only way from one to another. False, and logged: there is no such move. */
bool life_move(enum session_life *life, enum session_life to, const char *session);

bool life_is_live(enum session_life life); /* open, and not about to go: paused ones are, too */
bool life_is_closing(enum session_life life); /* or closed */
bool life_is_closed(enum session_life life); /* it has ended or left, and its first kernel is gone */
bool life_has_ended(enum session_life life); /* or is ending: its row says so */
bool life_is_leaving(enum session_life life); /* or has left */
bool life_is_paused(enum session_life life); /* or is on the way there, or back */
/* Its box stands still, or is about to, or not to go on yet: jobs wait. */
bool life_stands_still(enum session_life life);
