/*
 * fd.h - descriptors: EINTR-safe input and output, passing, sealed memory files.
 *
 * All descriptors are created close-on-exec.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Reads or writes all of `len`; reading returns the bytes got (short only at end of file). */
ssize_t fd_read_full(int fd, void *bytes, size_t len, struct err *err);
int fd_write_full(int fd, const void *bytes, size_t len, struct err *err);

/* Appends everything up to end of file, bounded by the buffer's ceiling. */
int fd_read_all(int fd, struct buf *ret, struct err *err);

void fd_close_all(const int *fds, size_t nfds);

int fd_set_nonblock(int fd, bool on, struct err *err);

/*
 * One SOCK_SEQPACKET message with up to FD_PASS_MAX descriptors.
 * fd_send_msg: EAGAIN on a non-blocking socket is ERR_TIMEOUT.
 * fd_recv_msg returns the length, 0 at end of file. Received descriptors are close-on-exec;
 * *ret_nfds says how many. A message that was cut, or that carried more descriptors than
 * `fds_max`, is ERR_PROTOCOL and its descriptors are closed. On a non-blocking socket with
 * nothing to read the result is ERR_TIMEOUT.
 */
#define FD_PASS_MAX 16
int fd_send_msg(int sock, const void *bytes, size_t len, const int *fds, size_t nfds,
		struct err *err);
ssize_t fd_recv_msg(int sock, void *bytes, size_t len, int *fds, size_t fds_max, size_t *ret_nfds,
		    struct err *err);

/*
 * F_ADD_SEALS. It fails with EBUSY while the system holds a page of the file (to move or write it);
 * fd_seal() then retries for at least half a second.
 */
int fd_seal(int fd, int seals, struct err *err);
/* Creates a memory file with these bytes, sealed against write, shrink and growth. */
int fd_memfd_sealed(const char *name, const void *bytes, size_t len, int *ret_fd, struct err *err);

/* A read-only mapping of a file; len is 0 for an empty file, or if it cannot be mapped. */
struct fd_mapping {
	void *bytes;
	size_t len;
};
void fd_map(int fd, struct fd_mapping *ret); /* *ret must be zeroed */
void fd_unmap(struct fd_mapping *mapping);
#define cleanup_fd_mapping __attribute__((cleanup(fd_unmap)))

/*
 * Copies a memory file that a peer passed into `ret`. ERR_PROTOCOL: it is not a regular file sealed
 * against write and shrink; ERR_LIMIT: it exceeds the ceiling.
 */
int fd_read_sealed(int fd, struct buf *ret, struct err *err);
