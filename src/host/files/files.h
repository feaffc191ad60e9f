/*
 * files.h - input and results of jobs about files.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "reckon_files.h"

#define FILES_VERSIONS_MAX 10000u /* versions that one job can add */

struct file_version {
	char *path;
	const char *source; /* "upload", "archive", "replaced", "process" */
	reckon_file_info info;
};

struct file_work {
	/* input */
	char *to;
	char *name; /* for a download: the name to tell the client, if it differs from the path;
		     * for a list: the only name; or NULL */
	char *if_match, *if_none; /* headers, or NULL */
	char *format;
	bool overwrite, recursive, details;
	uint64_t limit;
	/* results */
	reckon_file_info info;	     /* of the file that was read or stored */
	reckon_archive_info archive; /* of the archive that was written or read */
	uint64_t removed;
	char replaced[40]; /* artifact of the file that a move replaced */
	enum api_error refusal; /* if not 0, answered instead of the error's own code */
	struct file_version *versions;
	size_t version_count, version_capacity;
};

struct host;
struct job;
/* Answers a job about files that succeeded. */
void files_answer_job(struct host *host, struct job *job);
void file_work_done(struct file_work *work);
/* Adds a version of a file; ignores a content without an artifact. */
void file_work_keep(struct file_work *work, const char *path, const char *source,
		    const reckon_file_info *info);
/* What a client learns about a file that is downloaded; it points into `info`. */
struct api_download file_tell(const reckon_file_info *info);
