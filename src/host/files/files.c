/*
 * files.c - records what a job did to a session's files, and answers jobs about files.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back.
 * Never:    answers with an error because recording failed: it logs that, since the file exists.
 */
#include "host/files/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/fronts/reply.h"
#include "host/db/tables/files.h"
#include "host/host.h"
#include "host/tenants/usage.h"

void file_work_done(struct file_work *work)
{
	free(work->to);
	free(work->name);
	free(work->if_match);
	free(work->if_none);
	free(work->format);
	for (size_t i = 0; i < work->version_count; i++)
		free(work->versions[i].path);
	free(work->versions);
}

void file_work_keep(struct file_work *work, const char *path, const char *source,
		    const reckon_file_info *info)
{
	if (info->artifact[0] == '\0' || work->version_count >= FILES_VERSIONS_MAX)
		return;
	if (work->version_count == work->version_capacity) {
		work->version_capacity =
			work->version_capacity > 0 ? work->version_capacity * 2 : 4;
		work->versions =
			mem_grow(work->versions, work->version_capacity, sizeof(*work->versions));
	}
	work->versions[work->version_count++] =
		(struct file_version){ mem_strdup(path), source, *info };
}

/* "" means unknown. */
static const char *known(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

struct api_download file_tell(const reckon_file_info *info)
{
	return (struct api_download){
		.size = info->size,
		.mime = known(info->mime),
		.etag = known(info->etag),
		.has_modified_ms = info->modified_s > 0,
		.modified_ms = info->modified_s > 0 ? (uint64_t)info->modified_s * 1000 : 0,
	};
}

static bool changes_files(const struct job *job)
{
	static const enum job_kind kinds[] = { JOB_EXECUTE,   JOB_FILE_PUT,   JOB_FILE_DELETE,
					       JOB_FILE_MOVE, JOB_FILE_MKDIR, JOB_ARCHIVE_PUT };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (job->kind == kinds[i])
			return true;
	return false;
}

static int note(struct session *session, const struct job *job, struct err *err)
{
	const struct job_result *result = &job->result;
	struct db *db = session->host->db;

	if (job->kind == JOB_EXECUTE && result->json != NULL)
		return db_version_add_listed(db, session->row.id, job->execution->id,
					     result->json + result->files_part.at,
					     result->files_part.len, err);
	return db_version_add(db, session->row.id, job->files.versions, job->files.version_count,
			      err);
}

void files_changed(struct session *session, const struct job *job)
{
	struct err err;

	for (size_t i = 0; i < job->files.version_count; i++)
		usage_own(session->host, session->tenant, job->files.versions[i].info.artifact,
			  job->files.versions[i].info.size);
	if (changes_files(job) && note(session, job, &err) < 0)
		log_line(LOG_ERROR, "versions of files could not be noted",
			 "session=%s why=\"%s\"", session->row.id, err.text);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void reply_put(struct host *host, const struct job *job)
{
	const reckon_file_info *info = &job->files.info;

	reply_file_commit(host, job->request,
			  &(struct api_file_put){ .path = job->path,
						  .size = info->size,
						  .mime = known(info->mime),
						  .etag = known(info->etag),
						  .sha256 = known(info->sha256),
						  .artifact = known(info->artifact) });
}

static void reply_unpacked(struct host *host, const struct job *job)
{
	const reckon_archive_info *info = &job->files.archive;

	reply_archive_commit(host, job->request,
			     &(struct api_archive_put){ .files = info->files,
							.folders = info->folders,
							.links = info->links,
							.bytes = info->bytes,
							.replaced = info->replaced,
							.renamed = info->renamed,
							.artifact = known(info->artifact) });
}

static void reply_archive(struct host *host, struct job *job)
{
	const reckon_archive_info *info = &job->files.archive;
	const struct api_archive_counts counts = { info->files, info->folders, info->links,
						   info->skipped, info->changed };

	reply_download(host, job->request,
		       &(struct api_download){ .size = job->result.size, .counts = &counts },
		       TAKE_FD(job->result.fd));
}

static void reply_file(struct host *host, struct job *job)
{
	struct api_download reply = file_tell(&job->files.info);

	reply.name = job->files.name;
	reply_download(host, job->request, &reply, TAKE_FD(job->result.fd));
}

static void reply_changed(struct host *host, const struct job *job)
{
	const struct file_work *work = &job->files;

	if (job->kind == JOB_FILE_PUT)
		reply_put(host, job);
	else if (job->kind == JOB_ARCHIVE_PUT)
		reply_unpacked(host, job);
	else if (job->kind == JOB_FILE_DELETE)
		reply_file_delete(host, job->request,
				  &(struct api_file_delete_out){ .deleted = work->removed });
	else if (job->kind == JOB_FILE_MOVE)
		reply_file_move(host, job->request,
				&(struct api_file_move_out){ .path = work->to,
							     .replaced = known(work->replaced) });
	else
		reply_done(host, job->request);
}

void files_answer_job(struct host *host, struct job *job)
{
	const struct api_bytes list = { job->result.json, job->result.json_len };

	if (job->kind == JOB_FILE_GET)
		reply_file(host, job);
	else if (job->kind == JOB_ARCHIVE_GET)
		reply_archive(host, job);
	else if (job->kind == JOB_FILE_LIST)
		reply_file_list(host, job->request, &(struct api_file_list_out){ list });
	else
		reply_changed(host, job);
}
