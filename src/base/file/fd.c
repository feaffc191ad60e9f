/*
 * fd.c - descriptors: EINTR-safe input and output, passing, sealed memory files.
 *
 * Runs in:  every process.
 * Reads:    descriptors of the caller; the bytes may be hostile, the lengths are checked.
 * Never:    follows a path.
 */
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define SEAL_TRIES 50
#define SEAL_PAUSE_NS 10000000 /* for most causes Linux waits by itself, too */

ssize_t fd_read_full(int fd, void *bytes, size_t len, struct err *err)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)bytes + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int fd_write_full(int fd, const void *bytes, size_t len, struct err *err)
{
	size_t put = 0;

	while (put < len) {
		ssize_t n = write(fd, (const char *)bytes + put, len - put);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "write");
		put += (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, struct buf *ret, struct err *err)
{
	MEM_UNINIT char chunk[65536];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			return 0;
		if (buf_add(ret, chunk, (size_t)n, err) < 0)
			return (int)err->code;
	}
}

int fd_set_nonblock(int fd, bool on, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0)
		return err_sys(err, "set O_NONBLOCK");
	return 0;
}

int fd_send_msg(int sock, const void *bytes, size_t len, const int *fds, size_t nfds,
		struct err *err)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (nfds > FD_PASS_MAX)
		return err_set(err, ERR_INVALID, "too many descriptors (%zu)", nfds);
	if (nfds > 0) {
		struct cmsghdr *head;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return err_set(err, ERR_TIMEOUT, "peer is not reading");
	if (n < 0)
		return err_sys(err, "send");
	return 0;
}

void fd_close_all(const int *fds, size_t nfds)
{
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
}

ssize_t fd_recv_msg(int sock, void *bytes, size_t len, int *fds, size_t fds_max, size_t *ret_nfds,
		    struct err *err)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	int got[FD_PASS_MAX];
	size_t ngot = 0;
	ssize_t n;

	*ret_nfds = 0;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return err_set(err, ERR_TIMEOUT, "nothing to read");
	if (n < 0)
		return err_sys(err, "receive");
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&msg); head != NULL;
	     head = CMSG_NXTHDR(&msg, head)) {
		size_t count;

		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (count > FD_PASS_MAX - ngot)
			count = FD_PASS_MAX - ngot;
		memcpy(got + ngot, CMSG_DATA(head), count * sizeof(int));
		ngot += count;
	}
	/* An empty packet reads as end of file; then no caller would close its descriptors. */
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || ngot > fds_max ||
	    (n == 0 && ngot > 0)) {
		fd_close_all(got, ngot);
		return err_set(err, ERR_PROTOCOL, "message cut or too many descriptors");
	}
	if (ngot > 0)
		memcpy(fds, got, ngot * sizeof(int));
	*ret_nfds = ngot;
	return n;
}

int fd_seal(int fd, int seals, struct err *err)
{
	const struct timespec pause = { .tv_nsec = SEAL_PAUSE_NS };

	for (int tries = SEAL_TRIES; fcntl(fd, F_ADD_SEALS, seals) < 0; tries--) {
		if (errno != EBUSY || tries == 0)
			return err_sys(err, "seal a memory file");
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int fd_memfd_sealed(const char *name, const void *bytes, size_t len, int *ret_fd, struct err *err)
{
	cleanup_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_sys(err, "memfd_create");
	if (fd_write_full(fd, bytes, len, err) < 0)
		return (int)err->code;
	if (fd_seal(fd, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, err) < 0)
		return (int)err->code;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int fd_read_sealed(int fd, struct buf *ret, struct err *err)
{
	const int want = F_SEAL_WRITE | F_SEAL_SHRINK;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	char *space;
	size_t got = 0, size;

	if (seals < 0 || (seals & want) != want)
		return err_set(err, ERR_PROTOCOL, "a passed memory file is not sealed");
	if (fstat(fd, &st) < 0)
		return err_sys(err, "fstat");
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return err_set(err, ERR_PROTOCOL, "a passed memory file is not a regular file");
	size = (size_t)st.st_size;
	if (buf_reserve(ret, size, &space, err) < 0)
		return (int)err->code;
	while (got < size) {
		ssize_t n = pread(fd, space + got, size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read a memory file");
		if (n == 0)
			return err_set(err, ERR_PROTOCOL, "a sealed memory file is short");
		got += (size_t)n;
	}
	ret->len += size;
	ret->data[ret->len] = '\0';
	return 0;
}

void fd_map(int fd, struct fd_mapping *ret)
{
	struct stat stat;
	void *bytes;

	if (fstat(fd, &stat) < 0 || stat.st_size <= 0)
		return;
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes != MAP_FAILED)
		*ret = (struct fd_mapping){ bytes, (size_t)stat.st_size };
}

void fd_unmap(struct fd_mapping *mapping)
{
	if (mapping->bytes != NULL)
		(void)munmap(mapping->bytes, mapping->len);
}
