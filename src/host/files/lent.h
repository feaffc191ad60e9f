/*
 * lent.h - files of a tenant that sessions have by reference: mounted into their boxes, read-only.
 */
#pragma once

#include "base/err.h"
#include "host/executions/job.h"

#define LENT_TARGET "/mnt/files"

struct host;
struct session;

/* One of a job that opens a session: the content, and its place below LENT_TARGET. */
struct lend {
	struct lend *next;
	char *path;
	char artifact[48];
	int fd;
};
void lend_free(struct lend *list); /* NULL is fine */

/* Whether the paths are such, and each is another one. */
int lend_check(const struct lend *list, struct err *err);

/* ---- in a thread of the pool ---- */
/* The session's folder, which row.lent names, on the disk. */
int lent_make(const struct session *session, const struct lend *list, struct err *err);
void lent_remove(const struct session *session);
/* Where a box gets it from. */
void lent_source(const struct session *session, char ret[96]);

/* At the start: what no session has. */
void lent_sweep(struct host *host);
