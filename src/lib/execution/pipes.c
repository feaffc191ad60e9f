/*
 * pipes.c - pipes to and from programs.
 *
 * Runs in:  libreckon, while an execution runs.
 * Reads:    bytes of hostile programs, only to forward or count them.
 * Never:    blocks, or reads without a bound.
 */
#include "lib/execution/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"

int pipe_new_from_box(int *ret_ours, int *ret_theirs, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) { /* a pipe has no other flags to preserve */
		(void)err_sys(err, "pipe");
		(void)close(ends[0]);
		(void)close(ends[1]);
		return (int)err->code;
	}
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return 0;
}

size_t pipe_pending(int fd)
{
	int pending = 0;

	return ioctl(fd, FIONREAD, &pending) == 0 && pending > 0 ? (size_t)pending : 0;
}

int pipe_take(int fd, size_t len, pipe_sink_fn *sink, void *arg)
{
	MEM_UNINIT char chunk[65536];
	/* Even if nothing is pending, one read must distinguish "empty" from "ended". */
	size_t left = len > 0 ? len : 1;

	while (left > 0) {
		ssize_t n = read(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		if (n == 0)
			return 0;
		sink(chunk, (size_t)n, arg);
		left -= (size_t)n;
	}
	return 1;
}

int pipe_drain(int fd, pipe_sink_fn *sink, void *arg)
{
	return pipe_take(fd, pipe_pending(fd), sink, arg);
}

void stray_add(struct stray_set *set, int fd)
{
	if (set->count == STRAYS_MAX) {
		(void)close(set->fd[0]);
		memmove(set->fd, set->fd + 1, (STRAYS_MAX - 1) * sizeof(set->fd[0]));
		set->count--;
	}
	set->fd[set->count++] = fd;
}

static void count_bytes(const char *bytes, size_t len, void *arg)
{
	(void)bytes;
	((struct stray_set *)arg)->bytes += len;
}

void stray_drain(struct stray_set *set)
{
	size_t remaining = 0;

	for (size_t i = 0; i < set->count; i++) {
		if (pipe_drain(set->fd[i], count_bytes, set) > 0)
			set->fd[remaining++] = set->fd[i];
		else
			(void)close(set->fd[i]);
	}
	set->count = remaining;
}

uint64_t stray_take_bytes(struct stray_set *set)
{
	const uint64_t bytes = set->bytes;

	set->bytes = 0;
	return bytes;
}

void stray_done(struct stray_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		(void)close(set->fd[i]);
	set->count = 0;
}

/* O_NONBLOCK belongs to an open pipe end: do not change the program's own. */
static int open_peek(struct feed *feed, struct err *err)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", feed->theirs);
	feed->unarchiver = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return feed->unarchiver < 0 ? err_sys(err, "open a pipe anew") : 0;
}

int feed_open(struct feed *feed, int source, struct err *err)
{
	int ends[2];

	feed->source = source;
	feed->target = feed->theirs = feed->unarchiver = -1;
	feed->len = feed->at = 0;
	feed->is_lent = false;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	feed->theirs = ends[0];
	feed->target = ends[1];
	if (fd_set_nonblock(feed->target, true, err) < 0 || open_peek(feed, err) < 0) {
		feed_close(feed);
		return (int)err->code;
	}
	if (source < 0)
		(void)close(TAKE_FD(feed->target));
	return 0;
}

void feed_lend(struct feed *feed, int theirs, int unarchiver)
{
	feed->source = feed->target = -1;
	feed->theirs = theirs;
	feed->unarchiver = unarchiver;
	feed->len = feed->at = 0;
	feed->is_lent = true;
}

void feed_close(struct feed *feed)
{
	if (feed->is_lent)
		feed->theirs = feed->unarchiver = -1;
	if (feed->theirs >= 0)
		(void)close(TAKE_FD(feed->theirs));
	if (feed->unarchiver >= 0)
		(void)close(TAKE_FD(feed->unarchiver));
	if (feed->target >= 0)
		(void)close(TAKE_FD(feed->target));
}

size_t feed_poll(const struct feed *feed, struct pollfd *ret)
{
	if (feed->target < 0)
		return 0;
	if (feed->at < feed->len)
		ret[0] = (struct pollfd){ .fd = feed->target, .events = POLLOUT };
	else
		ret[0] = (struct pollfd){ .fd = feed->source, .events = POLLIN };
	return 1;
}

static void feed_read(struct feed *feed)
{
	ssize_t n = read(feed->source, feed->bytes, sizeof(feed->bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	feed->at = 0;
	feed->len = n > 0 ? (size_t)n : 0;
	if (n <= 0) {
		feed->source = -1;
		(void)close(TAKE_FD(feed->target));
	}
}

void feed_move(struct feed *feed, const struct pollfd *polled, size_t count)
{
	ssize_t n;

	if (count == 0 || polled[0].revents == 0 || feed->target < 0)
		return;
	if (feed->at >= feed->len)
		feed_read(feed);
	if (feed->target < 0 || feed->at >= feed->len)
		return;
	n = write(feed->target, feed->bytes + feed->at, feed->len - feed->at);
	if (n > 0)
		feed->at += (size_t)n;
}

int feed_read_line(struct feed *feed, struct buf *line, struct err *err)
{
	for (;;) {
		char byte;
		ssize_t n;

		/* A line beyond the ceiling is returned in pieces. */
		if (line->len == line->max)
			return 1;
		n = read(feed->unarchiver, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return 0;
		if (n == 0)
			return line->len > 0 ? 1 : err_set(err, ERR_NOT_FOUND, "end of input");
		if (byte == '\n' || buf_addc(line, byte, err) < 0)
			return 1;
	}
}
