/*
 * fs.c - paths beneath a directory that a hostile process can change.
 *
 * Runs in:  trusted processes.
 * Reads:    directories that a box can change meanwhile.
 * Never:    follows a symbolic link or opens a FIFO, socket or device.
 */
#include "base/file/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/inner.h"
#include "base/mem.h"
#include "base/utf8.h"

int fs_inner_open(int dir_fd, const char *path, uint64_t flags, mode_t mode)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	for (int tries = 0; tries < 16; tries++) {
		int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

		/* The kernel requests a retry when something in the tree was renamed meanwhile. */
		if (fd >= 0 || errno != EAGAIN)
			return fd;
	}
	return -1;
}

static const char in_it[] = "it is a folder: name a file in it";

static int no_file(const char *path, const struct stat *st, struct err *err)
{
	(void)err_set(err, ERR_DENIED, "%.200s is not a regular file", path);
	return S_ISDIR(st->st_mode) ? err_remedy(err, "%s", in_it) : (int)err->code;
}

/* Reports a failed open; a link in the path is ERR_DENIED, not ERR_SYSTEM. */
int fs_inner_failed(const char *path, struct err *err)
{
	if (errno == ELOOP || errno == EXDEV)
		return err_set(err, ERR_DENIED, "%.200s leads through a symbolic link", path);
	if (errno == ENOTDIR) {
		(void)err_set(err, ERR_DENIED, "%.200s is not a directory", path);
		return err_remedy(err, "a file stands where a folder is needed: move or delete it, "
				       "or choose another name");
	}
	if (errno == EISDIR) {
		(void)err_set(err, ERR_DENIED, "%.200s is a directory", path);
		return err_remedy(err, "%s", in_it);
	}
	if (errno == ENXIO) /* a Unix socket */
		return err_set(err, ERR_DENIED, "%.200s is not a regular file", path);
	return err_sys(err, "open %.200s", path);
}

bool fs_path_is_safe(const char *path)
{
	size_t len = strlen(path);
	const char *part = path;

	if (len == 0 || len > 4095 || !utf8_is_valid(path, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return false;
	for (;;) {
		size_t n = strcspn(part, "/");

		if (n == 0 || n > 255 || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		if (part[n] == '\0')
			return true;
		part += n + 1;
	}
}

int fs_open_file_beneath(int dir_fd, const char *path, int *ret_fd, struct stat *ret_st,
			 struct err *err)
{
	cleanup_fd int fd = -1;

	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace");
	fd = fs_inner_open(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(err, ERR_NOT_FOUND, "no file %.200s in the workspace", path);
	if (fd < 0)
		return fs_inner_failed(path, err);
	if (fstat(fd, ret_st) < 0)
		return err_sys(err, "fstat %.200s", path);
	if (!S_ISREG(ret_st->st_mode))
		return no_file(path, ret_st, err);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int fs_open_dir_beneath(int dir_fd, const char *path, int *ret_fd, struct err *err)
{
	int fd;

	if (path[0] != '\0' && !fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace");
	fd = fs_inner_open(dir_fd, path[0] != '\0' ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fs_inner_failed(path, err);
	*ret_fd = fd;
	return 0;
}

int fs_inner_parents(int dir_fd, const char *path, uid_t uid, gid_t gid, int *ret_parent,
		     const char **ret_name, struct err *err)
{
	cleanup_fd int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	const char *part = path;

	if (at < 0)
		return err_sys(err, "duplicate a directory");
	for (;;) {
		size_t n = strcspn(part, "/");
		char name[256];
		int next;

		if (part[n] == '\0')
			break;
		memcpy(name, part, n);
		name[n] = '\0';
		if (mkdirat(at, name, 0755) == 0) {
			if (uid != (uid_t)-1 &&
			    fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
				return err_sys(err, "give %s to the session", name);
		} else if (errno != EEXIST) {
			return err_sys(err, "make directory %s", name);
		}
		next = fs_inner_open(at, name, O_RDONLY | O_DIRECTORY, 0);
		if (next < 0)
			return fs_inner_failed(name, err);
		(void)close(at);
		at = next;
		part += n + 1;
	}
	*ret_parent = TAKE_FD(at);
	*ret_name = part;
	return 0;
}

int fs_create_beneath(int dir_fd, const char *path, uid_t uid, gid_t gid, int *ret_fd,
		      struct err *err)
{
	cleanup_fd int parent = -1;
	cleanup_fd int fd = -1;
	const char *name = NULL;
	struct stat st;

	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s", path);
	if (fs_inner_parents(dir_fd, path, uid, gid, &parent, &name, err) < 0)
		return (int)err->code;
	fd = fs_inner_open(parent, name, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY, 0644);
	if (fd < 0)
		return fs_inner_failed(path, err);
	if (fstat(fd, &st) < 0)
		return err_sys(err, "fstat %.200s", path);
	if (!S_ISREG(st.st_mode))
		return no_file(path, &st, err);
	if (ftruncate(fd, 0) < 0)
		return err_sys(err, "truncate %.200s", path);
	if (uid != (uid_t)-1 && fchown(fd, uid, gid) < 0)
		return err_sys(err, "give %.200s to the session", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int fs_inner_parent(int dir_fd, const char *path, int *ret_parent, const char **ret_name,
		    struct err *err)
{
	char above[4096];
	const char *name;
	int parent;

	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s", path);
	name = strrchr(path, '/');
	(void)snprintf(above, sizeof(above), "%.*s", name != NULL ? (int)(name - path) : 0, path);
	name = name != NULL ? name + 1 : path;
	parent = fs_inner_open(dir_fd, above[0] != '\0' ? above : ".", O_RDONLY | O_DIRECTORY, 0);
	if (parent < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "no file %.200s in the workspace", path);
	if (parent < 0)
		return fs_inner_failed(path, err);
	*ret_parent = parent;
	*ret_name = name;
	return 0;
}

int fs_remove_beneath(int dir_fd, const char *path, struct err *err)
{
	cleanup_fd int parent = -1;
	const char *name;

	if (fs_inner_parent(dir_fd, path, &parent, &name, err) < 0)
		return (int)err->code;
	if (unlinkat(parent, name, 0) == 0)
		return 0;
	if (errno == EISDIR && unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "no file %.200s in the workspace", path);
	if (errno == ENOTEMPTY) {
		(void)err_set(err, ERR_INVALID, "the directory %.200s is not empty", path);
		return err_remedy(err, "remove what it holds first");
	}
	return err_sys(err, "remove %.200s", path);
}

int fs_mkdir_parents(const char *path, mode_t mode, struct err *err)
{
	char partial[4096];
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(partial) || path[0] != '/')
		return err_set(err, ERR_INVALID, "not an absolute path: %.200s", path);
	memcpy(partial, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (partial[i] != '/' && partial[i] != '\0')
			continue;
		partial[i] = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST)
			return err_sys(err, "make directory %.200s", partial);
		partial[i] = i < len ? '/' : '\0';
	}
	return 0;
}

int fs_open_beneath(int dir_fd, const char *path, uint64_t flags, mode_t mode)
{
	return fs_inner_open(dir_fd, path, flags, mode);
}

char *fs_join(const char *dir, const char *name, size_t max)
{
	const size_t dir_len = strlen(dir), name_len = strlen(name), slash = dir_len > 0 ? 1 : 0;
	char *path;

	if (dir_len + slash + name_len > max)
		return NULL;
	path = mem_new0(1, dir_len + slash + name_len + 1);
	memcpy(path, dir, dir_len);
	if (slash != 0)
		path[dir_len] = '/';
	memcpy(path + dir_len + slash, name, name_len);
	return path;
}
