/*
 * files.h - what the files of this folder that touch a workspace share.
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
/* What the host did to these names of the workspace is not an execution's doing, and is kept. */
void files_note(struct reckon_session *session, const struct part *part);
void files_note_one(struct reckon_session *session, const char *path);
/* Makes of "no space" the limit that it is; anything else stays. */
int files_full(const struct reckon_session *session, const char *path, struct err *err);

/* Who owns what is put: only root may give files away; rootless, the box's user is our own. */
uid_t files_uid(const struct reckon_session *session);
gid_t files_gid(const struct reckon_session *session);

/* size, modified_s and etag of a file. */
void files_describe(const struct stat *st, reckon_file_info *ret);

/* The members `mode`, of a link `target`, and of a file `attributes`, when it has any that are text.
 * `name` is an entry of the folder and no path: no link is followed. */
void files_write_details(struct json_writer *json, int folder, const char *name,
			 const struct stat *st);

/*
 * Keeps what is at `path` now, when it is a regular file; else, or when it is too large to be
 * kept, ret->artifact is "".
 */
void files_keep(struct reckon_session *session, const char *path, reckon_file_info *ret);

/* A directory of our own in the workspace, for what is not to be seen yet, or not any more. */
struct hidden {
	struct reckon_session *session; /* NULL: there is none */
	int fd;
	uint64_t inode;
	bool is_told; /* to the warden */
	char name[ID_SIZE + 12];
};
#define HIDDEN_INIT ((struct hidden){ .fd = -1 })
int hidden_make(struct reckon_session *session, struct hidden *ret, struct err *err);
void hidden_done(struct hidden *hidden); /* removes it with all it holds */
#define cleanup_hidden __attribute__((cleanup(hidden_done)))
