/*
 * fuzz_front.c - frames of a captured front, as reckond receives them.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes, through a socketpair as reckond would.
 * Never:    leaves a descriptor open; a leak ends the run when they are used up.
 *
 * The first byte: bits 0-1 how many descriptors are passed, bit 2 whether the last of them is
 * sealed, bit 3 whether a head is put in front, bit 4 whether the others are stream sockets; the
 * second is the type in that head, the third its flags.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "wire/front.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An accepted frame must have every property that reckond relies on. */
static void check(const struct front_head *head, const struct buf *payload)
{
	if (head->magic != FRONT_MAGIC || head->payload_len != payload->len ||
	    head->reserved != 0 ||
	    (head->flags & ~(FRONT_FLAG_BLOB | FRONT_FLAG_CALL)) != 0 ||
	    ((head->flags & FRONT_FLAG_CALL) == 0 && payload->len != 0))
		abort();
	if (front_may_send(FRONT_STATE_SERVING, head->type) &&
	    front_may_send(FRONT_STATE_STARTING, head->type))
		abort();
}

/* reckond must be able to pass on an accepted hand-off. */
static void check_handoff(const struct front_head *head, const struct buf *payload, int fd)
{
	struct front_handoff handoff;
	struct err err;

	if (front_check_handoff(head, payload, fd, 0, 2, &handoff, &err) < 0) {
		if (err.code != ERR_PROTOCOL)
			abort();
		return;
	}
	if (fd < 0 || handoff.dialect != 1 || handoff.hops > FRONT_HOPS_MAX ||
	    payload->len > sizeof(handoff) + FRONT_HANDOFF_MAX)
		abort();
}

static void receive(int sock)
{
	cleanup_buf struct buf payload = BUF_INIT(1u << 20);
	cleanup_fd int fd = -1;
	struct front_head head;
	struct err err;
	const int got = front_recv(sock, &head, &payload, &fd, &err);

	if (got <= 0) {
		if (fd != -1)
			abort();
		return;
	}
	if (head.type == FRONT_HANDOFF)
		check_handoff(&head, &payload, fd);
	else
		check(&head, &payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char frame[sizeof(struct front_head) + FRONT_INLINE_MAX + 64];
	struct front_head head = { .magic = FRONT_MAGIC };
	cleanup_fd int host = -1, front = -1, blob = -1, client = -1;
	size_t at = 0, nfds, len;
	struct err err;
	int sock[2], fds[3];

	if (size < 3)
		return 0;
	len = size - 3;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sock) < 0)
		abort();
	host = sock[0];
	front = sock[1];
	nfds = data[0] & 3u;
	if ((data[0] & 16u) != 0 && (client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		abort();
	for (size_t i = 0; i < nfds; i++)
		fds[i] = client >= 0 ? client : front;
	if (nfds > 0 && (data[0] & 4u) != 0) {
		if (fd_memfd_sealed("fuzz", data + 3, len, &blob, &err) < 0)
			abort();
		fds[nfds - 1] = blob;
		head.flags = FRONT_FLAG_BLOB;
	}
	if ((data[0] & 8u) != 0) {
		head.type = data[1];
		head.flags |= data[2];
		head.payload_len = (uint32_t)len;
		memcpy(frame, &head, sizeof(head));
		at = sizeof(head);
	}
	if (len > sizeof(frame) - at)
		len = sizeof(frame) - at;
	if (blob < 0 || at == 0) {
		memcpy(frame + at, data + 3, len);
		at += len;
	}
	if (fd_send_msg(front, frame, at, fds, nfds, &err) == 0)
		receive(host);
	return 0;
}
