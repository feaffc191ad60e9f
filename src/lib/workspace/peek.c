/*
 * peek.c - a reckon-peek at work.
 *
 * Runs in:  libreckon; between fork and exec in a child of it.
 * Reads:    frames of a process that is taken for captured.
 * Never:    waits longer than it said, or lets a peek outlive its archive.
 */
#include "lib/workspace/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "lib/launch.h"

#define SILENCE_S 30			      /* between two frames */
#define PATIENCE_NS (180ull * 1000000000ull) /* of all of it */

/* Between fork and exec of a program that may have threads: only what is safe there. */
static void __attribute__((noreturn)) become(const char *path, char *const *argv, int sock,
					     int file)
{
	static char *const environment[] = { NULL };
	const int high_sock = fcntl(sock, F_DUPFD, 10);
	const int high_file = fcntl(file, F_DUPFD, 10);
	const int null_fd = open("/dev/null", O_RDWR);

	child_reset_signals(0);
	if (high_sock < 0 || high_file < 0 || null_fd < 0 || dup2(null_fd, 0) < 0 ||
	    dup2(null_fd, 1) < 0 || dup2(high_sock, PEEK_FD) < 0 ||
	    dup2(high_file, PEEK_FILE_FD) < 0 || close_range(PEEK_FILE_FD + 1, ~0u, 0) < 0)
		_exit(126);
	(void)execve(path, argv, environment);
	_exit(127);
}

static int start(struct peek *peek, int file, const char *format, struct err *err)
{
	const struct timeval silence = { .tv_sec = SILENCE_S };
	char name[] = "reckon-peek", unpack[] = "unpack", pack[] = "pack", kind[16] = "";
	char *argv[] = { name, format == NULL ? unpack : pack, format != NULL ? kind : NULL, NULL };
	cleanup_free char *path = NULL;
	cleanup_fd int theirs = -1;
	int pair[2];

	if (launch_find_beside("reckon-peek", &path, err) < 0)
		return (int)err->code;
	(void)snprintf(kind, sizeof(kind), "%s", format != NULL ? format : "");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	peek->sock = pair[0];
	theirs = pair[1];
	if (setsockopt(peek->sock, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) < 0 ||
	    setsockopt(peek->sock, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence)) < 0)
		return err_sys(err, "setsockopt");
	peek->pid = fork();
	if (peek->pid < 0)
		return err_sys(err, "fork");
	if (peek->pid == 0)
		become(path, argv, theirs, file);
	return 0;
}

int peek_new(int file, const char *format, struct peek **ret, struct err *err)
{
	cleanup_peek struct peek *peek = mem_new0(1, sizeof(*peek));

	peek->pid = -1;
	peek->sock = -1;
	peek->deadline_ns = clock_mono_ns() + PATIENCE_NS;
	if (start(peek, file, format, err) < 0 || peek_next(peek, err) < 0)
		return (int)err->code;
	if (format != NULL)
		peek->state = PEEK_STATE_PACKING;
	*ret = TAKE_PTR(peek);
	return 0;
}

void peek_free(struct peek *peek)
{
	if (peek == NULL)
		return;
	if (peek->sock >= 0)
		(void)close(peek->sock);
	if (peek->pid > 0) {
		(void)kill(peek->pid, SIGKILL);
		while (waitpid(peek->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(peek);
}

void peek_freep(struct peek **peek)
{
	peek_free(*peek);
}

static int too_slow(struct err *err)
{
	(void)err_set(err, ERR_LIMIT, "the archive takes too long");
	return err_remedy(err, "use a smaller one, or one that is not compressed as much");
}

int peek_next(struct peek *peek, struct err *err)
{
	size_t nfds;
	ssize_t n;

	if (clock_mono_ns() >= peek->deadline_ns)
		return too_slow(err);
	n = fd_recv_msg(peek->sock, peek->frame, sizeof(peek->frame), NULL, 0, &nfds, err);
	if (n == ERR_TIMEOUT)
		return too_slow(err);
	if (n < 0)
		return err_wrap(err, "reckon-peek");
	/* Killed by a bound of its fence, or by what it read. */
	if (n == 0)
		return err_set(err, ERR_INVALID, "the archive could not be read to its end: it "
			       "needs too much, or is made to break what reads it");
	if (peek_take(&peek->state, peek->frame, (size_t)n, &peek->taken, err) < 0)
		return (int)err->code;
	if (peek->taken.type == PEEK_FAIL) {
		*err = peek->taken.fail;
		return (int)err->code;
	}
	return 0;
}

/* What it had to say before it closed its end. */
static int send_failed(struct peek *peek, struct err *err)
{
	struct err said;

	if (err->code == ERR_TIMEOUT)
		return too_slow(err);
	if (peek_next(peek, &said) < 0)
		*err = said;
	return (int)err->code;
}

int peek_add(struct peek *peek, const struct peek_entry *entry, const char *path,
	     const char *target, int fd, struct err *err)
{
	const size_t len = peek_put_entry(peek->frame, PEEK_ADD, entry, path, target);

	if (clock_mono_ns() >= peek->deadline_ns)
		return too_slow(err);
	if (fd_send_msg(peek->sock, peek->frame, len, &fd, fd >= 0 ? 1 : 0, err) < 0)
		return send_failed(peek, err);
	return 0;
}

int peek_finish(struct peek *peek, struct err *err)
{
	const size_t len = peek_put(peek->frame, PEEK_FINISH, NULL, 0);

	if (fd_send_msg(peek->sock, peek->frame, len, NULL, 0, err) < 0)
		return send_failed(peek, err);
	return peek_next(peek, err);
}
