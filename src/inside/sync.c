/*
 * sync.c - a kernel waits until the host has read what its cell printed.
 *
 * Runs in:  kernels.
 * Reads:    packets of the host.
 * Never:    takes any other packet meanwhile than the one that ends the kernel.
 */
#include "inside/sync.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "wire/kernel.h"

int sync_with_host(int control, uint64_t id, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	struct kernel_head head;
	int fds[3];
	size_t nfds;

	if (kernel_send(control, KERNEL_SYNC, id, NULL, NULL, 0, err) < 0)
		return (int)err->code;
	do {
		if (kernel_recv(control, &head, &payload, fds, ARRAY_LEN(fds), &nfds, err) <= 0)
			return ERR_LOST;
		fd_close_all(fds, nfds);
		if (head.type == KERNEL_SHUTDOWN)
			_exit(0);
	} while (head.type != KERNEL_SYNC_ACK);
	return 0;
}
