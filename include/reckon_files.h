/*
 * reckon_files.h - libreckon: files in one step and their versions, folders, archives, templates.
 *
 * As reckon.h, which has the rest.
 */
#ifndef RECKON_FILES_H
#define RECKON_FILES_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files ----------------------------------------------------------------------------- */

/* What is known of a file; texts that are not known are empty. */
typedef struct reckon_file_info {
	uint64_t size;
	int64_t modified_s;  /* seconds since 1970 */
	char etag[48];       /* names this state of the file; without quotes */
	char mime[96];
	char artifact[40];   /* "ar_…" when its content is kept */
	char sha256[72];
	uint64_t reserved[8];
} reckon_file_info;

/* As reckon_file_open(), and tells what it opened; artifact and sha256 stay empty. */
RECKON_PUBLIC int reckon_file_open_info(reckon_session *session, const char *path, int *ret_fd,
					reckon_file_info *ret, reckon_error *err);

/* The same of any file that is open and readable, with the name that its type is judged by. */
RECKON_PUBLIC int reckon_file_describe(int fd, const char *name, reckon_file_info *ret,
				       reckon_error *err);

/*
 * Keeps what a file holds, from its offset on, as an artifact: up to 512 MiB, and on the disk when
 * this returns. Its type is judged by `name`.
 */
RECKON_PUBLIC int reckon_artifact_store(reckon_engine *engine, int fd, const char *name,
					reckon_file_info *ret, reckon_error *err);

/*
 * Puts a file as reckon_file_put() does, but in one step that a running program cannot see half
 * of, and keeps its content as an artifact (up to 512 MiB). What it replaces is kept too, and
 * told in *ret_old (or its artifact is empty). Both may be NULL.
 */
RECKON_PUBLIC int reckon_file_store(reckon_session *session, const char *path, int source_fd,
				    reckon_file_info *ret_new, reckon_file_info *ret_old,
				    reckon_error *err);

/*
 * A further handle of the session for its files alone: everything of this header and reckon_file_*()
 * of reckon.h work with it, in a thread of its own, while the session or a context of it executes.
 * What is put meanwhile is in no record, what the running code changes elsewhere stays its own. A
 * program sees a folder .reckon-… appear and go while something is put. As with
 * reckon_context_open() this call may come from any thread when the session was opened with
 * RECKON_SESSION_CONCURRENT. reckon_session_close(*ret) closes it; what asks for a kernel is refused.
 */
RECKON_PUBLIC int reckon_files_open(reckon_session *session, reckon_session **ret,
				    reckon_error *err);

/* Gives a file or folder another name. With `overwrite` a file that is there is replaced, and kept
 * as reckon_file_store() does. */
RECKON_PUBLIC int reckon_file_move(reckon_session *session, const char *from, const char *to,
				   int overwrite, reckon_file_info *ret_old, reckon_error *err);
/* Makes a folder and its parents; one that is there is fine. */
RECKON_PUBLIC int reckon_file_mkdir(reckon_session *session, const char *path, reckon_error *err);
/* Removes a file, or a folder with all it holds: gone at once for whoever looks. *ret_removed (or
 * NULL) counts what went. */
RECKON_PUBLIC int reckon_file_delete_tree(reckon_session *session, const char *path,
					  uint64_t *ret_removed, reckon_error *err);

/* A page of what is in a folder. */
typedef struct reckon_list_options {
	size_t size;
	const char *path;  /* of the folder; NULL: the workspace */
	int recursive;     /* files alone, of all folders below; else also the folders in it */
	const char *after; /* `next` of the page before, or NULL */
	uint64_t limit;    /* 0: all */
	int details;	   /* not recursive: links too, modes and attributes */
	const char *name;  /* not recursive: this entry alone, or NULL */
} reckon_list_options;

/*
 * {"files":[{"path","kind","size","mime","modified","etag"}…],"next":…,"complete":bool}, by path;
 * `kind` is "file" or "folder". With details also "link", with its "target"; each has a "mode", and
 * a file "attributes": its extended attributes of the user that are text. Not complete: more than 10,000 entries were there (recursive), or
 * 200,000. free() the result.
 */
RECKON_PUBLIC int reckon_file_list_page(reckon_session *session,
					const reckon_list_options *options, char **ret_json,
					reckon_error *err);

/* ---- archives -------------------------------------------------------------------------- */

typedef struct reckon_archive_info {
	uint64_t files;
	uint64_t folders;
	uint64_t links;
	uint64_t bytes;
	uint64_t replaced; /* read: files that were there */
	uint64_t renamed;  /* read: names with bytes that are not text, which became %XX */
	uint64_t skipped;  /* write: links that lead out, pipes, sockets, what cannot be read */
	uint64_t changed;  /* write: files that became shorter meanwhile and end in zeros */
	char artifact[40]; /* read: the archive itself, kept */
	uint64_t reserved[8];
} reckon_archive_info;

/*
 * Writes a folder of the workspace (NULL: all of it) to target_fd as "tar", "tar.gz", "tar.zst" or
 * "zip"; the offset is where the file stands.
 */
RECKON_PUBLIC int reckon_archive_write(reckon_session *session, const char *path,
				       const char *format, int target_fd,
				       reckon_archive_info *ret, reckon_error *err);

/* Called for each file that is replaced, with what is kept of it (its artifact may be empty). */
typedef void reckon_file_fn(const char *path, const reckon_file_info *info, void *arg);

/*
 * Unpacks a tar (.gz, .xz, .zst, .bz2) or zip archive into a folder of the workspace, which is made
 * when missing. Read by another process behind a fence; bounded by the session's limits. What
 * leads out, is not a file, folder or link, or is encrypted is refused with all the rest: until all
 * of it is there nothing can be seen. `on_replaced` may be NULL.
 */
RECKON_PUBLIC int reckon_archive_read(reckon_session *session, const char *path, int source_fd,
				      reckon_file_fn *on_replaced, void *arg,
				      reckon_archive_info *ret, reckon_error *err);

/* ---- templates ------------------------------------------------------------------------- */

/*
 * The templates that are built, as JSON: [{"name","python","languages":[…],"preload":[…],
 * "env":{…},"limits":{"memory"},"packages":[{"name","version"}…]}…]. With a `name` that one alone
 * (RECKON_ENOT_FOUND), as an object. *ret_json: free() it.
 */
RECKON_PUBLIC int reckon_template_list(reckon_engine *engine, const char *name, char **ret_json,
				       reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
