/*
 * files_store.c - writes files atomically, stores what they replace; moves and deletes files.
 *
 * Runs in:  libreckon.
 * Reads:    a directory that a hostile box may change meanwhile; never leaves it.
 * Never:    makes an incomplete file visible, or loses the only copy of a replaced file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/file/tree.h"
#include "lib/api.h"
#include "lib/workspace/files.h"
#include "lib/record/mime.h"
#include "lib/store/store.h"

#define HIDDEN_PREFIX ".reckon-"
#define TICKS_WAITED 8
#define TICK_NS 2000000

uid_t files_uid(const struct reckon_session *session)
{
	return geteuid() == 0 ? session->warden.host_uid : (uid_t)-1;
}

gid_t files_gid(const struct reckon_session *session)
{
	return geteuid() == 0 ? session->warden.host_gid : (gid_t)-1;
}

/* ---- hidden directories --------------------------------------------------------------------- */

int hidden_make(struct reckon_session *session, struct hidden *ret, struct err *err)
{
	char id[ID_SIZE];

	*ret = HIDDEN_INIT;
	if (id_new(id, "h", err) < 0)
		return (int)err->code;
	(void)snprintf(ret->name, sizeof(ret->name), HIDDEN_PREFIX "%s", id);
	if (shared_steps_begin(session->shared, session->client, session->warden.number,
			       &ret->is_reported, err) < 0)
		return (int)err->code;
	if (shared_hide(session->shared, session->workspace, ret->name, &ret->fd, &ret->inode,
			err) < 0) {
		shared_steps_end(session->shared, session->client, session->warden.number,
				 ret->is_reported);
		return files_full(session, "a directory", err);
	}
	ret->session = session;
	return 0;
}

void hidden_done(struct hidden *hidden)
{
	struct err ignored;
	uint64_t removed;

	if (hidden->fd >= 0) {
		(void)fs_empty(hidden->fd, &removed, &ignored);
		(void)close(hidden->fd);
	}
	if (hidden->session != NULL) {
		const struct reckon_session *session = hidden->session;

		shared_unhide(session->shared, session->workspace, hidden->name, hidden->inode);
		shared_steps_end(session->shared, session->client, session->warden.number,
				 hidden->is_reported);
	}
	*hidden = HIDDEN_INIT;
}

/* ---- describing a file ---------------------------------------------------------------------- */

void files_describe(const struct stat *st, reckon_file_info *ret)
{
	const uint64_t state[] = {
		(uint64_t)st->st_ino,
		(uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec,
	};
	unsigned char hash[16];

	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)state, sizeof(state),
				 NULL, 0);
	ret->size = st->st_size > 0 ? (uint64_t)st->st_size : 0;
	ret->modified_s = st->st_mtim.tv_sec;
	(void)sodium_bin2hex(ret->etag, sizeof(ret->etag), hash, sizeof(hash));
}

/*
 * Two changes within one tick of the clock leave the same time stamp. So wait until the tick is
 * over before an etag is made: then a later change has another etag.
 */
static void wait_for_tick(int fd, struct stat *st)
{
	const struct timespec pause = { .tv_nsec = TICK_NS };
	struct timespec now;

	for (int i = 0; i < TICKS_WAITED; i++) {
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (now.tv_sec != st->st_ctim.tv_sec || now.tv_nsec > st->st_ctim.tv_nsec)
			return;
		(void)nanosleep(&pause, NULL);
		(void)fstat(fd, st);
	}
}

static void guess_mime(int fd, const char *path, reckon_file_info *ret)
{
	unsigned char head[MIME_HEAD_SIZE];
	const ssize_t n = pread(fd, head, sizeof(head), 0);

	(void)snprintf(ret->mime, sizeof(ret->mime), "%s",
		       mime_guess(path, head, n > 0 ? (size_t)n : 0));
}

static int open_info(struct reckon_session *session, const char *path, int *ret_fd,
		     reckon_file_info *ret, struct err *err)
{
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	if (engine_check_idle(session->engine, err) < 0 ||
	    fs_open_file_beneath(session->workspace, path, ret_fd, &st, err) < 0)
		return (int)err->code;
	wait_for_tick(*ret_fd, &st);
	files_describe(&st, ret);
	guess_mime(*ret_fd, path, ret);
	return 0;
}

