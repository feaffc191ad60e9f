/*
 * crash.c - kills a daemon at a chosen change of its state directory, or logs all changes.
 *
 * Runs in:  reckond alone, by LD_PRELOAD; every other program passes through untouched.
 * Reads:    RECKON_CRASH_DIR: the state directory. RECKON_CRASH_AT: the number of the change before
 *           which the process is killed. RECKON_CRASH_LOG: a file with a line for each change.
 * Never:    changes the effect of a call.
 *
 * If the chosen change is a write, crash.c writes only the first half, as when the process is
 * killed during the write or the disk is full.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_long count;
static long crash_at;
static int log_fd = -1;
static char dir[PATH_MAX];
static size_t dir_len;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("RECKON_CRASH_AT"), *path = getenv("RECKON_CRASH_DIR");
	const char *log = getenv("RECKON_CRASH_LOG");
	char self[PATH_MAX];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 8 || path == NULL || strncmp(self + len - 8, "/reckond", 8) != 0)
		return;
	(void)snprintf(dir, sizeof(dir), "%s", path);
	dir_len = strlen(dir);
	crash_at = at != NULL ? atol(at) : 0;
	if (log != NULL)
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* The path of a descriptor or name, "" if it is not below the directory. */
static void path_of(int fd, const char *name, char ret[PATH_MAX])
{
	char link[64], base[PATH_MAX] = "";
	ssize_t len = 0;

	ret[0] = '\0';
	if (name == NULL || name[0] != '/') {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = fd == AT_FDCWD ? -1 : readlink(link, base, sizeof(base) - 1);
		if (len <= 0)
			return;
		base[len] = '\0';
	}
	if (snprintf(ret, PATH_MAX, "%s%s%s", base, name != NULL && len > 0 ? "/" : "",
		     name != NULL ? name : "") >= PATH_MAX ||
	    dir_len == 0 || strncmp(ret, dir, dir_len) != 0 || strstr(ret, "db-shm") != NULL)
		ret[0] = '\0';
}

static void note(const char *what, const char *path, const char *to)
{
	char line[2 * PATH_MAX + 64];
	int len;

	if (log_fd < 0)
		return;
	len = snprintf(line, sizeof(line), "%s %s%s%s\n", what, path + dir_len + 1,
		       to != NULL ? " " : "", to != NULL ? to + dir_len + 1 : "");
	(void)syscall(SYS_write, log_fd, line, (size_t)len);
}

/* Whether this is the chosen change; then the caller must end the process. */
static bool is_chosen(const char *path)
{
	return path[0] != '\0' && crash_at > 0 && atomic_fetch_add(&count, 1) + 1 == crash_at;
}

__attribute__((noreturn)) static void end(void)
{
	(void)kill(getpid(), SIGKILL);
	for (;;)
		(void)pause();
}

static void change(const char *what, const char *path, const char *to)
{
	if (is_chosen(path))
		end();
	if (path[0] != '\0')
		note(what, path, to);
}

#define REAL(name) \
	static __typeof__(name) *real; \
	if (real == NULL) \
		real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static size_t half(int fd, size_t len, char path[PATH_MAX], bool *ret_ends)
{
	const int before = errno;

	path_of(fd, NULL, path);
	errno = before;
	*ret_ends = is_chosen(path);
	if (!*ret_ends && path[0] != '\0')
		note("write", path, NULL);
	return *ret_ends ? len / 2 : len;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t len)
{
	char path[PATH_MAX];
	ssize_t done;
	bool ends;

	REAL(write);
	done = real(fd, bytes, half(fd, len, path, &ends));
	if (ends)
		end();
	return done;
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	char path[PATH_MAX];
	ssize_t done;
	bool ends;

	REAL(pwrite64);
	done = real(fd, bytes, half(fd, len, path, &ends), at);
	if (ends)
		end();
	return done;
}

static void sync_of(const char *what, int fd)
{
	char path[PATH_MAX];

	path_of(fd, NULL, path);
	change(what, path, NULL);
}

EXPORT int fsync(int fd)
{
	REAL(fsync);
	sync_of("sync", fd);
	return real(fd);
}

EXPORT int fdatasync(int fd)
{
	REAL(fdatasync);
	sync_of("sync", fd);
	return real(fd);
}

EXPORT int syncfs(int fd)
{
	REAL(syncfs);
	sync_of("syncfs", fd);
	return real(fd);
}

EXPORT int ftruncate64(int fd, off64_t len)
{
	char path[PATH_MAX];

	REAL(ftruncate64);
	path_of(fd, NULL, path);
	change("truncate", path, NULL);
	return real(fd, len);
}

EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	char path[PATH_MAX], other[PATH_MAX];

	REAL(renameat);
	path_of(from_fd, from, path);
	path_of(to_fd, to, other);
	change("rename", path, other);
	return real(from_fd, from, to_fd, to);
}

EXPORT int unlinkat(int fd, const char *name, int flags)
{
	char path[PATH_MAX];

	REAL(unlinkat);
	path_of(fd, name, path);
	change("unlink", path, NULL);
	return real(fd, name, flags);
}

EXPORT int unlink(const char *name)
{
	char path[PATH_MAX];

	REAL(unlink);
	path_of(AT_FDCWD, name, path);
	change("unlink", path, NULL);
	return real(name);
}
