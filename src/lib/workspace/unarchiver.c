/*
 * unarchiver.c - starts a reckon-unarchiver and exchanges frames with it.
 *
 * Runs in:  libreckon; between fork and exec in a child process.
 * Reads:    frames of a process that is assumed to be compromised.
 * Never:    waits longer than its limits, or lets the process outlive its archive.
 */
#include "lib/workspace/unarchiver.h"

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

#define SILENCE_S 30			      /* longest wait for a frame */
#define PATIENCE_NS (180ull * 1000000000ull) /* longest time for a whole archive */

/* Runs between fork and exec of a program that may have threads: only async-signal-safe calls. */
static void __attribute__((noreturn)) become(const char *path, char *const *argv, int sock,
					     int file)
{
	static char *const environment[] = { NULL };
	const int high_sock = fcntl(sock, F_DUPFD, 10);
	const int high_file = fcntl(file, F_DUPFD, 10);
	const int null_fd = open("/dev/null", O_RDWR);

	child_reset_signals(0);
	if (high_sock < 0 || high_file < 0 || null_fd < 0 || dup2(null_fd, 0) < 0 ||
	    dup2(null_fd, 1) < 0 || dup2(high_sock, UNARCHIVER_FD) < 0 ||
	    dup2(high_file, UNARCHIVER_FILE_FD) < 0 ||
	    close_range(UNARCHIVER_FILE_FD + 1, ~0u, 0) < 0)
		_exit(126);
	(void)execve(path, argv, environment);
	_exit(127);
}

static int start(struct unarchiver *unarchiver, int file, const char *format, struct err *err)
{
	const struct timeval silence = { .tv_sec = SILENCE_S };
	char name[] = "reckon-unarchiver", unpack[] = "unpack", pack[] = "pack", kind[16] = "";
	char *argv[] = { name, format == NULL ? unpack : pack, format != NULL ? kind : NULL, NULL };
	cleanup_free char *path = NULL;
	cleanup_fd int theirs = -1;
	int pair[2];

	if (launch_find_sibling("reckon-unarchiver", &path, err) < 0)
		return (int)err->code;
	(void)snprintf(kind, sizeof(kind), "%s", format != NULL ? format : "");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	unarchiver->sock = pair[0];
	theirs = pair[1];
	if (setsockopt(unarchiver->sock, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) < 0 ||
	    setsockopt(unarchiver->sock, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence)) < 0)
		return err_sys(err, "setsockopt");
	unarchiver->pid = fork();
	if (unarchiver->pid < 0)
		return err_sys(err, "fork");
	if (unarchiver->pid == 0)
		become(path, argv, theirs, file);
	return 0;
}

int unarchiver_new(int file, const char *format, struct unarchiver **ret, struct err *err)
{
	cleanup_unarchiver struct unarchiver *unarchiver = mem_new0(1, sizeof(*unarchiver));

	unarchiver->pid = -1;
	unarchiver->sock = -1;
	unarchiver->deadline_ns = clock_mono_ns() + PATIENCE_NS;
	if (start(unarchiver, file, format, err) < 0 || unarchiver_next(unarchiver, err) < 0)
		return (int)err->code;
	if (format != NULL)
		unarchiver->state = UNARCHIVER_STATE_PACKING;
	*ret = TAKE_PTR(unarchiver);
	return 0;
}

void unarchiver_free(struct unarchiver *unarchiver)
{
	if (unarchiver == NULL)
		return;
	if (unarchiver->sock >= 0)
		(void)close(unarchiver->sock);
	if (unarchiver->pid > 0) {
		(void)kill(unarchiver->pid, SIGKILL);
		while (waitpid(unarchiver->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(unarchiver);
}

void unarchiver_freep(struct unarchiver **unarchiver)
{
	unarchiver_free(*unarchiver);
}

static int too_slow(struct err *err)
{
	(void)err_set(err, ERR_LIMIT, "the archive takes too long");
	return err_remedy(err, "use a smaller one, or one that is not compressed as much");
}

int unarchiver_next(struct unarchiver *unarchiver, struct err *err)
{
	size_t nfds;
	ssize_t n;

	if (clock_mono_ns() >= unarchiver->deadline_ns)
		return too_slow(err);
	n = fd_recv_msg(unarchiver->sock, unarchiver->frame, sizeof(unarchiver->frame), NULL, 0,
			&nfds, err);
	if (n == ERR_TIMEOUT)
		return too_slow(err);
	if (n < 0)
		return err_wrap(err, "reckon-unarchiver");
	/* A limit of its sandbox killed it, or the archive did. */
	if (n == 0)
		return err_set(err, ERR_INVALID, "the archive could not be read to its end: it "
			       "needs too much, or is made to break what reads it");
	if (unarchiver_take(&unarchiver->state, unarchiver->frame, (size_t)n, &unarchiver->taken,
			    err) < 0)
		return (int)err->code;
	if (unarchiver->taken.type == UNARCHIVER_FAIL) {
		*err = unarchiver->taken.fail;
		return (int)err->code;
	}
	return 0;
}

/* Reads the error that it may have sent before it closed its end. */
static int send_failed(struct unarchiver *unarchiver, struct err *err)
{
	struct err reported;

	if (err->code == ERR_TIMEOUT)
		return too_slow(err);
	if (unarchiver_next(unarchiver, &reported) < 0)
		*err = reported;
	return (int)err->code;
}

int unarchiver_add(struct unarchiver *unarchiver, const struct unarchiver_entry *entry,
		   const char *path, const char *target, int fd, struct err *err)
{
	const size_t len =
		unarchiver_put_entry(unarchiver->frame, UNARCHIVER_ADD, entry, path, target);

	if (clock_mono_ns() >= unarchiver->deadline_ns)
		return too_slow(err);
	if (fd_send_msg(unarchiver->sock, unarchiver->frame, len, &fd, fd >= 0 ? 1 : 0, err) < 0)
		return send_failed(unarchiver, err);
	return 0;
}

int unarchiver_finish(struct unarchiver *unarchiver, struct err *err)
{
	const size_t len = unarchiver_put(unarchiver->frame, UNARCHIVER_FINISH, NULL, 0);

	if (fd_send_msg(unarchiver->sock, unarchiver->frame, len, NULL, 0, err) < 0)
		return send_failed(unarchiver, err);
	return unarchiver_next(unarchiver, err);
}
