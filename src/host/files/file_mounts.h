/*
 * file_mounts.h - files of a tenant that sessions have by reference: mounted into their boxes, read-only.
 */
#pragma once

#include "base/err.h"
#include "host/executions/job.h"

#define FILE_MOUNTS_TARGET "/mnt/files"

struct host;
struct session;

/* One of a job that opens a session: the content, and its place below FILE_MOUNTS_TARGET. */
struct file_mount {
	struct file_mount *next;
	char *path;
	char artifact[48];
	int fd;
};
void file_mounts_free(struct file_mount *list); /* NULL is fine */

/* Whether the paths are such, and each is another one. */
int file_mounts_check(const struct file_mount *list, struct err *err);

/* ---- in a thread of the pool ---- */
/* The session's folder, which row.file_mounts names, on the disk. */
int file_mounts_make(const struct session *session, const struct file_mount *list, struct err *err);
void file_mounts_remove(const struct session *session);
/* Where a box gets it from. */
void file_mounts_source(const struct session *session, char ret[96]);

/* At the start: what no session has. */
void file_mounts_sweep(struct host *host);
