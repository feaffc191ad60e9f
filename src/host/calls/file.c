/*
 * file.c - files of a workspace: list, read, change, upload.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; it never reads the content of uploads.
 * Never:    puts half an upload into a workspace: it copies the file after its COMMIT.
 *
 * A PUT makes an unnamed file below the state directory and passes its descriptor to the front,
 * which writes it as fast as the client sends. No thread and no session waits for that. An upload
 * that is not completed disappears with its last descriptor, also after a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/files/watch.h"
#include "host/files/stored.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/tenants/quota.h"
#include "host/volumes/work.h"

#define GIB_1 (1024ull * 1024 * 1024)
#define TICKET_MASK ((1ull << 48) - 1) /* the part of a request id that its process knows */

static char *copy(const char *text)
{
	return text != NULL ? mem_strdup(text) : NULL;
}

/*
 * Makes a job about files; NULL: answered with an error. libreckon refuses a path of "" where a
 * file is needed, and any path outside the workspace.
 */
static struct job *file_job(struct host *host, const struct request *req, const char *id,
			    enum job_kind kind, const char *path)
{
	struct session *session = answer_session_for_files(host, req, id);
	struct job *job;

	if (session == NULL)
		return NULL;
	job = job_new(session, kind, req->id);
	job->path = mem_strdup(path != NULL ? path : "");
	return job;
}

void handle_file_list(struct host *host, const struct request *req,
		      const struct api_file_list_in *in)
{
	struct job *job = file_job(host, req, in->session, JOB_FILE_LIST, in->path);

	if (job == NULL)
		return;
	job->files.to = copy(in->cursor);
	job->files.recursive = !in->has_recursive || in->recursive;
	job->files.limit = in->limit;
	job->files.details = in->details;
	job->files.name = copy(in->name);
	file_queue_enqueue(job->session, job);
}

void handle_file_get(struct host *host, const struct request *req,
		     const struct api_file_get_in *in)
{
	struct job *job = file_job(host, req, in->session, JOB_FILE_GET, in->path);

	if (job != NULL)
		file_queue_enqueue(job->session, job);
}

void handle_file_delete(struct host *host, const struct request *req,
			const struct api_file_delete_in *in)
{
	struct job *job = file_job(host, req, in->session, JOB_FILE_DELETE, in->path);

	if (job == NULL)
		return;
	job->files.if_match = copy(in->if_match);
	job->files.recursive = in->recursive;
	file_queue_enqueue(job->session, job);
}

void handle_file_move(struct host *host, const struct request *req,
		      const struct api_file_move_in *in)
{
	struct job *job = file_job(host, req, in->session, JOB_FILE_MOVE, in->from);

	if (job == NULL)
		return;
	job->files.to = copy(in->to);
	job->files.overwrite = in->overwrite;
	file_queue_enqueue(job->session, job);
}

void handle_file_mkdir(struct host *host, const struct request *req,
		       const struct api_file_mkdir_in *in)
{
	struct job *job = file_job(host, req, in->session, JOB_FILE_MKDIR, in->path);

	if (job != NULL)
		file_queue_enqueue(job->session, job);
}

/* ---- uploads -------------------------------------------------------------------------------- */

void upload_drop(struct upload *upload)
{
	if (upload->fd >= 0)
		(void)close(upload->fd);
	free(upload->path);
	free(upload->if_match);
	free(upload->if_none);
	stored_free(upload->stored);
	volume_work_free(upload->volume);
	*upload = (struct upload){ .fd = -1 };
}

