/*
 * cells.h - what commands that run cells in a session of a daemon share.
 */
#pragma once

#include "cli/remote/remote.h"
#include "cli/run/run.h"

struct remote_cells {
	const struct run *run; /* its session, limits, files */
	struct client *client;
	struct json_value *session; /* as the daemon described it last */
};

/*
 * The session of that name or id; one that has no id and is not there is made as the run says, and
 * said so.
 */
int remote_cells_open(struct remote_cells *at, const char *name, bool *ret_made, struct err *err);
/* What was asked for at its making may be said again, so that a script can always say it. */
int remote_check_same(const struct remote_cells *at, struct err *err);

/* A number, whole or not; 0 when it is none. */
double remote_number(const struct json_value *value);
