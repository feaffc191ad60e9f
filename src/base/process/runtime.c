/*
 * runtime.c - finds a user's directories for sockets and for state.
 *
 * Runs in:  libreckon, reckond, clients of a daemon.
 * Reads:    the environment (XDG_RUNTIME_DIR, RECKON_STATE, XDG_STATE_HOME, HOME).
 * Never:    uses a directory for sockets that other users can write to.
 */
#include "base/process/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int open_own_dir(const char *path, int *ret_fd, struct err *err)
{
	cleanup_fd int fd = -1;
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make directory %.200s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open directory %.200s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		(void)err_set(err, ERR_DENIED, "%.200s is not a directory of yours alone", path);
		return err_remedy(err, "remove it, or make it yours with mode 0700");
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int runtime_dir_open(int *ret_fd, struct err *err)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	char path[4096];
	struct stat st;

	if (geteuid() == 0)
		(void)snprintf(path, sizeof(path), "/run/reckon");
	else
		(void)snprintf(path, sizeof(path), "/tmp/reckon-%u", (unsigned)geteuid());
	/* After `su` or `sudo` the variable may still name another user's directory. */
	if (runtime != NULL && runtime[0] == '/' && strlen(runtime) < sizeof(path) - 16 &&
	    stat(runtime, &st) == 0 && st.st_uid == geteuid())
		(void)snprintf(path, sizeof(path), "%s/reckon", runtime);
	return open_own_dir(path, ret_fd, err);
}

const char *runtime_variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

int runtime_state_dir(const char *given, char *ret, size_t size, struct err *err)
{
	const char *home = runtime_variable("HOME"), *xdg = runtime_variable("XDG_STATE_HOME");
	const char *dir = given != NULL ? given : runtime_variable("RECKON_STATE"), *below = "";
	char here[2048] = "";

	if (dir == NULL && geteuid() == 0) {
		dir = "/var/lib/reckon";
	} else if (dir == NULL && xdg != NULL) {
		dir = xdg;
		below = "/reckon";
	} else if (dir == NULL && home != NULL) {
		dir = home;
		below = "/.local/state/reckon";
	}
	if (dir == NULL) {
		(void)err_set(err, ERR_INVALID, "there is no place for state: HOME is not set");
		return err_remedy(err, "set RECKON_STATE to a directory of yours");
	}
	if (dir[0] != '/' && getcwd(here, sizeof(here)) == NULL)
		return err_sys(err, "find the current directory");
	if (snprintf(ret, size, "%s%s%s%s", here, here[0] != '\0' ? "/" : "", dir, below) >=
	    (int)size)
		return err_set(err, ERR_INVALID, "path too long: %.200s…", dir);
	return 0;
}

void runtime_daemon_name(const char *state_dir, char ret[RUNTIME_NAME_SIZE])
{
	uint64_t hash = 0xcbf29ce484222325u;

	/* FNV-1a: only tells directories apart, not a security measure. */
	for (; *state_dir != '\0'; state_dir++)
		hash = (hash ^ (unsigned char)*state_dir) * 0x100000001b3u;
	(void)snprintf(ret, RUNTIME_NAME_SIZE, "daemon-%016" PRIx64, hash);
}

int runtime_program(const char *path, char ret[RUNTIME_PROGRAM_SIZE], struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(err, "%.200s", path);
	(void)snprintf(ret, RUNTIME_PROGRAM_SIZE, "%lx-%lx-%llx-%lx.%lx", (unsigned long)st.st_dev,
		       (unsigned long)st.st_ino, (unsigned long long)st.st_size,
		       (unsigned long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec);
	return 0;
}

const char *runtime_option(const char *option, const char *variable)
{
	const char *value = option != NULL ? option : getenv(variable);

	return value != NULL && value[0] != '\0' ? value : NULL;
}
