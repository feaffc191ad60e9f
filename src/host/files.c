/*
 * files.c - what a job did to a session's files, noted once for all who care.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back.
 * Never:    answers: a note that fails is logged, the file is there all the same.
 */
#include "host/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/db_files.h"
#include "host/host.h"
#include "host/usage.h"

void file_work_init(struct file_work *work)
{
	work->reply = BUF_INIT(FRONT_INLINE_MAX);
}

void file_work_done(struct file_work *work)
{
	free(work->to);
	free(work->if_match);
	free(work->if_none);
	free(work->format);
	buf_done(&work->reply);
	for (size_t i = 0; i < work->kept_count; i++)
		free(work->kept[i].path);
	free(work->kept);
}

void file_work_keep(struct file_work *work, const char *path, const char *source,
		    const reckon_file_info *info)
{
	if (info->artifact[0] == '\0' || work->kept_count >= FILES_KEPT_MAX)
		return;
	if (work->kept_count == work->kept_capacity) {
		work->kept_capacity = work->kept_capacity > 0 ? work->kept_capacity * 2 : 4;
		work->kept = mem_grow(work->kept, work->kept_capacity, sizeof(*work->kept));
	}
	work->kept[work->kept_count++] = (struct file_kept){ mem_strdup(path), source, *info };
}

int file_pack_info(struct buf *payload, const reckon_file_info *info, struct err *err)
{
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = {
		{ FRONT_TAG_ETAG, info->etag },
		{ FRONT_TAG_MIME, info->mime },
		{ FRONT_TAG_ARTIFACT, info->artifact },
		{ FRONT_TAG_SHA256, info->sha256 },
	};

	if (front_pack_u64(payload, FRONT_TAG_SIZE, info->size, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_MODIFIED_S,
			   info->modified_s > 0 ? (uint64_t)info->modified_s : 0, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].text[0] != '\0' &&
		    front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	return 0;
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
	struct db *db = session->host->db;

	if (job->kind == JOB_EXECUTE && job->json != NULL)
		return db_version_add_listed(db, session->row.id, job->execution->id,
					     job->json + job->files_part.at, job->files_part.len,
					     err);
	return db_version_add(db, session->row.id, job->files.kept, job->files.kept_count, err);
}

void files_changed(struct session *session, const struct job *job)
{
	struct err err;

	for (size_t i = 0; i < job->files.kept_count; i++)
		usage_own(session->host, session->tenant, job->files.kept[i].info.artifact,
			  job->files.kept[i].info.size);
	if (changes_files(job) && note(session, job, &err) < 0)
		log_line(LOG_ERROR, "versions of files could not be noted",
			 "session=%s why=\"%s\"", session->row.id, err.text);
}
