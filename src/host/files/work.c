/*
 * work.c - jobs about files, in a thread of the pool.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job, the handles of its session.
 * Never:    touches anything else of reckond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"

#define ARCHIVE_MEMORY_MAX ((uint64_t)256 << 20) /* bytes of a workspace */
#define ARCHIVE_ROOM ((uint64_t)4 << 20)

static void failed(struct job *job, int code, const char *message, const char *remedy)
{
	job->error.code = code;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s", message);
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s", remedy);
}

/* ---- conditions ----------------------------------------------------------------------------- */

/* Whether one of `"a", W/"b", *` is the strong ETag of this file. A weak one does not match. */
static bool names_etag(const char *header, const char *etag)
{
	const size_t len = strlen(etag);

	while (*header != '\0') {
		header += strspn(header, ", \t");
		if (header[0] == '"' && strncmp(header + 1, etag, len) == 0 &&
		    header[len + 1] == '"')
			return true;
		header += strcspn(header, ",");
	}
	return false;
}

/* Checks If-Match and If-None-Match of a request that changes a file against its present state. */
static bool may_change(struct job *job)
{
	const struct file_work *work = &job->files;
	reckon_file_info now;
	reckon_error ignored;
	bool is_there, good = true;
	int fd = -1;

	if (work->if_match == NULL && work->if_none == NULL)
		return true;
	is_there = reckon_file_open_info(job->session->file_queue.handle, job->path, &fd, &now,
					 &ignored) == 0;
	if (is_there)
		(void)close(fd);
	if (work->if_match != NULL)
		good = is_there && (strcmp(work->if_match, "*") == 0 ||
				    names_etag(work->if_match, now.etag));
	if (good && work->if_none != NULL)
		good = !is_there || (strcmp(work->if_none, "*") != 0 &&
				     !names_etag(work->if_none, now.etag));
	if (good)
		return true;
	job->files.refusal = API_ERR_PRECONDITION;
	failed(job, RECKON_EDENIED,
	       is_there ? "the file is not the one that the condition names"
			: "there is no file for the condition to name",
	       "read the file, and its ETag, again");
	return false;
}

/* ---- one file ------------------------------------------------------------------------------- */

static void work_get(struct job *job)
{
	if (reckon_file_open_info(job->session->file_queue.handle, job->path, &job->result.fd,
				  &job->files.info, &job->error) == 0)
		job->result.size = job->files.info.size;
}

static void work_put(struct job *job)
{
	reckon_file_info *new = &job->files.info, old;

	if (!may_change(job) || reckon_file_store(job->session->file_queue.handle, job->path,
						  job->fd, new, &old, &job->error) < 0)
		return;
	file_work_keep(&job->files, job->path, "replaced", &old);
	file_work_keep(&job->files, job->path, "upload", new);
}

static void work_delete(struct job *job)
{
	if (!may_change(job))
		return;
	job->files.removed = 1;
	if (job->files.recursive)
		(void)reckon_file_delete_tree(job->session->file_queue.handle, job->path,
					      &job->files.removed, &job->error);
	else
		(void)reckon_file_delete(job->session->file_queue.handle, job->path, &job->error);
}

static void work_move(struct job *job)
{
	reckon_file_info old;

	if (reckon_file_move(job->session->file_queue.handle, job->path, job->files.to,
			     job->files.overwrite, &old, &job->error) < 0) {
		if (job->error.code == RECKON_EDENIED &&
		    strstr(job->error.message, " exists") != NULL)
			job->files.refusal = API_ERR_EXISTS;
		return;
	}
	file_work_keep(&job->files, job->files.to, "replaced", &old);
	(void)snprintf(job->files.replaced, sizeof(job->files.replaced), "%s", old.artifact);
}

static void work_list(struct job *job)
{
	const reckon_list_options options = {
		.size = sizeof(options),
		.path = job->path[0] != '\0' ? job->path : NULL,
		.recursive = job->files.recursive,
		.after = job->files.to,
		.limit = job->files.limit,
		.details = job->files.details,
		.name = job->files.name,
	};

	if (reckon_file_list_page(job->session->file_queue.handle, &options, &job->result.json,
				  &job->error) == 0)
		job->result.json_len = strlen(job->result.json);
}

/* ---- archives ------------------------------------------------------------------------------- */

static int write_archive(struct job *job)
{
	return reckon_archive_write(job->session->file_queue.handle,
				    job->path[0] != '\0' ? job->path : NULL, job->files.format,
				    job->fd, &job->files.archive, &job->error);
}

/* If the disk is full, switches to a file in memory, unless the workspace is too large for that. */
static bool is_for_memory(struct job *job)
{
	struct statvfs disk;
	int fd;

	if (job->files.limit > ARCHIVE_MEMORY_MAX || fstatvfs(job->fd, &disk) < 0 ||
	    (uint64_t)disk.f_bavail * disk.f_frsize > job->files.limit + ARCHIVE_ROOM)
		return false;
	fd = memfd_create("reckon-archive", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	(void)close(job->fd);
	job->fd = fd;
	return true;
}

static void work_archive_get(struct job *job)
{
	off_t size;

	if (write_archive(job) < 0 && (!is_for_memory(job) || write_archive(job) < 0))
		return;
	job->error.code = 0;
	size = lseek(job->fd, 0, SEEK_END);
	if (size < 0) {
		failed(job, RECKON_ESYSTEM, "the archive cannot be read again", "");
		return;
	}
	job->result.fd = TAKE_FD(job->fd);
	job->result.size = (uint64_t)size;
}

static void on_replaced(const char *path, const reckon_file_info *info, void *arg)
{
	struct job *job = arg;

	file_work_keep(&job->files, path, "replaced", info);
}

static void work_archive_put(struct job *job)
{
	reckon_file_info archive = { .mime = "application/octet-stream" };
	reckon_archive_info *info = &job->files.archive;
	off_t size;

	if (reckon_archive_read(job->session->file_queue.handle,
				job->path[0] != '\0' ? job->path : NULL, job->fd, on_replaced, job,
				info, &job->error) < 0)
		return;
	size = lseek(job->fd, 0, SEEK_END);
	archive.size = size > 0 ? (uint64_t)size : 0;
	(void)snprintf(archive.artifact, sizeof(archive.artifact), "%s", info->artifact);
	file_work_keep(&job->files, job->path, "archive", &archive);
}

static void work_mkdir(struct job *job)
{
	(void)reckon_file_mkdir(job->session->file_queue.handle, job->path, &job->error);
}

void work_file(struct job *job)
{
	static const struct {
		enum job_kind kind;
		void (*work)(struct job *job);
	} known[] = {
		{ JOB_FILE_LIST, work_list },	{ JOB_FILE_GET, work_get },
		{ JOB_FILE_PUT, work_put },	{ JOB_FILE_DELETE, work_delete },
		{ JOB_FILE_MOVE, work_move },	{ JOB_FILE_MKDIR, work_mkdir },
		{ JOB_ARCHIVE_GET, work_archive_get }, { JOB_ARCHIVE_PUT, work_archive_put },
	};

	if (file_queue_handle(job) == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (job->kind == known[i].kind)
			known[i].work(job);
}
