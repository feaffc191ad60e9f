/* snapshot_begin.h - a new session that begins with a snapshot. */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "host/calls/answer.h"
#include "host/db/tables/snapshot.h"

/* What is taken of one until the session is there. */
struct snapshot_begin {
	struct db_snapshot row; /* with an id: there is one */
	reckon_workspace *manifest;
	const char **env; /* the snapshot's variables, and those of the request */
};
void snapshot_begin_done(struct snapshot_begin *begin);
#define cleanup_snapshot_begin __attribute__((cleanup(snapshot_begin_done)))

/* What the request leaves out is as in the snapshot (NULL: there is none); what is in `ret` has to
 * stay as long as the params. False when it was answered with an error. */
bool snapshot_begin_take(struct host *host, const struct request *req, const char *id,
			 struct session_params *params, struct snapshot_begin *ret);
/* To the session, and to the job that opens it. */
void snapshot_begin_give(struct snapshot_begin *begin, struct session *session, struct job *job);
