/* restore.h - a box for a session that has none any more: its files from the store, its old id. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct host;
struct job;
struct session;

/* Makes a box for a parked session, when nothing uses the old one and its transaction has come. */
void restore_want(struct session *session);
void restore_done(struct job *job);
/* Its box is gone, with everything but what is kept. */
void restore_park(struct session *session, const char *why);
/* In a thread of the pool: the box goes, the session stays. */
void restore_close_box(struct session *session);
void restore_next(struct host *host);
void restore_work(struct job *job); /* in a thread of the pool */
int job_fill_env(struct job *job, const struct buf *env, struct err *err); /* as a row keeps it */
