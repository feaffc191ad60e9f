/*
 * persist.h - a workspace kept outside its box: every name, with its content in the store.
 *
 * A manifest holds all that makes up a workspace: files (also sparse ones) with size and hash,
 * directories (also empty ones), symbolic links, hard links, pipes; mode and time of change of
 * each. It is bounded by the workspace's own quota: as many names as it may have, as many bytes.
 * Sockets, owners, access lists and extended attributes are not kept.
 *
 * persist_run() brings it up to date: only what changed (inode, size, times) is read. What differs is
 * handed out by persist_take(), to be committed by whoever owns a database. A file that could not be
 * kept stays in the manifest as RECKON_ENTRY_NOT_KEPT, so that nobody takes the rest for all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lib/store/store.h"
#include "lib/workspace/workspace.h"
#include "reckon_keep.h"

struct persist_entry {
	char *path; /* relative, raw bytes as in the file system */
	unsigned kind; /* RECKON_ENTRY_… */
	uint32_t mode;
	uint64_t size;
	uint64_t ino;
	int64_t mtime_ns;
	int64_t ctime_ns;
	char *target; /* of a symbolic link; of a hard link the path of the first */
	char sha256[STORE_SHA256_SIZE];
	bool is_shared; /* has other names, here or elsewhere */
	bool is_unsure; /* changed while it was read: to be read again */
};

struct persist_list {
	struct persist_entry *entries; /* sorted by path */
	size_t count, capacity;
	size_t unseen; /* directories or names that could not be looked at */
};

/* What bounds a manifest: the workspace's limits. */
struct persist_bounds {
	uint64_t bytes;
	uint64_t entries;
};

struct manifest {
	struct persist_list list;
	bool is_known; /* whoever takes knows the manifest up to `pending` */
	bool is_whole; /* `pending` is all of it */
	struct persist_list pending; /* in order of time; RECKON_ENTRY_GONE: removed */
	uint64_t taken; /* how often */
	size_t not_kept; /* names of the manifest without content, and what was not seen */
	char why[160]; /* of the first of them */
};

struct manifest *persist_new(void);
void persist_free(struct manifest *manifest); /* NULL is fine */

/*
 * Looks at the workspace and puts what is new into the store, durably (unless it was relaxed).
 * With `thorough` every file is read: a mapping that stays open can change one without a trace.
 * With a `part` only that is brought up to date, if the rest is known. `apart` is not looked at.
 * Fails when the workspace cannot be read at all, or the store not be synced; then nothing changed.
 */
struct part;
struct persist_look {
	bool thorough;
	const struct part *part; /* or NULL: all of it */
	const struct apart *apart; /* or NULL */
};
int persist_run(struct manifest *manifest, int dir_fd, struct store *store,
	     const struct persist_bounds *bounds, const struct persist_look *look, struct err *err);

/* What changed since the last time; moves into *ret, and belongs to reckon_workspace_free(). */
void persist_take(struct manifest *manifest, reckon_workspace **ret);
/* What was taken did not reach its database: the next run reads and tells everything. */
void persist_forget(struct manifest *manifest);

/* Points out to each file of a scan what its content is, if the manifest knows it still. */
void persist_annotate(const struct manifest *manifest, struct workspace *scan);

/*
 * Makes the workspace exactly what the entries say: what already exists is removed. Everything is
 * given to uid:gid (unless (uid_t)-1). What content is missing, or not what its hash says, `missing`
 * is told of, and all else is made; without it that is ERR_LOST, what was made so far is still
 * there, and nobody must use it. `keep` knows it afterwards.
 */
struct persist_missing {
	reckon_missing_fn *tell;
	void *arg;
};
int persist_restore(struct manifest *manifest, int dir_fd, struct store *store,
		 const reckon_workspace_entry *entries, size_t count, uid_t uid, gid_t gid,
		 const struct persist_missing *missing, struct err *err);

/* ---- persist_scan.c ---- */
int persist_scan(int dir_fd, const struct apart *apart, uint64_t entries_max,
		 struct persist_list *ret, struct err *err);
void persist_list_clear(struct persist_list *list);
struct persist_entry *persist_list_add(struct persist_list *list); /* zeroed */
const struct persist_entry *persist_list_find(const struct persist_list *list, const char *path);
int persist_compare(const void *left, const void *right); /* entries, by path: for qsort() */
/* Whether nothing changed as far as its inode tells. */
bool persist_is_same(const struct persist_entry *left, const struct persist_entry *right);
/* Opens the directory that holds `path`; *ret_name is its last part. */
int persist_open_parent(int dir_fd, const char *path, int *ret_fd, const char **ret_name,
		     struct err *err);
