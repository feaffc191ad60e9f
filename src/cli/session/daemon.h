/*
 * daemon.h - a daemon's session, over HTTP; in reckon-client.
 */
#pragma once

#include "cli/remote/cells.h"
#include "cli/session/session.h"

/* A session_open_fn for -s, which creates the session if it does not exist. */
int session_open_daemon(const struct run *run, struct session **ret, struct err *err);

/*
 * The same in steps, for a command that chooses the session itself: connect, then
 * remote_cells_open() or remote_session() into session_daemon_at(), then session_daemon_joined().
 */
enum session_daemon_which {
	SESSION_DAEMON_NAMED, /* the daemon of --url or RECKON_URL, else the private one */
	SESSION_DAEMON_PRIVATE,
};
int session_daemon_connect(const struct run *run, enum session_daemon_which which,
			   struct session **ret, struct err *err);
struct remote_cells *session_daemon_at(struct session *session);
void session_daemon_joined(struct session *session, bool is_fresh);
