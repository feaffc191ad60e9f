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
/* Options of a box that is made for one run, or that a daemon does not let its clients say. */
int remote_check_fit(const struct run *run, struct err *err);
/* What was asked for at its making may be said again, so that a script can always say it. */
int remote_check_same(const struct remote_cells *at, struct err *err);

int remote_put_file(const struct remote_cells *at, const struct run_file *file, struct err *err);
/* A run_fetch_fn; `arg` is the struct remote_cells. */
int remote_fetch(const char *path, const char *artifact, int fd, void *arg, struct err *err);

/* The body of POST …/executions: code, and limits of the run. */
int remote_cell_body(const struct run *run, const char *code, size_t len, struct buf *ret,
		     struct err *err);
/* Whether it waits behind other cells of the session: what runs then is somebody else's. */
bool remote_is_queued(const struct remote_cells *at, const char *id);
/* Of the cell that runs. */
int remote_interrupt(const struct remote_cells *at, struct err *err);

/* A number, whole or not; 0 when it is none. */
double remote_number(const struct json_value *value);
