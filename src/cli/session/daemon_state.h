/*
 * daemon_state.h - the state of a daemon's session, shared by daemon.c and daemon_cell.c.
 */
#pragma once

#include "cli/session/daemon.h"

#define DAEMON_PATH_MAX ((size_t)64 * 1024)

struct daemon {
	struct session base;
	struct remote_cells at;
	char name[64]; /* name of the session that renew() creates; "": none */
	int wake[2];
	/* the running cell */
	const struct session_cell *cell;
	struct buf *record;
	char execution[48];
	struct buf question; /* an `input_request` that was not shown to the person yet, or empty */
	struct remote_tools *tools; /* answers tool calls; NULL: there are no tools */
	/* the context of the last cell if its language is not the session's; or "" */
	char context[64];
};

static inline struct daemon *daemon_of(struct session *session)
{
	return (struct daemon *)session;
}

/* execute() of its session_ops. */
int daemon_execute(struct session *session, const struct session_cell *cell,
		   struct session_result *ret, struct err *err);
