/*
 * files.h - declarations shared by the files of this folder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/id.h"
#include "codec/json_write.h"
#include "lib/session/session.h"
#include "reckon_files.h"

int files_copy(int source, int target, struct err *err);
/* Notes that the host changed these names: no execution reports them, and they are stored. */
void files_note(struct reckon_session *session, const struct part *part);
void files_note_one(struct reckon_session *session, const char *path);
/* Converts "no space" into an error about the session's limit; leaves other errors unchanged. */
int files_full(const struct reckon_session *session, const char *path, struct err *err);

/* The owner of new files: only root can change it; rootless, the box's user is our own. */
uid_t files_uid(const struct reckon_session *session);
gid_t files_gid(const struct reckon_session *session);

/* Sets size, modified_s and etag. */
void files_describe(const struct stat *st, reckon_file_info *ret);

/* Writes `mode`, for a link `target`, and for a file `attributes`, if it has any that are text.
 * `name` is an entry of the folder, not a path; links are not followed. */
void files_write_details(struct json_writer *json, int folder, const char *name,
			 const struct stat *st);

/*
 * Stores the current content of `path` if it is a regular file; else, or if it is too large,
 * ret->artifact is "".
 */
void files_keep(struct reckon_session *session, const char *path, reckon_file_info *ret);

/* A hidden directory in the workspace, for files that are not visible yet, or not any more. */
struct hidden {
	struct reckon_session *session; /* NULL: there is none */
	int fd;
	uint64_t inode;
	bool is_reported; /* the warden was told */
	char name[ID_SIZE + 12];
};
#define HIDDEN_INIT ((struct hidden){ .fd = -1 })
int hidden_make(struct reckon_session *session, struct hidden *ret, struct err *err);
void hidden_done(struct hidden *hidden); /* deletes it with its content */
#define cleanup_hidden __attribute__((cleanup(hidden_done)))
