/*
 * persist.h - a copy of a workspace outside its box: a manifest of all names, with contents in the
 * store.
 *
 * A manifest describes a whole workspace: files (including sparse ones) with size and hash,
 * directories (including empty ones), symbolic links, hard links and pipes, each with mode and
 * modification time. The workspace's quota for names and bytes also limits the manifest. Sockets,
 * owners, access lists and extended attributes are not stored.
 *
 * persist_run() updates it, and only reads files whose inode, size or times changed. persist_take()
 * returns the changes, which the caller commits to its database. A file that could not be stored
 * remains in the manifest as RECKON_ENTRY_NOT_KEPT, so that the manifest does not look complete.
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
	char *target; /* of a symbolic link; for a hard link, the path of the first name */
	char sha256[STORE_SHA256_SIZE];
	bool is_shared; /* has other names, in the workspace or elsewhere */
	bool is_unsure; /* changed while it was read, so it has to be read again */
};

struct persist_list {
	struct persist_entry *entries; /* sorted by path */
	size_t count, capacity;
	size_t unseen; /* number of directories or names that could not be read */
};

/* Limits of a manifest: those of the workspace. */
struct persist_bounds {
	uint64_t bytes;
	uint64_t entries;
};

struct manifest {
	struct persist_list list;
	bool is_known; /* the caller knows the manifest except for `pending` */
	bool is_whole; /* `pending` is the whole manifest */
	struct persist_list pending; /* in order of time; RECKON_ENTRY_GONE: deleted */
	uint64_t taken; /* number of calls of persist_take() */
	size_t unstored_count; /* number of names without stored content, and of unseen ones */
	char why[160]; /* reason for the first of them */
};

struct manifest *persist_new(void);
void persist_free(struct manifest *manifest); /* NULL is fine */

/*
 * Scans the workspace and stores new content, durably (unless relaxed). `thorough`: reads every
 * file, because an open mapping can change one without a trace. `part`: only updates that part, if
 * the rest is known. Skips the folders in `apart`. Fails if the workspace cannot be read or the
 * store cannot be synced; then nothing has changed.
 */
struct part;
struct persist_look {
	bool thorough;
	const struct part *part; /* or NULL: the whole workspace */
	const struct apart *apart; /* or NULL */
};
int persist_run(struct manifest *manifest, int dir_fd, struct store *store,
	     const struct persist_bounds *bounds, const struct persist_look *look, struct err *err);

/* Moves the changes since the last call into *ret; free it with reckon_workspace_free(). */
void persist_take(struct manifest *manifest, reckon_workspace **ret);
/* The last changes could not be committed: the next run reads and reports everything. */
void persist_forget(struct manifest *manifest);

/* Sets the hash of each scanned file whose content the manifest still knows. */
void persist_annotate(const struct manifest *manifest, struct workspace *scan);

/*
 * Makes the workspace exactly what the entries say; deletes everything that exists before. Gives
 * everything to uid:gid (unless (uid_t)-1). If content is missing or does not match its hash, calls
 * `missing` and restores the rest; without it, fails with ERR_LOST, and the workspace is then
 * incomplete and must not be used. Afterwards `manifest` describes the workspace.
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
/* Whether the inode's data show no change. */
bool persist_is_same(const struct persist_entry *left, const struct persist_entry *right);
/* Opens the directory that contains `path`; *ret_name is the last component. */
int persist_open_parent(int dir_fd, const char *path, int *ret_fd, const char **ret_name,
		     struct err *err);
