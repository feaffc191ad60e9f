/*
 * work.c - reads, writes and removes the content of a volume.
 *
 * Runs in:  a thread of reckond's pool; volume_work_submit() in the loop.
 * Reads:    a folder that boxes change at the same time; it copies uploads without reading them.
 * Never:    follows a link, or opens anything but regular files and folders (base/file/fs.h).
 */
#include "host/volumes/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/file/tree.h"
#include "base/mem.h"
#include "host/about.h"
#include "host/host.h"

#define CHUNK ((size_t)16 * 1024 * 1024)
#define NEW_FILE 0644u

void volume_work_submit(struct host *host, struct volume_work *work, uint64_t request, int fd)
{
	struct job *job = job_new(NULL, JOB_VOLUME, request);

	job->host = host;
	about_note(host, job);
	job->volume = work;
	job->fd = fd;
	pool_submit_to(host->pools.files, work->tenant->file_lane, &job->item);
}

/* ---- beneath the volume --------------------------------------------------------------------- */

/* The volume's folder, and the owner for new files. Only root can set another owner. */
struct volume_dir {
	int dir;
	uid_t uid;
	gid_t gid;
};

static int open_volume(const struct host *host, const struct volume_work *work,
		       struct volume_dir *ret, struct err *err)
{
	char path[VOLUME_SOURCE_SIZE];
	struct stat st;

	(void)snprintf(path, sizeof(path), "volumes/%s%s",
		       work->op == VOLUME_EMPTY ? VOLUME_GONE : "", work->id);
	ret->dir = openat(host->place.state_fd, path,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->dir < 0) {
		(void)err_set(err, ERR_UNAVAILABLE, "the content of the volume is missing");
		return err_remedy(err, "bring back %s of the state directory from a backup", path);
	}
	if (fstat(ret->dir, &st) < 0)
		return err_sys(err, "look at a volume");
	ret->uid = geteuid() == 0 ? st.st_uid : (uid_t)-1;
	ret->gid = geteuid() == 0 ? st.st_gid : (gid_t)-1;
	return 0;
}

static int missing(const char *path, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "there is no %.200s in the volume", path);
}

/* Turns errors of base/ into messages about the volume. */
static int failed(const char *path, struct err *err)
{
	if (err->code == ERR_NOT_FOUND || (err->code == ERR_SYSTEM && err->errnum == ENOENT))
		return missing(path, err);
	if (err->code == ERR_SYSTEM && (err->errnum == EACCES || err->errnum == EPERM))
		return err_set(err, ERR_DENIED, "permission denied: %.200s", path);
	if (err->code == ERR_SYSTEM && err->errnum == ENAMETOOLONG)
		return err_set(err, ERR_INVALID, "a name in the path is longer than 255 bytes");
	return (int)err->code;
}

