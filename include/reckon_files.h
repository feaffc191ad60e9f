/*
 * reckon_files.h - libreckon: atomic writes and versions of files, folders, archives, templates.
 *
 * An addition to reckon.h, with the same rules.
 */
#ifndef RECKON_FILES_H
#define RECKON_FILES_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files ----------------------------------------------------------------------------- */

/* Information about a file; unknown strings are empty. */
typedef struct reckon_file_info {
	uint64_t size;
	int64_t modified_s;  /* seconds since 1970 */
	char etag[48];       /* identifies this version of the file; without quotes */
	char mime[96];
	char artifact[40];   /* "ar_…" if its content is stored */
	char sha256[72];
	uint64_t reserved[8];
} reckon_file_info;

/* As reckon_file_open(), with information about the file; artifact and sha256 stay empty. */
RECKON_PUBLIC int reckon_file_open_info(reckon_session *session, const char *path, int *ret_fd,
					reckon_file_info *ret, reckon_error *err);

/* The same for any open, readable file; `name` decides its type. */
RECKON_PUBLIC int reckon_file_describe(int fd, const char *name, reckon_file_info *ret,
				       reckon_error *err);

/*
 * Stores the content of a file, from its offset on, as an artifact: at most 512 MiB, and on disk
 * when this returns. `name` decides its type.
 */
RECKON_PUBLIC int reckon_artifact_store(reckon_engine *engine, int fd, const char *name,
					reckon_file_info *ret, reckon_error *err);

/*
 * Writes a file as reckon_file_put() does, but atomically for running programs, and stores its
 * content as an artifact (at most 512 MiB). The replaced file is stored, too, and described in
 * *ret_old (else its artifact is empty). Both may be NULL.
 */
RECKON_PUBLIC int reckon_file_store(reckon_session *session, const char *path, int source_fd,
				    reckon_file_info *ret_new, reckon_file_info *ret_old,
				    reckon_error *err);

/*
 * A further handle of the session, only for files: all functions of this header and reckon_file_*()
 * of reckon.h work with it, in a separate thread, while the session or a context executes. Files
 * written meanwhile are in no record; changes by the running code are recorded as usual. While a
 * file is written, programs can see a temporary folder .reckon-…. Like reckon_context_open(), this
 * call can be made from any thread if the session was opened with RECKON_SESSION_CONCURRENT.
 * reckon_session_close(*ret) closes the handle; functions that need a kernel fail.
 */
RECKON_PUBLIC int reckon_files_open(reckon_session *session, reckon_session **ret,
				    reckon_error *err);

/* Renames a file or folder. With `overwrite` an existing file is replaced, and stored as in
 * reckon_file_store(). */
RECKON_PUBLIC int reckon_file_move(reckon_session *session, const char *from, const char *to,
				   int overwrite, reckon_file_info *ret_old, reckon_error *err);
/* Creates a folder and its parents; an existing folder is fine. */
RECKON_PUBLIC int reckon_file_mkdir(reckon_session *session, const char *path, reckon_error *err);
/* Deletes a file, or a folder with all its content, atomically for other programs. *ret_removed (or
 * NULL) is the number of deleted entries. */
RECKON_PUBLIC int reckon_file_delete_tree(reckon_session *session, const char *path,
					  uint64_t *ret_removed, reckon_error *err);

/* Options for a page of a folder's list. */
typedef struct reckon_list_options {
	size_t size;
	const char *path;  /* of the folder; NULL: the workspace */
	int recursive;     /* only files, of all folders below; else also the folders in it */
	const char *after; /* `next` of the previous page, or NULL */
	uint64_t limit;    /* 0: all */
	int details;	   /* not recursive: also links, modes and attributes */
	const char *name;  /* not recursive: only this entry, or NULL */
} reckon_list_options;

/*
 * {"files":[{"path","kind","size","mime","modified","etag"}…],"next":…,"complete":bool}, sorted by
 * path; `kind` is "file" or "folder". With details also "link", with its "target"; each entry has a
 * "mode", and a file "attributes": its user extended attributes that are text. Not complete: there
 * are more than 10,000 entries (recursive), or 200,000. free() the result.
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
	uint64_t replaced; /* read: existing files that were replaced */
	uint64_t renamed;  /* read: names that are not valid text, in which bytes became %XX */
	/* write: links that lead out of the folder, pipes, sockets, unreadable files */
	uint64_t skipped;
	uint64_t changed;  /* write: files that became shorter meanwhile, padded with zeros */
	char artifact[40]; /* read: the stored archive itself */
	uint64_t reserved[8];
} reckon_archive_info;

/*
 * Writes a folder of the workspace (NULL: all of it) to target_fd as "tar", "tar.gz", "tar.zst" or
 * "zip", from the file's current offset.
 */
RECKON_PUBLIC int reckon_archive_write(reckon_session *session, const char *path,
				       const char *format, int target_fd,
				       reckon_archive_info *ret, reckon_error *err);

/* Called for each replaced file, with information about its stored content (artifact may be
 * empty). */
typedef void reckon_file_fn(const char *path, const reckon_file_info *info, void *arg);

/*
 * Extracts a tar (.gz, .xz, .zst, .bz2) or zip archive into a folder of the workspace, which is
 * created if missing. A sandboxed process reads the archive; the session's limits apply. If an
 * entry leads out of the folder, is not a file, folder or link, or is encrypted, the whole archive
 * is refused. Files become visible only when all are extracted. `on_replaced` may be NULL.
 */
RECKON_PUBLIC int reckon_archive_read(reckon_session *session, const char *path, int source_fd,
				      reckon_file_fn *on_replaced, void *arg,
				      reckon_archive_info *ret, reckon_error *err);

/* ---- templates ------------------------------------------------------------------------- */

/*
 * The built templates as JSON: [{"name","python","languages":[…],"preload":[…],
 * "env":{…},"limits":{"memory"},"packages":[{"name","version"}…]}…]. With `name`, only that one as
 * an object (RECKON_ENOT_FOUND if it is not built). free() *ret_json.
 */
RECKON_PUBLIC int reckon_template_list(reckon_engine *engine, const char *name, char **ret_json,
				       reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