int reckon_file_open_info(reckon_session *session, const char *path, int *ret_fd,
			  reckon_file_info *ret, reckon_error *err)
{
	struct err inner;

	if (open_info(session, path, ret_fd, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_file_describe(int fd, const char *name, reckon_file_info *ret, reckon_error *err)
{
	struct err inner;
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	if (fstat(fd, &st) < 0) {
		(void)err_sys(&inner, "fstat");
		return api_fail(err, &inner);
	}
	files_describe(&st, ret);
	guess_mime(fd, name, ret);
	return api_ok(err);
}

static void take_object(const struct store_object *object, const char *path, reckon_file_info *ret)
{
	ret->size = object->size;
	(void)snprintf(ret->artifact, sizeof(ret->artifact), "%s", object->id);
	(void)snprintf(ret->sha256, sizeof(ret->sha256), "%s", object->sha256);
	(void)snprintf(ret->mime, sizeof(ret->mime), "%s",
		       mime_guess(path, object->head, object->head_len));
}

void files_keep(struct reckon_session *session, const char *path, reckon_file_info *ret)
{
	struct store_object object;
	cleanup_fd int fd = -1;
	struct err ignored;
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	if (fs_open_file_beneath(session->workspace, path, &fd, &st, &ignored) < 0)
		return;
	files_describe(&st, ret);
	if (ret->size <= WORKSPACE_FILE_MAX &&
	    store_put_fd(session->engine->store, fd, ret->size, &object, &ignored) == 0)
		take_object(&object, path, ret);
}

int reckon_artifact_store(reckon_engine *engine, int fd, const char *name, reckon_file_info *ret,
			  reckon_error *err)
{
	struct store_object object;
	struct err inner;

	memset(ret, 0, sizeof(*ret));
	if (store_put_fd(engine->store, fd, WORKSPACE_FILE_MAX, &object, &inner) < 0 ||
	    store_sync(engine->store, &inner) < 0)
		return api_fail(err, &inner);
	take_object(&object, name, ret);
	return api_ok(err);
}

/* ---- putting -------------------------------------------------------------------------------- */

/* Refuses a link or folder in place of the file; *ret_mode is an existing file's mode. */
static int look_at_place(struct reckon_session *session, const char *path, mode_t *ret_mode,
			 struct err *err)
{
	cleanup_fd int fd = -1;
	struct stat st;

	*ret_mode = 0644;
	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s", path);
	if (fs_open_file_beneath(session->workspace, path, &fd, &st, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : (int)err->code;
	*ret_mode = st.st_mode & 0777;
	return 0;
}

/* Writes a hidden file and renames it, so that others see the old or the new file. */
static int put_hidden(struct reckon_session *session, const char *path, int source, mode_t mode,
		      struct stat *ret, struct err *err)
{
	const uid_t uid = files_uid(session);
	const gid_t gid = files_gid(session);
	cleanup_hidden struct hidden hidden = HIDDEN_INIT;
	cleanup_fd int target = -1;

	if (hidden_make(session, &hidden, err) < 0 ||
	    fs_create_beneath(hidden.fd, "f", uid, gid, &target, err) < 0 ||
	    files_copy(source, target, err) < 0)
		return (int)err->code;
	if (fchmod(target, mode) < 0 || fstat(target, ret) < 0)
		return err_sys(err, "settle the file");
	return fs_move_between(hidden.fd, "f", session->workspace, path, 1, uid, gid, err);
}

/* If there is no space for both files: overwrites the old one, which is already stored. */
static int put_over(struct reckon_session *session, const char *path, int source, struct stat *ret,
		    struct err *err)
{
	cleanup_fd int target = -1;

	if (lseek(source, 0, SEEK_SET) < 0)
		return err_sys(err, "seek");
	if (fs_create_beneath(session->workspace, path, files_uid(session), files_gid(session),
			      &target, err) < 0)
		return (int)err->code;
	if (files_copy(source, target, err) < 0)
		return (int)err->code;
	return fstat(target, ret) < 0 ? err_sys(err, "fstat") : 0;
}

static int put(struct reckon_session *session, const char *path, int source,
	       const reckon_file_info *old, struct stat *ret, struct err *err)
{
	mode_t mode;

	if (look_at_place(session, path, &mode, err) < 0)
		return (int)err->code;
	if (put_hidden(session, path, source, mode, ret, err) == 0)
		return 0;
	if ((err->errnum != ENOSPC && err->errnum != EDQUOT) || old->artifact[0] == '\0')
		return (int)err->code;
	return put_over(session, path, source, ret, err);
}

/*
 * Stores the content first and then writes from the stored copy: other holders of the source's
 * descriptor cannot make the two differ.
 */
static int keep_source(struct reckon_session *session, const char *path, int *source,
		       reckon_file_info *ret, struct err *err)
{
	struct store *store = session->engine->store;
	struct store_object object;
	struct stat st;
	uint64_t size;
	int stored_fd;

	if (fstat(*source, &st) < 0 || lseek(*source, 0, SEEK_SET) < 0)
		return err_sys(err, "read the file to put");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > WORKSPACE_FILE_MAX)
		return 0;
	if (store_put_fd(store, *source, (uint64_t)st.st_size, &object, err) < 0 ||
	    store_open_object(store, object.id, &stored_fd, &size, err) < 0)
		return (int)err->code;
	take_object(&object, path, ret);
	(void)close(*source);
	*source = stored_fd;
	return 0;
}

static int store_file(struct reckon_session *session, const char *path, int source_fd,
		      reckon_file_info *ret_new, reckon_file_info *ret_old, struct err *err)
{
	cleanup_fd int source = fcntl(source_fd, F_DUPFD_CLOEXEC, 0), fd = -1;
	struct part part = { .paths = &path, .count = 1 };
	reckon_file_info now;
	struct stat is;
	int code;

	memset(ret_new, 0, sizeof(*ret_new));
	memset(ret_old, 0, sizeof(*ret_old));
	if (source < 0)
		return err_sys(err, "duplicate a descriptor");
	if (session_check_box(session, err) < 0)
		return (int)err->code;
	files_keep(session, path, ret_old);
	if (keep_source(session, path, &source, ret_new, err) < 0)
		return (int)err->code;
	code = put(session, path, source, ret_old, &is, err);
	if (code < 0)
		(void)files_full(session, path, err);
	if (code == 0)
		part.put = &is;
	files_note(session, &part);
	if (code < 0)
		return err_wrap(err, "put %.100s", path);
	if (open_info(session, path, &fd, &now, err) == 0) {
		(void)snprintf(now.artifact, sizeof(now.artifact), "%s", ret_new->artifact);
		(void)snprintf(now.sha256, sizeof(now.sha256), "%s", ret_new->sha256);
		*ret_new = now;
	}
	return 0;
}

int reckon_file_store(reckon_session *session, const char *path, int source_fd,
		      reckon_file_info *ret_new, reckon_file_info *ret_old, reckon_error *err)
{
	reckon_file_info new, old;
	struct err inner;

	if (store_file(session, path, source_fd, &new, &old, &inner) < 0)
		return api_fail(err, &inner);
	if (ret_new != NULL)
		*ret_new = new;
	if (ret_old != NULL)
		*ret_old = old;
	return api_ok(err);
}

/* ---- moving, removing ----------------------------------------------------------------------- */

int reckon_file_move(reckon_session *session, const char *from, const char *to, int overwrite,
		     reckon_file_info *ret_old, reckon_error *err)
{
	const char *const paths[] = { from, to };
	reckon_file_info old;
	struct err inner;
	int code;

	memset(&old, 0, sizeof(old));
	if (session_check_box(session, &inner) < 0)
		return api_fail(err, &inner);
	if (overwrite && strcmp(from, to) != 0)
		files_keep(session, to, &old);
	code = fs_move_beneath(session->workspace, from, to, overwrite, files_uid(session),
			       files_gid(session), &inner);
	files_note(session, &(struct part){ .paths = paths, .count = ARRAY_LEN(paths) });
	if (code < 0)
		return api_fail(err, &inner);
	if (ret_old != NULL)
		*ret_old = old;
	return api_ok(err);
}

int reckon_file_mkdir(reckon_session *session, const char *path, reckon_error *err)
{
	struct err inner;

	if (session_check_box(session, &inner) < 0)
		return api_fail(err, &inner);
	if (fs_mkdir_beneath(session->workspace, path, files_uid(session), files_gid(session),
			     &inner) < 0) {
		(void)files_full(session, path, &inner);
		return api_fail(err, &inner);
	}
	files_note_one(session, path);
	return api_ok(err);
}

static int delete_tree(struct reckon_session *session, const char *path, uint64_t *ret_removed,
		       struct err *err)
{
	cleanup_hidden struct hidden hidden = HIDDEN_INIT;

	if (session_check_box(session, err) < 0)
		return (int)err->code;
	/* Deleting a single file directly needs no space, which a full workspace would not have. */
	if (fs_remove_beneath(session->workspace, path, err) == 0) {
		*ret_removed = 1;
		return 0;
	}
	if (err->code != ERR_INVALID || hidden_make(session, &hidden, err) < 0)
		return (int)err->code;
	if (fs_move_between(session->workspace, path, hidden.fd, "d", 0, (uid_t)-1, (gid_t)-1,
			    err) < 0)
		return (int)err->code;
	return fs_empty(hidden.fd, ret_removed, err);
}

int reckon_file_delete_tree(reckon_session *session, const char *path, uint64_t *ret_removed,
			    reckon_error *err)
{
	uint64_t removed = 0;
	struct err inner;
	const int code = delete_tree(session, path, &removed, &inner);

	files_note_one(session, path);
	if (code < 0)
		return api_fail(err, &inner);
	if (ret_removed != NULL)
		*ret_removed = removed;
	return api_ok(err);
}
