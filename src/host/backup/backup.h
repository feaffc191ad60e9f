/*
 * backup.h - backups of a state directory: made while a daemon uses it, restored where none does.
 *
 *   TARGET/objects/ab/SHA256     contents, each one once for all snapshots
 *   TARGET/audit/FIRST-LAST.seg  sealed files of the audit
 *   TARGET/snapshots/ID/         reckond.db, and `objects` and `segments`: lists of its parts
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BACKUP_ID_SIZE 24 /* "20261125T101500Z", and a NUL */
#define BACKUP_SHA256_SIZE 65

struct backup_options {
	char state[4096];
	const char *target;
	const char *snapshot; /* NULL: the newest */
	uint64_t keep;	      /* number of snapshots to keep; 0: all */
	bool verify_only;
	bool objects_only;
};

struct backup_counts {
	uint64_t objects, bytes; /* of the snapshot */
	uint64_t new_objects, new_bytes;
	uint64_t wrong; /* problems, each reported on standard error */
};

/* ---- objects.c ---- */
/* Whether `root` has this object; *ret_size is its size. */
bool object_is_there(int root_fd, const char *sha256, uint64_t *ret_size);
/*
 * Copies an object unless it exists. 1: it exists; ERR_NOT_FOUND: the source does not have it;
 * ERR_LOST: it is damaged in the source, and not copied. Does not sync: see objects_sync().
 */
int object_copy(int from_fd, int to_fd, const char *sha256, uint64_t *ret_size, struct err *err);
int object_verify(int root_fd, const char *sha256, uint64_t size, struct err *err);
int objects_sync(int root_fd, struct err *err);
typedef int object_fn(const char *sha256, void *arg, struct err *err);
int objects_each(int root_fd, object_fn *fn, void *arg, struct err *err);
/* Copies a file that is not named by its hash, unless one of the same size exists. */
int plain_copy(int from_dir, const char *name, int to_dir, const char *to_name, struct err *err);

/* ---- snapshot.c ---- */
int snapshot_open(int target_fd, const char *id, char ret_id[BACKUP_ID_SIZE], int *ret_fd,
		  struct err *err); /* NULL: the newest */
/* Calls `fn` for each line of `objects` (name is a SHA-256) or `segments`. */
typedef int line_fn(const char *name, uint64_t size, void *arg, struct err *err);
int snapshot_each(int snapshot_fd, const char *list, line_fn *fn, void *arg, struct err *err);
/* Removes all but the newest `keep`, and the objects that only the removed ones need. */
int snapshot_prune(int target_fd, int objects_fd, uint64_t keep, struct err *err);

int backup_make(const struct backup_options *options, struct backup_counts *ret, struct err *err);
int backup_verify(const struct backup_options *options, struct backup_counts *ret, struct err *err);
int backup_restore(const struct backup_options *options, struct backup_counts *ret,
		   struct err *err);
/* Implements reckond backup … and reckond restore … */
int backup_main(int argc, char **argv);
