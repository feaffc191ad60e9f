/*
 * cells.h - functions shared by commands that run cells in a daemon's session.
 */
#pragma once

#include "cli/remote/remote.h"
#include "cli/run/run.h"

struct remote_cells {
	const struct run *run; /* the options: session, limits, files */
	struct client *client;
	struct json_value *session; /* the daemon's latest description */
};

/*
 * Opens the session with this name or id. If a name does not exist, creates the session with the
 * options of `run` and says so.
 */
int remote_cells_open(struct remote_cells *at, const char *name, bool *ret_made, struct err *err);
/* Options that equal the session's settings are accepted, so that a script can always give them. */
int remote_check_same(const struct remote_cells *at, struct err *err);

/* The value of a number; 0 for anything else. */
double remote_number(const struct json_value *value);
