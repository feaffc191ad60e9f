/*
 * closed_twice.c - finds descriptors that a program closes twice, or uses after closing them.
 *
 * Runs in:  a program under test, by LD_PRELOAD; it ignores child processes.
 * Reads:    the environment: CLOSED_TWICE_FILE names the file for reports with stack traces.
 * Never:    lets Linux reuse a closed number at once.
 *
 * A second close() often has no visible error: another thread has got the same number meanwhile,
 * and its file is closed. So the number stays in use, by an O_PATH descriptor, until QUARANTINE
 * others have been closed.
 */
#undef _FILE_OFFSET_BITS /* would rename some functions to others that this file defines as well */
#undef _FORTIFY_SOURCE /* would define some of these functions inline */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define SAME_AS(name) __attribute__((visibility("default"), alias(#name)))
#define QUARANTINE 512
#define NUMBERS 65536
#define STACK_MAX 24

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_closed[NUMBERS];
static int quarantine[QUARANTINE];
static size_t next;
static int nothing = -1;
static pid_t owner;
static char report_path[4096];

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOSED_TWICE_FILE");
	void *stack[1];

	if (path == NULL)
		return;
	(void)snprintf(report_path, sizeof(report_path), "%s", path);
	(void)backtrace(stack, 1); /* loads libgcc now, not inside a close() */
	for (size_t i = 0; i < QUARANTINE; i++)
		quarantine[i] = -1;
	nothing = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_PATH | O_CLOEXEC);
	owner = getpid();
}

/* False in a child process, which shares the memory after vfork() or may have a locked mutex. */
static bool is_watched(void)
{
	return nothing >= 0 && getpid() == owner;
}

static void report(const char *what, int fd)
{
	void *stack[STACK_MAX];
	const int count = backtrace(stack, STACK_MAX), before = errno;
	const int to = (int)syscall(SYS_openat, AT_FDCWD, report_path,
				    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	char line[128];
	const int len = snprintf(line, sizeof(line), "%s: descriptor %d\n", what, fd);

	if (to >= 0) {
		(void)syscall(SYS_write, to, line, (size_t)len);
		backtrace_symbols_fd(stack, count, to);
		(void)syscall(SYS_close, to);
	}
	errno = before;
}

static bool was_closed(int fd)
{
	return fd >= 0 && fd < NUMBERS && atomic_load(&is_closed[fd]);
}

static void check(const char *what, int fd)
{
	if (was_closed(fd) && is_watched())
		report(what, fd);
}

/* Puts a number into quarantine, and releases the one that was closed the longest time ago. */
static void keep(int fd)
{
	const int oldest = quarantine[next];

	quarantine[next] = fd;
	next = (next + 1) % QUARANTINE;
	atomic_store(&is_closed[fd], true);
	if (oldest >= 0 && atomic_exchange(&is_closed[oldest], false))
		(void)syscall(SYS_close, oldest);
}

static int close_watched(int fd)
{
	if (was_closed(fd) || syscall(SYS_fcntl, fd, F_GETFD) < 0) {
		report("closed twice", fd);
		errno = EBADF;
		return -1;
	}
	while (syscall(SYS_dup3, nothing, fd, O_CLOEXEC) < 0)
		if (errno != EBUSY && errno != EINTR)
			return -1;
	keep(fd);
	return 0;
}

SHOWN int close(int fd)
{
	int code;

	if (!is_watched() || fd >= NUMBERS)
		return (int)syscall(SYS_close, fd);
	(void)pthread_mutex_lock(&lock);
	code = close_watched(fd);
	(void)pthread_mutex_unlock(&lock);
	return code;
}

static int dup_to(int from, int to, int flags)
{
	int code;

	check("duplicated after it was closed", from);
	if (!is_watched() || to >= NUMBERS || to < 0)
		return (int)syscall(SYS_dup3, from, to, flags);
	(void)pthread_mutex_lock(&lock);
	code = (int)syscall(SYS_dup3, from, to, flags);
	if (code >= 0)
		atomic_store(&is_closed[to], false);
	(void)pthread_mutex_unlock(&lock);
	return code;
}

SHOWN int dup3(int from, int to, int flags)
{
	return dup_to(from, to, flags);
}

SHOWN int dup2(int from, int to)
{
	return from == to ? to : dup_to(from, to, 0);
}

SHOWN int dup(int fd)
{
	check("duplicated after it was closed", fd);
	return (int)syscall(SYS_dup, fd);
}

static int control(int fd, int command, void *arg)
{
	check(command == F_DUPFD || command == F_DUPFD_CLOEXEC ? "duplicated after it was closed"
								: "controlled after it was closed",
	      fd);
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

SHOWN int fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return control(fd, command, arg);
}

int fcntl64(int fd, int command, ...) SAME_AS(fcntl);

SHOWN ssize_t read(int fd, void *bytes, size_t len)
{
	check("read after it was closed", fd);
	return syscall(SYS_read, fd, bytes, len);
}

SHOWN ssize_t write(int fd, const void *bytes, size_t len)
{
	check("written after it was closed", fd);
	return syscall(SYS_write, fd, bytes, len);
}

SHOWN ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
	check("read after it was closed", fd);
	return syscall(SYS_pread64, fd, bytes, len, at);
}

ssize_t pread64(int fd, void *bytes, size_t len, off_t at) SAME_AS(pread);

SHOWN ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	check("written after it was closed", fd);
	return syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at) SAME_AS(pwrite);

SHOWN off_t lseek(int fd, off_t at, int whence)
{
	check("sought in after it was closed", fd);
	return syscall(SYS_lseek, fd, at, whence);
}

off_t lseek64(int fd, off_t at, int whence) SAME_AS(lseek);

SHOWN ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	check("sent on after it was closed", fd);
	return syscall(SYS_sendmsg, fd, msg, flags);
}

SHOWN ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	check("received on after it was closed", fd);
	return syscall(SYS_recvmsg, fd, msg, flags);
}
