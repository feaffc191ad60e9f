/*
 * daemon_state.h - a session of a daemon's, as daemon.c and daemon_cell.c see it.
 */
#pragma once

#include "cli/session/daemon.h"

#define DAEMON_PATH_MAX ((size_t)64 * 1024)

struct daemon {
	struct session base;
	struct remote_cells at;
	char name[64]; /* of the session that renew() makes; "" none */
	int wake[2];
	/* the cell that runs */
	const struct session_cell *cell;
	struct buf *record;
	char execution[48];
	struct buf question; /* an `input_request` that nobody was asked yet, or empty */
	struct remote_tools *tools; /* their answers; NULL: there are none */
	/* where the last one ran, when its language is not the session's; or "" */
	char context[64];
};

static inline struct daemon *daemon_of(struct session *session)
{
	return (struct daemon *)session;
}

/* The execute of its operations. */
int daemon_execute(struct session *session, const struct session_cell *cell,
		   struct session_result *ret, struct err *err);