/* Opens the folder that contains `path`; *ret_name is the name there, "" for the volume itself. */
static int open_parent(const struct volume_dir *place, const char *path, int *ret_dir,
		       const char **ret_name, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char parent[4096] = "";

	if (path[0] != '\0' && !fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the volume");
	if (slash != NULL)
		(void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	*ret_name = slash != NULL ? slash + 1 : path;
	if (fs_open_dir_beneath(place->dir, parent, ret_dir, err) < 0)
		return failed(path, err);
	return 0;
}

static int tell(struct volume_work *work, const struct volume_dir *place, struct err *err)
{
	cleanup_fd int dir = -1;
	const char *name;

	if (open_parent(place, work->path, &dir, &name, err) < 0)
		return (int)err->code;
	if (volume_entry_at(work, dir, name, work->path, &work->entry, err) < 0)
		return failed(work->path, err);
	return 0;
}

/* Uses the inode that was opened, so that no permission on the file itself is needed. */
static int set_mode(const struct volume_dir *place, const char *path, unsigned mode,
		    struct err *err)
{
	cleanup_fd int fd = fs_open_beneath(place->dir, path, O_PATH, 0);
	char link[48];
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return missing(path, err);
	if (fd < 0 && errno == ELOOP)
		return err_set(err, ERR_DENIED, "%.200s is a symbolic link, or below one", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open %.200s", path);
	if (S_ISLNK(st.st_mode)) /* O_PATH also opens links */
		return err_set(err, ERR_DENIED, "%.200s is a symbolic link", path);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode & 0777u) < 0 ? err_sys(err, "chmod %.200s", path) : 0;
}

static int change(struct volume_work *work, const struct volume_dir *place, struct err *err)
{
	if (!fs_path_is_safe(work->path))
		return err_set(err, ERR_INVALID, "not a path inside the volume");
	if (work->has_mode && set_mode(place, work->path, work->mode, err) < 0)
		return (int)err->code;
	return tell(work, place, err);
}

/* ---- folders -------------------------------------------------------------------------------- */

static int make_one(struct volume_work *work, const struct volume_dir *place, struct err *err)
{
	cleanup_fd int dir = -1;
	const char *name;

	if (open_parent(place, work->path, &dir, &name, err) < 0)
		return (int)err->code;
	if (mkdirat(dir, name, 0755) < 0) {
		if (errno != EEXIST)
			return err_sys(err, "make %.200s", work->path);
		work->error = API_ERR_EXISTS;
		return err_set(err, ERR_INVALID, "%.200s exists", work->path);
	}
	if (place->uid != (uid_t)-1 &&
	    fchownat(dir, name, place->uid, place->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "give away %.200s", work->path);
	return 0;
}

static int make_folder(struct volume_work *work, const struct volume_dir *place, struct err *err)
{
	int code;

	if (!fs_path_is_safe(work->path))
		return err_set(err, ERR_INVALID, "not a path inside the volume");
	code = work->parents ? fs_mkdir_beneath(place->dir, work->path, place->uid, place->gid, err)
			     : make_one(work, place, err);
	if (code < 0)
		return failed(work->path, err);
	return change(work, place, err);
}

/* Removes a folder together with its content. */
static int remove_one(struct volume_work *work, const struct volume_dir *place, struct err *err)
{
	cleanup_fd int below = -1, dir = -1;
	const char *name;
	uint64_t removed;

	if (!fs_path_is_safe(work->path))
		return err_set(err, ERR_INVALID, "not a path inside the volume");
	if (open_parent(place, work->path, &dir, &name, err) < 0)
		return (int)err->code;
	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM) {
		(void)err_sys(err, "remove %.200s", work->path);
		return failed(work->path, err);
	}
	if (fs_open_dir_beneath(dir, name, &below, err) < 0 || fs_empty(below, &removed, err) < 0)
		return failed(work->path, err);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_sys(err, "remove %.200s", work->path);
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int get(struct job *job, struct volume_work *work, const struct volume_dir *place,
	       struct err *err)
{
	struct stat st;

	if (fs_open_file_beneath(place->dir, work->path, &job->result.fd, &st, err) < 0)
		return failed(work->path, err);
	return tell(work, place, err);
}

static int copy_bytes(int from, int to, struct err *err)
{
	off_t at = 0;
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while ((n = sendfile(to, from, &at, CHUNK)) > 0)
		;
	return n < 0 ? err_sys(err, "write a file of a volume") : 0;
}

/*
 * Writes a new file beside the old one and renames it, so that readers of the old one see all of
 * it.
 */
static int put_into(const struct job *job, struct volume_work *work, const struct volume_dir *place,
		    int dir, const char *name, struct err *err)
{
	char fresh[ID_SIZE + 16], id[ID_SIZE];
	cleanup_fd int to = -1;
	struct stat st;
	int code;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return err_set(err, ERR_DENIED, "%.200s is a folder", work->path);
	if (id_new(id, "new", err) < 0)
		return (int)err->code;
	(void)snprintf(fresh, sizeof(fresh), ".reckon-%s", id);
	if (fs_create_beneath(dir, fresh, place->uid, place->gid, &to, err) < 0)
		return (int)err->code;
	code = copy_bytes(job->fd, to, err);
	if (code == 0 && fchmod(to, work->has_mode ? work->mode & 0777u : NEW_FILE) < 0)
		code = err_sys(err, "chmod");
	if (code == 0)
		code = fs_move_beneath(dir, fresh, name, 1, (uid_t)-1, (gid_t)-1, err);
	if (code < 0)
		(void)unlinkat(dir, fresh, 0);
	return code;
}

static int put(const struct job *job, struct volume_work *work, const struct volume_dir *place,
	       struct err *err)
{
	const char *slash = strrchr(work->path, '/');
	cleanup_free char *parent = NULL;
	cleanup_fd int dir = -1;
	const char *name;
	struct stat st;

	if (!fs_path_is_safe(work->path))
		return err_set(err, ERR_INVALID, "not a path inside the volume");
	if (fstat(job->fd, &st) < 0)
		return err_sys(err, "look at an upload");
	if ((uint64_t)st.st_size > work->room) {
		(void)err_set(err, ERR_LIMIT, "there is no room for the file in the volume");
		return err_remedy(err, "remove others, or ask for a larger quota");
	}
	if (slash != NULL && work->parents) {
		parent = mem_strdup(work->path);
		parent[slash - work->path] = '\0';
		if (fs_mkdir_beneath(place->dir, parent, place->uid, place->gid, err) < 0)
			return failed(work->path, err);
	}
	if (open_parent(place, work->path, &dir, &name, err) < 0)
		return (int)err->code;
	if (put_into(job, work, place, dir, name, err) < 0)
		return failed(work->path, err);
	return tell(work, place, err);
}

/* ---- dispatch ------------------------------------------------------------------------------- */

static int empty(const struct host *host, const struct volume_work *work,
		 const struct volume_dir *place, struct err *err)
{
	char path[VOLUME_SOURCE_SIZE];
	uint64_t removed;

	/* A box that is closing may still add files: the next start removes them. */
	if (fs_empty(place->dir, &removed, err) < 0)
		return (int)err->code;
	(void)snprintf(path, sizeof(path), "volumes/" VOLUME_GONE "%s", work->id);
	if (unlinkat(host->place.state_fd, path, AT_REMOVEDIR) < 0)
		return err_sys(err, "remove a volume");
	return 0;
}

static int list(struct volume_work *work, const struct volume_dir *place, struct err *err)
{
	cleanup_fd int dir = -1;

	if (fs_open_dir_beneath(place->dir, work->path, &dir, err) < 0)
		return failed(work->path, err);
	return volume_walk_list(work, dir, err);
}

static int work_on(struct job *job, struct volume_work *work, const struct volume_dir *place,
		   struct err *err)
{
	switch (work->op) {
	case VOLUME_LIST:
		return list(work, place, err);
	case VOLUME_STAT:
		return tell(work, place, err);
	case VOLUME_MKDIR:
		return make_folder(work, place, err);
	case VOLUME_CHANGE:
		return change(work, place, err);
	case VOLUME_DELETE:
		return remove_one(work, place, err);
	case VOLUME_GET:
		return get(job, work, place, err);
	case VOLUME_PUT:
		return put(job, work, place, err);
	case VOLUME_MEASURE:
		return volume_walk_measure(work, place->dir, err);
	case VOLUME_EMPTY:
		return empty(job->host, work, place, err);
	}
	return err_set(err, ERR_SYSTEM, "nothing to do");
}

void volume_work(struct job *job)
{
	struct volume_work *work = job->volume;
	struct volume_dir place = { .dir = -1 };
	struct err err;

	err_clear(&work->err);
	if (open_volume(job->host, work, &place, &err) < 0 ||
	    work_on(job, work, &place, &err) < 0)
		work->err = err;
	if (place.dir >= 0)
		(void)close(place.dir);
}
