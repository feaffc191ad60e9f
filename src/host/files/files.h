/*
 * files.h - what a job about files brings to its thread, and what it brings back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "reckon_files.h"

#define FILES_KEPT_MAX 10000u /* versions that one job is noted for */

struct file_kept {
	char *path;
	const char *source; /* "upload", "archive", "replaced", "process" */
	reckon_file_info info;
};

struct file_work {
	/* what to do */
	char *to;
	char *name; /* for whoever reads it, where its path is not to say it; of a list: the only one;
		     * or NULL */
	char *if_match, *if_none; /* headers, or NULL */
	char *format;
	bool overwrite, recursive, details;
	uint64_t limit;
	/* what came of it */
	reckon_file_info info;	     /* of one that was read, or put */
	reckon_archive_info archive; /* of one that was written, or read */
	uint64_t removed;
	char replaced[40]; /* artifact of what was moved over */
	enum api_error refusal; /* instead of the error's own; 0: none */
	struct file_kept *kept;
	size_t kept_count, kept_capacity;
};

struct host;
struct job;
/* Answers whoever asked for a job about files, which did what it should. */
void files_answer_job(struct host *host, struct job *job);
void file_work_done(struct file_work *work);
/* Notes that a content is kept; what has no artifact is passed over. */
void file_work_keep(struct file_work *work, const char *path, const char *source,
		    const reckon_file_info *info);
/* What a client is told of a file that is read; it points at `info`. */
struct api_download file_tell(const reckon_file_info *info);