static int nameless_file(struct host *host, int *ret_fd, struct err *err)
{
	char name[ID_SIZE];
	int fd = openat(host->place.state_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		/* Without O_TMPFILE: makes a named file, and removes its name at once. */
		if (id_new(name, "up", err) < 0)
			return (int)err->code;
		fd = openat(host->place.state_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
		if (fd >= 0)
			(void)unlinkat(host->place.state_fd, name, 0);
	}
	if (fd < 0)
		return err_sys(err, "make a file for an upload");
	*ret_fd = fd;
	return 0;
}

static struct upload *free_upload(struct host *host)
{
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		if (host->files.uploads[i].ticket == 0)
			return &host->files.uploads[i];
	return NULL;
}

struct upload *upload_begin(struct host *host, const struct request *req, int *ret_fd)
{
	struct upload *upload = free_upload(host);
	struct err err;
	int fd;

	if (upload == NULL) {
		observe_refused(host, "uploads");
		front_fail(host, req->id, API_ERR_BUSY, "too many uploads at once", "",
			  "wait for some to end", 1);
		return NULL;
	}
	if (nameless_file(host, &fd, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return NULL;
	}
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	*upload = (struct upload){ .ticket = req->id, .fd = fd, .tenant = req->tenant };
	memcpy(upload->actor, host->actor, sizeof(upload->actor));
	if (*ret_fd >= 0)
		return upload;
	upload_drop(upload);
	front_fail(host, req->id, API_ERR_INTERNAL, "no descriptor for an upload", "", "", 0);
	return NULL;
}

void upload_reply(struct host *host, const struct request *req, uint64_t size_max, int fd)
{
	const struct api_upload reply = { .ticket = req->id & TICKET_MASK, .size_max = size_max };

	front_reply_call_fd(host, req->id, &api_type_upload, &reply, fd);
}

/* The parameters of an upload. */
struct put {
	const char *session, *path, *if_match, *if_none;
	uint64_t size; /* 0: unknown */
	bool is_archive;
};

/* *ret_limit is the maximum size of the upload; false: answered that it is too large. */
static bool may_put(struct host *host, const struct request *req, const struct session *session,
		    uint64_t size, uint64_t *ret_limit)
{
	uint64_t limit = session->limits.disk_bytes != 0 ? session->limits.disk_bytes : GIB_1;

	if (quota_disk_left(host, req->tenant) < limit && size == 0)
		limit = quota_disk_left(host, req->tenant);
	*ret_limit = limit;
	if (size <= limit)
		return quota_disk(host, req, size);
	front_fail(host, req->id, API_ERR_LIMIT, "the file is larger than the session's workspace",
		  "", "create the session with a larger limits.disk_bytes", 0);
	return false;
}

static void put(struct host *host, const struct request *req, const struct put *wanted)
{
	struct session *session = answer_session_for_files(host, req, wanted->session);
	struct upload *upload;
	uint64_t size_max;
	int theirs;

	if (session == NULL || !may_put(host, req, session, wanted->size, &size_max))
		return;
	upload = upload_begin(host, req, &theirs);
	if (upload == NULL)
		return;
	upload->is_archive = wanted->is_archive;
	upload->path = mem_strdup(wanted->path != NULL ? wanted->path : "");
	upload->if_match = copy(wanted->if_match);
	upload->if_none = copy(wanted->if_none);
	memcpy(upload->session, session->row.id, sizeof(upload->session));
	persist_use(session);
	upload_reply(host, req, size_max, theirs);
}

void handle_file_put(struct host *host, const struct request *req,
		     const struct api_file_put_in *in)
{
	put(host, req,
	    &(struct put){ .session = in->session,
			   .path = in->path,
			   .if_match = in->if_match,
			   .if_none = in->if_none_match,
			   .size = in->size });
}

void handle_archive_put(struct host *host, const struct request *req,
			const struct api_archive_put_in *in)
{
	put(host, req,
	    &(struct put){ .session = in->session,
			   .path = in->path,
			   .size = in->size,
			   .is_archive = true });
}

static enum upload_kind kind_of(const struct upload *upload)
{
	return upload->stored != NULL	? UPLOAD_STORED
	       : upload->volume != NULL ? UPLOAD_VOLUME
	       : upload->is_archive	? UPLOAD_ARCHIVE
					: UPLOAD_FILE;
}

struct upload *upload_find(struct host *host, const struct request *req, uint64_t ticket,
			   enum upload_kind kind)
{
	const uint64_t whole = (req->id & ~TICKET_MASK) | (ticket & TICKET_MASK);

	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		if (host->files.uploads[i].ticket != 0 && host->files.uploads[i].ticket == whole &&
		    kind_of(&host->files.uploads[i]) == kind)
			return &host->files.uploads[i];
	front_fail(host, req->id, API_ERR_NOT_FOUND, "there is no such upload", "", "", 0);
	return NULL;
}

static void commit(struct host *host, const struct request *req, uint64_t ticket, bool is_archive)
{
	struct upload *upload =
		upload_find(host, req, ticket, is_archive ? UPLOAD_ARCHIVE : UPLOAD_FILE);
	struct session *session;
	struct job *job;

	if (upload == NULL)
		return;
	session = session_find(host, upload->tenant, upload->session);
	if (session == NULL || life_is_closing(session->life)) {
		session_tell_gone(host, upload->tenant, req->id, upload->session);
	} else {
		/* A COMMIT has no key: it acts for the key that began the upload. */
		memcpy(host->actor, upload->actor, sizeof(host->actor));
		(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s",
			       upload->tenant->row.id);
		job = job_new(session, is_archive ? JOB_ARCHIVE_PUT : JOB_FILE_PUT, req->id);
		job->path = TAKE_PTR(upload->path);
		job->fd = TAKE_FD(upload->fd);
		job->files.if_match = TAKE_PTR(upload->if_match);
		job->files.if_none = TAKE_PTR(upload->if_none);
		file_queue_enqueue(session, job);
	}
	upload_drop(upload);
}

void handle_file_commit(struct host *host, const struct request *req,
			const struct api_file_commit_in *in)
{
	commit(host, req, in->ticket, false);
}

void handle_archive_commit(struct host *host, const struct request *req,
			   const struct api_archive_commit_in *in)
{
	commit(host, req, in->ticket, true);
}

/*
 * The archive is first written to an unnamed file: so its length is known before the first byte,
 * and a failure becomes an error instead of half an archive. The front then sends it at the
 * client's pace.
 */
void handle_archive_get(struct host *host, const struct request *req,
			const struct api_archive_get_in *in)
{
	static const char *const formats[] = {
		[API_ARCHIVE_GET_IN_FORMAT_TAR] = "tar",
		[API_ARCHIVE_GET_IN_FORMAT_TAR_GZ] = "tar.gz",
		[API_ARCHIVE_GET_IN_FORMAT_TAR_ZST] = "tar.zst",
		[API_ARCHIVE_GET_IN_FORMAT_ZIP] = "zip",
	};
	const unsigned format = in->format != 0 ? in->format : API_ARCHIVE_GET_IN_FORMAT_TAR_GZ;
	struct job *job = file_job(host, req, in->session, JOB_ARCHIVE_GET, in->path);
	struct err err;

	if (job == NULL)
		return;
	if (nameless_file(host, &job->fd, &err) < 0) {
		front_fail_err(host, req->id, &err);
		job_free(job);
		return;
	}
	job->files.limit = job->session->measured.workspace;
	job->files.format = copy(formats[format]);
	file_queue_enqueue(job->session, job);
}

void handle_watch(struct host *host, const struct request *req, const struct api_watch_in *in)
{
	struct session *session = answer_session_for_files(host, req, in->session);

	if (session != NULL)
		watch_request(session, req->id, in);
}
