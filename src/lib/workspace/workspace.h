/*
 * workspace.h - scans a workspace and finds the changes of an execution.
 *
 * The directory belongs to a box that may change it deliberately during a scan. It is only read
 * from outside: no symbolic link is followed, and only directories and regular files are opened. A
 * race can only give an older or newer state, or a file without an artifact.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "lib/record/record.h"
#include "lib/store/store.h"

#define WORKSPACE_ENTRIES_MAX 10000u
#define WORKSPACE_DEPTH_MAX 64u
#define WORKSPACE_FILE_MAX ((uint64_t)512 * 1024 * 1024) /* largest file stored as an artifact */
/* Stored from one execution: files with holes are small in the workspace, but not in the store. */
#define WORKSPACE_COLLECT_MAX ((uint64_t)1024 * 1024 * 1024)

enum workspace_kind {
	WORKSPACE_FILE,
	/* only one whose name is not text: listed itself, but not its content */
	WORKSPACE_DIRECTORY,
	WORKSPACE_SYMLINK,
	WORKSPACE_FIFO,
	WORKSPACE_SOCKET,
	WORKSPACE_DEVICE,
	WORKSPACE_OTHER,
};

struct workspace_entry {
	char *path; /* relative, raw bytes as in the file system */
	enum workspace_kind kind;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
	uint64_t ino;
	/* set by persist_annotate(), which owns it: the content is in the store; or NULL */
	const char *sha256;
};

struct workspace {
	struct workspace_entry *entries; /* sorted by path */
	size_t count;
	int64_t scanned_ns; /* when the scan began, by the clock that stamps files */
	bool is_incomplete; /* a limit was reached, or a part could not be read */
};

/* Hidden folders in a workspace, by inode, because a box can rename them. Scans skip them. */
struct apart {
	uint64_t *inodes;
	size_t count;
};
bool apart_has(const struct apart *apart, uint64_t inode); /* `apart` NULL: none */

/*
 * The caller frees *ret with workspace_free(). Fails only if dir_fd itself cannot be read. `apart`
 * may be NULL.
 */
int workspace_scan(int dir_fd, const struct apart *apart, struct workspace **ret, struct err *err);
void workspace_free(struct workspace *workspace); /* NULL is fine */
void workspace_freep(struct workspace **workspace);
#define cleanup_workspace __attribute__((cleanup(workspace_freep)))
int workspace_compare(const void *left, const void *right); /* entries, by path: for qsort() */

enum workspace_change { WORKSPACE_CREATED, WORKSPACE_MODIFIED, WORKSPACE_DELETED };
const char *workspace_change_name(enum workspace_change change);
const char *workspace_kind_name(enum workspace_kind kind);

struct workspace_delta {
	enum workspace_change change;
	const struct workspace_entry *entry; /* in the new scan, or in the old one if deleted */
};

/*
 * Finds the differences, sorted by path; free() the array *ret, whose entries belong to the scans.
 * `old` may be NULL: nothing existed. If the new scan is incomplete, nothing is reported as
 * deleted; if the old one is, nothing older than it is reported as created.
 */
void workspace_diff(const struct workspace *old, const struct workspace *new,
		    struct workspace_delta **ret, size_t *ret_count);

/*
 * The whole step after an execution: compares, stores each created or modified regular file, and
 * adds everything to the record, with diagnostics for files that could not be stored
 * (file_too_large, file_not_kept, workspace_incomplete). Leaves out files that do not exist any
 * more.
 */
void workspace_collect(int dir_fd, const struct workspace *old, const struct workspace *new,
		       struct store *store, struct record *record);

#define WORKSPACE_TIME_SIZE 32
/* RFC 3339 in UTC; a box can set any time, so an invalid year becomes 1970. */
void workspace_format_time(int64_t ns, char ret[WORKSPACE_TIME_SIZE]);
/* The type of a file by its first bytes and its name. */
const char *workspace_mime(int dir_fd, const char *path);

/* [{"path","size","mime","modified"}…] for the regular files, as in reckon_file_list(). */
int workspace_list_json(int dir_fd, const struct workspace *workspace, struct buf *ret,
			struct err *err);
