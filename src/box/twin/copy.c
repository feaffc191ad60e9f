/*
 * copy.c - copies the files of a session that is branched.
 *
 * Runs in:  a short-lived child of the warden; for an empty workspace there is none.
 * Reads:    a tree that user code has made: every name is opened relative to its directory,
 *           without following links; sizes are bounded by the quota of the target.
 * Never:    leaves the two workspaces.
 */
#include "box/twin/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/text.h"

#define DEPTH_MAX 256

struct copying {
	uid_t uid;
	gid_t gid;
};

static int copy_bytes(int in, int out, off_t size, struct err *err)
{
	off_t at = 0;

	/* Holes stay holes: a sparse file takes only what its data takes. */
	while (at < size) {
		off_t data = lseek(in, at, SEEK_DATA);
		off_t hole = data >= 0 ? lseek(in, data, SEEK_HOLE) : -1;

		if (data < 0)
			break;
		if (hole < 0 || hole > size)
			hole = size;
		if (lseek(out, data, SEEK_SET) < 0)
			return err_sys(err, "seek in a copy");
		for (off_t from = data; from < hole;) {
			ssize_t n = sendfile(out, in, &from, (size_t)(hole - from));

			if (n < 0)
				return err_sys(err, "copy a file");
			if (n == 0)
				break;
		}
		at = hole;
	}
	return ftruncate(out, size) < 0 ? err_sys(err, "size a copy") : 0;
}

static int copy_file(int from, int to, const char *name, struct err *err)
{
	cleanup_fd int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	cleanup_fd int out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		return err_sys(err, "open a file of the workspace");
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return err_sys(err, "create a copy");
	return copy_bytes(in, out, st.st_size, err);
}

static int copy_link(int from, int to, const char *name, struct err *err)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(from, name, text, sizeof(text) - 1);

	if (n < 0)
		return err_sys(err, "read a symbolic link");
	text[n] = '\0';
	return symlinkat(text, to, name) < 0 ? err_sys(err, "copy a symbolic link") : 0;
}

/* Sets the owner, then the mode (a new owner clears set-id bits, which nosuid ignores), then
 * times. */
static int copy_attributes(const struct copying *copying, int to, const char *name,
			   const struct stat *st, struct err *err)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (fchownat(to, name, copying->uid, copying->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "give a copy to its session");
	if (!S_ISLNK(st->st_mode) && fchmodat(to, name, st->st_mode & 07777, 0) < 0)
		return err_sys(err, "set the mode of a copy");
	(void)utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static int copy_tree(const struct copying *copying, int from, int to, int depth, struct err *err);

static int copy_dir(const struct copying *copying, int from, int to, const char *name, int depth,
		    struct err *err)
{
	cleanup_fd int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int out = -1;

	if (depth >= DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "the workspace is nested deeper than %d", DEPTH_MAX);
	if (in < 0 || mkdirat(to, name, 0700) < 0)
		return err_sys(err, "copy a directory");
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return err_sys(err, "open a copied directory");
	return copy_tree(copying, in, out, depth + 1, err);
}

static int copy_entry(const struct copying *copying, int from, int to, const char *name, int depth,
		      struct err *err)
{
	struct stat st;
	int code;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "look at a file of the workspace");
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		code = copy_file(from, to, name, err);
		break;
	case S_IFDIR:
		code = copy_dir(copying, from, to, name, depth, err);
		break;
	case S_IFLNK:
		code = copy_link(from, to, name, err);
		break;
	case S_IFIFO:
		code = mkfifoat(to, name, 0600) < 0 ? err_sys(err, "copy a FIFO") : 0;
		break;
	default:
		return 0; /* sockets belong to processes that the copy does not have */
	}
	return code < 0 ? code : copy_attributes(copying, to, name, &st, err);
}

static int copy_tree(const struct copying *copying, int from, int to, int depth, struct err *err)
{
	int dup_fd = fcntl(from, F_DUPFD_CLOEXEC, 0);
	cleanup_dir DIR *dir = dup_fd >= 0 ? fdopendir(dup_fd) : NULL;
	struct dirent *entry;

	if (dir == NULL)
		return err_sys(err, "read a directory of the workspace");
	while ((entry = readdir(dir)) != NULL) {
		if (text_is_dots(entry->d_name))
			continue;
		if (copy_entry(copying, from, to, entry->d_name, depth, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int open_workspace(const struct shell *shell, int *ret, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/data", (int)shell->init);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? err_sys(err, "open the workspace of a box") : 0;
}

static bool is_empty(int fd)
{
	int dup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	cleanup_dir DIR *dir = dup_fd >= 0 ? fdopendir(dup_fd) : NULL;
	struct dirent *entry;
	int entries = 0;

	while (dir != NULL && entries <= 2 && (entry = readdir(dir)) != NULL)
		entries++; /* "." and ".." are two */
	if (dir != NULL)
		rewinddir(dir); /* the duplicate shares its position with `fd` */
	return dir != NULL && entries <= 2;
}

int copy_workspace(const struct shell *from, const struct shell *to, struct err *err)
{
	const struct copying copying = { .uid = to->uid, .gid = to->gid };
	cleanup_fd int source = -1, target = -1, ours = -1;
	struct err report = { 0 };
	int pair[2];
	pid_t pid;
	ssize_t n;

	if (open_workspace(from, &source, err) < 0 || open_workspace(to, &target, err) < 0)
		return (int)err->code;
	if (is_empty(source))
		return 0;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	ours = pair[0];
	pid = fork();
	if (pid == 0) {
		(void)copy_tree(&copying, source, target, 0, &report);
		_exit(write(pair[1], &report, sizeof(report)) < 0);
	}
	(void)close(pair[1]);
	if (pid < 0)
		return err_sys(err, "fork");
	n = fd_read_full(ours, &report, sizeof(report), err);
	(void)waitpid(pid, NULL, 0);
	if (n != (ssize_t)sizeof(report))
		return err_set(err, ERR_SYSTEM, "copying the workspace ended early");
	if (report.code != ERR_OK)
		*err = report;
	return (int)report.code;
}
