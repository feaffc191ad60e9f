/*
 * file_mounts.h - files of a tenant that are mounted read-only into the boxes of its sessions.
 */
#pragma once

#include "base/err.h"
#include "host/executions/job.h"

#define FILE_MOUNTS_TARGET "/mnt/files"

struct host;
struct session;

/* A file for a session that is being opened: its content, and its path below FILE_MOUNTS_TARGET. */
struct file_mount {
	struct file_mount *next;
	char *path;
	char artifact[48];
	int fd;
};
void file_mounts_free(struct file_mount *list); /* NULL is fine */

/* Checks that the paths are safe, and that none equals or is below another. */
int file_mounts_check(const struct file_mount *list, struct err *err);

/* ---- in a thread of the pool ---- */
/* Makes the session's folder, named by row.file_mounts, and syncs it. */
int file_mounts_make(const struct session *session, const struct file_mount *list, struct err *err);
void file_mounts_remove(const struct session *session);
/* The path of the folder, for mounting it into a box. */
void file_mounts_source(const struct session *session, char ret[96]);

/* Call at the start: removes folders that no session has. */
void file_mounts_sweep(struct host *host);
