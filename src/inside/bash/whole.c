/*
 * whole.c - decides whether a cell of bash is complete, by asking bash.
 *
 * Runs in:  the bash kernel.
 * Reads:    the error messages of `bash -n`, which parses the cell and executes nothing.
 * Never:    touches the session's shell.
 */
#include "inside/bash/bash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"

#define COMPLAINTS_MAX 65536u
#define PATIENCE_MS 5000u

/* An odd number of backslashes before the end continues the line. */
static bool is_continued(const char *code, size_t len)
{
	size_t slashes = 0;

	while (slashes < len && code[len - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2 == 1;
}

static int start(int source, int complaints, pid_t *ret_pid, struct err *err)
{
	static char name[] = "bash", no_startup[] = "--norc", parse_only[] = "-n";
	static char locale[] = "LC_ALL=C"; /* its messages are compared below */
	char *const argv[] = { name, no_startup, parse_only, NULL };
	char *const env[] = { locale, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int code;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return err_set(err, ERR_SYSTEM, "no memory to start bash");
	if (posix_spawnattr_init(&attributes) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return err_set(err, ERR_SYSTEM, "no memory to start bash");
	}
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawn_file_actions_adddup2(&actions, source, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, complaints, STDOUT_FILENO);
	code = posix_spawn(ret_pid, "/bin/bash", &actions, &attributes, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	errno = code;
	return code == 0 ? 0 : err_sys(err, "start bash");
}

/* Reads all of the output, but stores only as much as fits. */
static void listen_to(int fd, struct buf *output)
{
	const uint64_t end = clock_mono_ns() + PATIENCE_MS * 1000000ull;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct err err;
	char chunk[1024];
	ssize_t n;

	while (clock_mono_ns() < end) {
		if (poll(&wait, 1, 100) <= 0)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n <= 0 || buf_add(output, chunk, (size_t)n, &err) < 0)
			return;
	}
}

int bash_whole_judge(const char *code, size_t len, const char **ret_status, struct err *err)
{
	cleanup_buf struct buf output = BUF_INIT(COMPLAINTS_MAX);
	cleanup_fd int source = -1, ours = -1, theirs = -1;
	int ends[2], status = 0;
	pid_t pid;

	if (is_continued(code, len)) {
		*ret_status = "incomplete";
		return 0;
	}
	if (fd_memfd_sealed("cell", code, len, &source, err) < 0)
		return (int)err->code;
	if (lseek(source, 0, SEEK_SET) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	ours = ends[0];
	theirs = ends[1];
	if (start(source, theirs, &pid, err) < 0)
		return (int)err->code;
	(void)close(TAKE_FD(theirs));
	listen_to(ours, &output);
	(void)kill(pid, SIGKILL); /* it has ended, or takes too long */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (strstr(buf_text(&output), "unexpected end of file") != NULL ||
	    strstr(buf_text(&output), "unexpected EOF") != NULL ||
	    strstr(buf_text(&output), "delimited by end-of-file") != NULL)
		*ret_status = "incomplete";
	else
		*ret_status = output.len > 0 ? "invalid" : "complete";
	return 0;
}
