/*
 * fuzz_kernel.c - a captured kernel's bytes, as fields and as packets.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes, through a socketpair as the host would.
 * Never:    leaves a descriptor open; a leak ends the run when they are used up.
 *
 * The first byte selects how the rest is sent: bits 0-1 how many descriptors are passed, bit 2
 * whether the last of them is sealed, bit 3 whether a valid head is put in front.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "wire/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ITEMS 64

/* Accepted fields must lie within the payload and add up to its length. */
static void unpack(const char *payload, size_t len, uint32_t count)
{
	struct kernel_item items[ITEMS];
	struct err err;
	size_t sum = 0;
	int n = kernel_unpack(payload, len, count, items, ITEMS, &err);

	if (n < 0) {
		if (err.code != ERR_PROTOCOL)
			abort();
		return;
	}
	if ((uint32_t)n != count)
		abort();
	for (int i = 0; i < n; i++) {
		if (items[i].data < payload || items[i].data + items[i].len > payload + len)
			abort();
		sum += sizeof(struct kernel_field) + items[i].len;
	}
	if (sum != len)
		abort();
	(void)kernel_find(items, (size_t)n, KERNEL_TAG_DATA);
}

static void receive(int host)
{
	cleanup_buf struct buf payload = BUF_INIT(1u << 20);
	struct kernel_head head;
	struct err err;
	size_t nfds = 9;
	int fds[2];
	int got = kernel_recv(host, &head, &payload, fds, ARRAY_LEN(fds), &nfds, &err);

	if (nfds > ARRAY_LEN(fds) || (got <= 0 && nfds != 0))
		abort();
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
	if (got == 1 && (head.magic != KERNEL_MAGIC || head.payload_len != payload.len))
		abort();
	if (got == 1)
		unpack(buf_text(&payload), payload.len, head.field_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char packet[sizeof(struct kernel_head) + KERNEL_INLINE_MAX + 64];
	struct kernel_head head = { .magic = KERNEL_MAGIC, .type = KERNEL_DISPLAY };
	const char *body = (const char *)data + 1;
	cleanup_fd int host = -1, kernel = -1, blob = -1;
	size_t at = 0, nfds, len;
	struct err err;
	int sock[2], fds[3];

	if (size == 0)
		return 0;
	len = size - 1;
	for (uint32_t count = 0; count < 4; count++)
		unpack(body, len, count);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sock) < 0)
		abort();
	host = sock[0];
	kernel = sock[1];
	nfds = data[0] & 3u;
	for (size_t i = 0; i < nfds; i++)
		fds[i] = kernel;
	if (nfds > 0 && (data[0] & 4u) != 0) {
		if (fd_memfd_sealed("fuzz", body, len, &blob, &err) < 0)
			abort();
		fds[nfds - 1] = blob;
		head.flags = KERNEL_FLAG_BLOB;
	}
	if ((data[0] & 8u) != 0) {
		head.payload_len = (uint32_t)len;
		head.field_count = 1;
		memcpy(packet, &head, sizeof(head));
		at = sizeof(head);
	}
	if (len > sizeof(packet) - at)
		len = sizeof(packet) - at;
	if (blob < 0 || at == 0) {
		memcpy(packet + at, body, len);
		at += len;
	}
	if (fd_send_msg(kernel, packet, at, fds, nfds, &err) < 0)
		return 0;
	receive(host);
	return 0;
}
