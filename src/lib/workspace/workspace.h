/*
 * workspace.h - what is in a workspace and what an execution changed there.
 *
 * The directory belongs to a box that may change it while we look, on purpose. It is only ever
 * read from outside: no symbolic link is followed, nothing but directories and regular files is
 * opened. A race gives an older or newer picture, or a file without artifact; never anything else.
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
#define WORKSPACE_FILE_MAX ((uint64_t)512 * 1024 * 1024) /* largest file kept as an artifact */
/* Kept of one execution: holes make large files cheap inside, but not in the store. */
#define WORKSPACE_COLLECT_MAX ((uint64_t)1024 * 1024 * 1024)

enum workspace_kind {
	WORKSPACE_FILE,
	WORKSPACE_DIRECTORY, /* only one whose name is not text: listed as itself, not entered */
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
	const char *sha256; /* lent by persist_annotate(): its content is in the store; or NULL */
};

struct workspace {
	struct workspace_entry *entries; /* sorted by path */
	size_t count;
	int64_t scanned_ns; /* when the scan began, on the clock that stamps files */
	bool is_incomplete; /* a bound was reached, or a part could not be read */
};

/*
 * Folders of our own in a workspace, by inode: a box may give them another name, but no other. A
 * scan passes them over.
 */
struct apart {
	uint64_t *inodes;
	size_t count;
};
bool apart_has(const struct apart *apart, uint64_t inode); /* `apart` NULL: none */

/*
 * *ret belongs to the caller: workspace_free(). Fails only when dir_fd itself cannot be read.
 * `apart` may be NULL.
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
	const struct workspace_entry *entry; /* of the new scan, of the old one when deleted */
};

/*
 * What differs, sorted by path; *ret is an array of *ret_count to free(), its entries belong to
 * the scans. `old` may be NULL (nothing was there). When the new scan is incomplete nothing is
 * reported as deleted; when the old one is, nothing older than it is reported as created.
 */
void workspace_diff(const struct workspace *old, const struct workspace *new,
		    struct workspace_delta **ret, size_t *ret_count);

/*
 * The whole step after an execution: compares, stores each created or modified regular file, and
 * adds everything to the record, with diagnostics for what could not be kept (file_too_large,
 * file_not_kept, workspace_incomplete). A file that is gone again is left out.
 */
void workspace_collect(int dir_fd, const struct workspace *old, const struct workspace *new,
		       struct store *store, struct record *record);

#define WORKSPACE_TIME_SIZE 32
/* RFC 3339 in UTC; a box may set any time, so a year that is none becomes 1970. */
void workspace_format_time(int64_t ns, char ret[WORKSPACE_TIME_SIZE]);
/* Of a file by its first bytes and its name. */
const char *workspace_mime(int dir_fd, const char *path);

/* [{"path","size","mime","modified"}…] of the regular files, as reckon_file_list() promises. */
int workspace_list_json(int dir_fd, const struct workspace *workspace, struct buf *ret,
			struct err *err);
