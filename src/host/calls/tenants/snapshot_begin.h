/* snapshot_begin.h - starts a new session from a snapshot. */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "host/calls/answer.h"
#include "host/db/tables/snapshot.h"

/* Data of the snapshot until the session exists. */
struct snapshot_begin {
	struct db_snapshot row; /* has an id if there is a snapshot */
	reckon_workspace *manifest;
	const char **env; /* variables of the snapshot and of the request */
};
void snapshot_begin_done(struct snapshot_begin *begin);
#define cleanup_snapshot_begin __attribute__((cleanup(snapshot_begin_done)))

/*
 * Fills in parameters that the request left out from the snapshot `id` (NULL: none). *ret must live
 * as long as `params`. False: answered with an error.
 */
bool snapshot_begin_take(struct host *host, const struct request *req, const char *id,
			 struct session_params *params, struct snapshot_begin *ret);
/* Passes the data to the session and to the job that opens it. */
void snapshot_begin_give(struct snapshot_begin *begin, struct session *session, struct job *job);
