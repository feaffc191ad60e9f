/*
 * fence.c - decodes hostile images in a sandboxed child process.
 *
 * Runs in:  reckon; decoder.c in a child process.
 * Reads:    a size and pixels from that child, which is assumed to be compromised.
 * Never:    waits longer than a deadline, or allocates more memory than its limit.
 */
#include "cli/image/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/image/decoder.h"

#define PATIENCE_NS (10ull * 1000000000u)

void image_done(struct image *image)
{
	free(image->rgba);
	memset(image, 0, sizeof(*image));
}

/* Reads exactly `len` bytes. */
static int take(int fd, uint64_t deadline_ns, void *bytes, size_t len, struct err *err)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	size_t at = 0;

	while (at < len) {
		ssize_t n;

		if (clock_mono_ns() >= deadline_ns)
			return err_set(err, ERR_TIMEOUT, "the picture takes too long to decode");
		if (poll(&wait, 1, 100) <= 0)
			continue;
		n = read(fd, (char *)bytes + at, len - at);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return err_set(err, ERR_PROTOCOL, "the picture cannot be decoded");
		at += (size_t)n;
	}
	return 0;
}

int image_receive(int fd, uint64_t deadline_ns, struct image *ret, struct err *err)
{
	cleanup_free unsigned char *rgba = NULL;
	struct image_head head;
	size_t size;

	if (take(fd, deadline_ns, &head, sizeof(head), err) < 0)
		return (int)err->code;
	if (head.magic != IMAGE_MAGIC || head.width == 0 || head.height == 0 ||
	    head.width > IMAGE_SIDE_MAX || head.height > IMAGE_SIDE_MAX)
		return err_set(err, ERR_PROTOCOL, "the picture's size is not allowed");
	size = (size_t)head.width * head.height * 4;
	rgba = malloc(size);
	if (rgba == NULL)
		return err_set(err, ERR_LIMIT, "no memory for a picture of %u × %u", head.width,
			       head.height);
	if (take(fd, deadline_ns, rgba, size, err) < 0)
		return (int)err->code;
	ret->width = head.width;
	ret->height = head.height;
	ret->rgba = TAKE_PTR(rgba);
	return 0;
}

int image_decode_png(const void *png, size_t len, struct image *ret, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1;
	int ends[2], rc;
	sigset_t all, before;
	pid_t pid;

	if (len > IMAGE_PNG_MAX)
		return err_set(err, ERR_LIMIT, "the picture is larger than 32 MiB");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	ours = ends[0];
	theirs = ends[1];
	/* Block signals: our handlers, such as the one for Ctrl-C, must not run in the child. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0)
		image_decoder_main(png, len, theirs);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_sys(err, "fork");
	(void)close(TAKE_FD(theirs));
	rc = image_receive(ours, clock_mono_ns() + PATIENCE_NS, ret, err);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return rc;
}
