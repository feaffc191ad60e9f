/*
 * files.h - what a job about files brings to its thread, and what it brings back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "reckon_files.h"
#include "wire/front.h"

#define FILES_KEPT_MAX 10000u /* versions that one job is noted for */

struct file_kept {
	char *path;
	const char *source; /* "upload", "archive", "replaced" */
	reckon_file_info info;
};

struct file_work {
	/* what to do */
	char *to;
	char *if_match, *if_none; /* headers, or NULL */
	char *format;
	bool overwrite, recursive;
	uint64_t limit;
	/* what came of it */
	struct buf reply; /* fields */
	enum front_error refusal; /* instead of the error's own; 0: none */
	struct file_kept *kept;
	size_t kept_count, kept_capacity;
};

void file_work_init(struct file_work *work);
void file_work_done(struct file_work *work);
/* Notes that a content is kept; what has no artifact is passed over. */
void file_work_keep(struct file_work *work, const char *path, const char *source,
		    const reckon_file_info *info);
/* Fields of a file that is read, or was put. */
int file_pack_info(struct buf *payload, const reckon_file_info *info, struct err *err);
