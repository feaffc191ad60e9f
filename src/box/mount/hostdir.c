/*
 * hostdir.c - host directories that the user mounts into a box.
 *
 * Runs in:  the warden and short-lived children.
 * Reads:    directory descriptors that the client opened with its own rights.
 * Never:    opens a path that the client could not: the path is looked up again only to get the
 *           mount in our namespace, and must lead to the very same directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "box/mount/hostdir.h"
#include "box/state.h"

bool hostdir_target_is_safe(const char *target)
{
	return memchr(target, '\0', WARDEN_PATH_SIZE) != NULL &&
	       strncmp(target, "/mnt/", 5) == 0 && strcmp(target, "/mnt/data") != 0 &&
	       strncmp(target, "/mnt/data/", 10) != 0 && fs_path_is_safe(target + 1);
}

static int reopen_here(int fd, int *ret, struct stat *ret_st, struct err *err)
{
	char link[64], path[PATH_MAX];
	cleanup_fd int again = -1;
	struct stat st;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || fstat(fd, ret_st) < 0 || !S_ISDIR(ret_st->st_mode))
		return err_set(err, ERR_INVALID, "a mount source is not a directory");
	path[n] = '\0';
	again = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (again < 0 || fstat(again, &st) < 0 || st.st_dev != ret_st->st_dev ||
	    st.st_ino != ret_st->st_ino) {
		(void)err_set(err, ERR_DENIED, "the warden cannot see the directory %.150s", path);
		return err_remedy(err, "run with --private, so that both see the same file system");
	}
	*ret = TAKE_FD(again);
	return 0;
}

/*
 * Makes a user namespace that shows files of the directory's owner as the box's own: the session's
 * host uid owns nothing, so without this the box could not read what only the owner may.
 */
static int owner_map(const struct stat *st, const struct session *session, int *ret,
		     struct err *err)
{
	const pid_t warden_pid = getpid();
	char path[64], line[64];
	int pair[2];
	pid_t pid;
	char byte;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != warden_pid ||
		    unshare(CLONE_NEWUSER) < 0 || write(pair[1], "u", 1) != 1)
			_exit(1);
		(void)close(pair[1]);
		for (;;)
			(void)pause();
	}
	(void)close(pair[1]);
	*ret = -1;
	if (pid > 0 && read(pair[0], &byte, 1) == 1) {
		for (int gid = 0; gid < 2; gid++) {
			cleanup_fd int fd = -1;

			(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid,
				       gid ? "gid_map" : "uid_map");
			(void)snprintf(line, sizeof(line), "%u %u 1", gid ? st->st_gid : st->st_uid,
				       gid ? session->shell.gid : session->shell.uid);
			fd = open(path, O_WRONLY | O_CLOEXEC);
			if (fd < 0 || write(fd, line, strlen(line)) < 0)
				(void)err_sys(err, "map owners");
		}
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		*ret = open(path, O_RDONLY | O_CLOEXEC);
	}
	(void)close(pair[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return *ret < 0 ? err_sys(err, "make a user namespace for a mount") : 0;
}

struct attaching {
	int trees[WARDEN_MOUNTS_MAX];
	const char *targets[WARDEN_MOUNTS_MAX];
	size_t count;
};

static int attach(void *arg, struct err *err)
{
	const struct attaching *attaching = arg;

	return mount_host_dirs(attaching->trees, attaching->targets, attaching->count, err);
}

static int prepare(const struct warden *warden, const struct session *session,
		   const struct warden_mount *mount, int fd, int *ret_tree, struct err *err)
{
	cleanup_fd int dir = -1, map = -1;
	struct stat st;

	if (!hostdir_target_is_safe(mount->target)) {
		(void)err_set(err, ERR_INVALID, "%.150s is not a place for a mount", mount->target);
		return err_remedy(err, "choose a path below /mnt, other than /mnt/data");
	}
	if (reopen_here(fd, &dir, &st, err) < 0)
		return (int)err->code;
	if (!warden->rootless && owner_map(&st, session, &map, err) < 0)
		return (int)err->code;
	return mount_clone_dir(dir, mount->writable != 0, map, ret_tree, err);
}

int hostdir_mount(struct warden *warden, const struct session *session,
		  const struct warden_open *open, const int *fds, struct err *err)
{
	struct attaching attaching = { 0 };
	int code = 0;

	for (uint32_t i = 0; code == 0 && i < open->mount_count; i++) {
		code = prepare(warden, session, &open->mounts[i], fds[i],
			       &attaching.trees[attaching.count], err);
		if (code == 0)
			attaching.targets[attaching.count++] = open->mounts[i].target;
	}
	if (code == 0 && attaching.count > 0)
		code = shell_run_in(&session->shell, attach, &attaching, err);
	for (size_t i = 0; i < attaching.count; i++)
		(void)close(attaching.trees[i]);
	return code;
}
