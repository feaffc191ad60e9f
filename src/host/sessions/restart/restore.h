/*
 * restore.h - makes a new box for a session that has none: with its files from the store, its old
 * id.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct host;
struct job;
struct session;

/* Makes a box for a parked session, as soon as no job uses the old one. */
void restore_want(struct session *session);
void restore_done(struct job *job);
/* The box is lost, with everything that is not stored. */
void restore_park(struct session *session, const char *why);
/* Closes the box but not the session; in a thread of the pool. */
void restore_close_box(struct session *session);
void restore_next(struct host *host);
void restore_work(struct job *job); /* runs in a thread of the pool */
int job_fill_env(struct job *job, const struct buf *env, struct err *err); /* as a row has it */
