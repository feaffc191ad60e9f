/*
 * answer_file.c - files of a workspace: listed, read, changed, and put by way of a nameless file.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests. What a client uploads is never read here, only handed on.
 * Never:    lets half an upload into a workspace: it is copied in after its COMMIT.
 *
 * A PUT makes a file without a name below the state directory and hands its descriptor to the
 * front, which fills it at the client's pace. No thread and no session waits meanwhile, and what
 * is broken off is gone with its last descriptor, also after a crash.
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
#include "host/host.h"
#include "host/quota.h"

#define GIB_1 (1024ull * 1024 * 1024)

char *answer_text(const struct asked *asked, enum front_tag tag)
{
	const struct kernel_item *item = front_find(asked->items, asked->count, tag);
	char *text;

	if (item == NULL)
		return NULL;
	text = mem_new0(item->len + 1, 1);
	if (memchr(item->data, '\0', item->len) == NULL)
		memcpy(text, item->data, item->len);
	return text;
}

/* "" is refused by libreckon where a file is meant, as is every path that leads outside. */
static char *path_of(const struct asked *asked)
{
	char *path = answer_text(asked, FRONT_TAG_PATH);

	return path != NULL ? path : mem_strdup("");
}

static enum job_kind kind_of(uint16_t type)
{
	switch (type) {
	case FRONT_FILE_GET:
		return JOB_FILE_GET;
	case FRONT_FILE_DELETE:
		return JOB_FILE_DELETE;
	case FRONT_FILE_MOVE:
		return JOB_FILE_MOVE;
	case FRONT_FILE_MKDIR:
		return JOB_FILE_MKDIR;
	default:
		return JOB_FILE_LIST;
	}
}

void answer_file(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session_beside(host, asked);
	const enum job_kind kind = kind_of(asked->type);
	struct job *job;

	if (session == NULL)
		return;
	job = job_new(session, kind, asked->id);
	job->path = path_of(asked);
	job->files.to = answer_text(asked, FRONT_TAG_TO_PATH);
	job->files.if_match = answer_text(asked, FRONT_TAG_IF_MATCH);
	job->files.overwrite =
		front_find(asked->items, asked->count, FRONT_TAG_OVERWRITE) != NULL;
	job->files.recursive = front_u64(asked->items, asked->count, FRONT_TAG_RECURSIVE,
					 kind == JOB_FILE_LIST) != 0;
	job->files.limit = front_u64(asked->items, asked->count, FRONT_TAG_LIMIT, 0);
	beside_enqueue(session, job);
}

void upload_drop(struct upload *upload)
{
	if (upload->fd >= 0)
		(void)close(upload->fd);
	free(upload->path);
	free(upload->if_match);
	free(upload->if_none);
	*upload = (struct upload){ .fd = -1 };
}

static int nameless_file(struct host *host, int *ret_fd, struct err *err)
{
	char name[ID_SIZE];
	int fd = openat(host->state_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		/* A file system without such files: one whose name is taken away at once. */
		if (id_new(name, "up", err) < 0)
			return (int)err->code;
		fd = openat(host->state_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			(void)unlinkat(host->state_fd, name, 0);
	}
	if (fd < 0)
		return err_sys(err, "make a file for an upload");
	*ret_fd = fd;
	return 0;
}

static struct upload *free_upload(struct host *host)
{
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		if (host->uploads[i].ticket == 0)
			return &host->uploads[i];
	return NULL;
}

void answer_file_put(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct session *session = answer_session_beside(host, asked);
	const uint64_t size = front_u64(asked->items, asked->count, FRONT_TAG_SIZE, 0);
	struct upload *upload = free_upload(host);
	uint64_t limit;
	struct err err;
	int fd, theirs;

	if (session == NULL)
		return;
	limit = session->limits.disk_bytes != 0 ? session->limits.disk_bytes : GIB_1;
	if (quota_disk_left(host, asked->tenant) < limit && size == 0)
		limit = quota_disk_left(host, asked->tenant);
	if (size > limit) {
		peer_fail(host, asked->id, FRONT_ERR_LIMIT,
			  "the file is larger than the session's workspace", "",
			  "create the session with a larger limits.disk_bytes", 0);
		return;
	}
	if (!quota_disk(host, asked, size))
		return;
	if (upload == NULL) {
		observe_refused(host, "uploads");
		peer_fail(host, asked->id, FRONT_ERR_BUSY, "too many uploads at once", "",
			  "wait for some to end", 1);
		return;
	}
	if (nameless_file(host, &fd, &err) < 0) {
		peer_fail_err(host, asked->id, &err);
		return;
	}
	theirs = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	*upload = (struct upload){ .ticket = asked->id,
				   .fd = fd,
				   .tenant = asked->tenant,
				   .is_archive = asked->type == FRONT_ARCHIVE_PUT,
				   .path = path_of(asked),
				   .if_match = answer_text(asked, FRONT_TAG_IF_MATCH),
				   .if_none = answer_text(asked, FRONT_TAG_IF_NONE) };
	memcpy(upload->actor, host->actor, sizeof(upload->actor));
	memcpy(upload->session, session->row.id, sizeof(upload->session));
	keep_use(session);
	if (theirs < 0 || front_pack_u64(&payload, FRONT_TAG_SIZE, limit, &err) < 0) {
		upload_drop(upload);
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, "no descriptor for an upload", "", "",
			  0);
		return;
	}
	peer_reply(host, asked->id, &payload, theirs);
}

void answer_file_commit(struct host *host, const struct asked *asked)
{
	/* The front names the request's id as it knows it: without its generation. */
	const uint64_t mask = (1ull << 48) - 1;
	const uint64_t ticket = (asked->id & ~mask) |
				(front_u64(asked->items, asked->count, FRONT_TAG_TICKET, 0) & mask);
	struct session *session;
	struct job *job;

	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++) {
		struct upload *upload = &host->uploads[i];

		if (upload->ticket == 0 || upload->ticket != ticket)
			continue;
		session = session_find(host, upload->tenant, upload->session);
		if (session == NULL || session->phase == SESSION_CLOSING) {
			answer_gone(host, upload->tenant, asked->id, upload->session);
		} else {
			/* A COMMIT brings no key: it is whoever began the upload. */
			memcpy(host->actor, upload->actor, sizeof(host->actor));
			(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s",
				       upload->tenant->row.id);
			job = job_new(session,
				      upload->is_archive ? JOB_ARCHIVE_PUT : JOB_FILE_PUT,
				      asked->id);
			job->path = TAKE_PTR(upload->path);
			job->fd = TAKE_FD(upload->fd);
			job->files.if_match = TAKE_PTR(upload->if_match);
			job->files.if_none = TAKE_PTR(upload->if_none);
			beside_enqueue(session, job);
		}
		upload_drop(upload);
		return;
	}
	peer_fail(host, asked->id, FRONT_ERR_NOT_FOUND, "there is no such upload", "", "", 0);
}

/*
 * An archive is written to a nameless file too, and goes out from there at the client's pace: its
 * length is known before its first byte, and what fails is an error, not half an archive.
 */
void answer_archive_get(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session_beside(host, asked);
	struct job *job;
	struct err err;
	int fd;

	if (session == NULL)
		return;
	if (nameless_file(host, &fd, &err) < 0) {
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", err.remedy, 0);
		return;
	}
	job = job_new(session, JOB_ARCHIVE_GET, asked->id);
	job->fd = fd;
	job->path = path_of(asked);
	job->files.format = answer_text(asked, FRONT_TAG_FORMAT);
	beside_enqueue(session, job);
}
