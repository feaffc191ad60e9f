/*
 * files.c - puts, gets and lists files of a workspace from outside its box.
 *
 * Runs in:  libreckon.
 * Reads:    a directory that a hostile box may change meanwhile; never leaves it.
 * Never:    follows a symbolic link, or parses a file's content.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "base/file/fs.h"
#include "lib/api.h"
#include "lib/workspace/files.h"
#include "lib/session/session.h"
#include "lib/workspace/workspace.h"

#define LIST_MAX (64u * 1024u * 1024u)

int files_copy(int source, int target, struct err *err)
{
	MEM_UNINIT char chunk[65536];

	for (;;) {
		ssize_t n = read(source, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			return 0;
		if (fd_write_full(target, chunk, (size_t)n, err) < 0)
			return (int)err->code;
	}
}

int files_full(const struct reckon_session *session, const char *path, struct err *err)
{
	if (err->errnum != ENOSPC && err->errnum != EDQUOT)
		return (int)err->code;
	(void)err_set(err, ERR_LIMIT, "%.100s does not fit: the workspace is limited to %llu bytes "
		      "and %llu files", path, (unsigned long long)session->limits.disk_bytes,
		      (unsigned long long)session->limits.inodes);
	return err_remedy(err, "delete files, or open the session with larger limits");
}

void files_note(struct reckon_session *session, const struct part *part)
{
	const struct persist_bounds bounds = durable_bounds(session);

	shared_changed(session->shared, session->workspace, session->engine->store, &bounds, part);
}

void files_note_one(struct reckon_session *session, const char *path)
{
	files_note(session, &(struct part){ .paths = &path, .count = 1 });
}

static int put(struct reckon_session *session, const char *path, int source_fd, struct err *err)
{
	/* Only root can change the owner; rootless, the box's user is our own. */
	const bool give = geteuid() == 0;
	cleanup_fd int target = -1;

	if (session_check_box(session, err) < 0 ||
	    fs_create_beneath(session->workspace, path, give ? session->warden.host_uid : (uid_t)-1,
			      give ? session->warden.host_gid : (gid_t)-1, &target, err) < 0)
		return (int)err->code;
	if (files_copy(source_fd, target, err) < 0) {
		(void)files_full(session, path, err);
		files_note_one(session, path);
		return err_wrap(err, "put %.100s", path);
	}
	files_note_one(session, path);
	return 0;
}

int reckon_file_put(reckon_session *session, const char *path, int source_fd, reckon_error *err)
{
	struct err inner;

	if (put(session, path, source_fd, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static int get(struct reckon_session *session, const char *path, int target_fd, struct err *err)
{
	cleanup_fd int source = -1;
	struct stat st;

	if (engine_check_idle(session->engine, err) < 0 ||
	    fs_open_file_beneath(session->workspace, path, &source, &st, err) < 0)
		return (int)err->code;
	if (files_copy(source, target_fd, err) < 0)
		return err_wrap(err, "get %.100s", path);
	return 0;
}

int reckon_file_get(reckon_session *session, const char *path, int target_fd, reckon_error *err)
{
	struct err inner;

	if (get(session, path, target_fd, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static int open_file(struct reckon_session *session, const char *path, int *ret_fd,
		     uint64_t *ret_size, struct err *err)
{
	struct stat st;

	if (engine_check_idle(session->engine, err) < 0 ||
	    fs_open_file_beneath(session->workspace, path, ret_fd, &st, err) < 0)
		return (int)err->code;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

int reckon_file_open(reckon_session *session, const char *path, int *ret_fd, uint64_t *ret_size,
		     reckon_error *err)
{
	struct err inner;

	if (open_file(session, path, ret_fd, ret_size, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_file_delete(reckon_session *session, const char *path, reckon_error *err)
{
	struct err inner;

	if (session_check_box(session, &inner) < 0 ||
	    fs_remove_beneath(session->workspace, path, &inner) < 0)
		return api_fail(err, &inner);
	files_note_one(session, path);
	return api_ok(err);
}

static int list(struct reckon_session *session, char **ret_json, struct err *err)
{
	cleanup_workspace struct workspace *now = NULL;
	cleanup_buf struct buf json = BUF_INIT(LIST_MAX);

	if (engine_check_idle(session->engine, err) < 0 ||
	    workspace_scan(session->workspace, NULL, &now, err) < 0 ||
	    workspace_list_json(session->workspace, now, &json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(json.data);
	return 0;
}

int reckon_file_list(reckon_session *session, char **ret_json, reckon_error *err)
{
	struct err inner;

	if (list(session, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
