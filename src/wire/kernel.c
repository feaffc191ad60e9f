/*
 * kernel.c - the kernel contract: fields, packets and who may send what.
 *
 * Runs in:  the host side, kernels and tests.
 * Reads:    packets of a hostile kernel.
 * Never:    trusts a length, a count or a descriptor.
 */
#include "wire/kernel.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"

int kernel_unpack(const char *payload, size_t payload_len, uint32_t field_count,
		  struct kernel_item *ret_items, size_t max_items, struct err *err)
{
	size_t at = 0, count = 0;

	if (field_count > max_items || field_count > KERNEL_FIELDS_MAX)
		return err_set(err, ERR_PROTOCOL, "too many fields (%u)", field_count);
	while (at < payload_len) {
		struct kernel_field head;

		if (payload_len - at < sizeof(head))
			return err_set(err, ERR_PROTOCOL, "field head cut short");
		memcpy(&head, payload + at, sizeof(head));
		at += sizeof(head);
		if (head.len > payload_len - at)
			return err_set(err, ERR_PROTOCOL, "field longer than its payload");
		if (count >= field_count)
			return err_set(err, ERR_PROTOCOL, "more fields than announced");
		ret_items[count++] = (struct kernel_item){ head.tag, head.len, payload + at };
		at += head.len;
	}
	if (count != field_count)
		return err_set(err, ERR_PROTOCOL, "fewer fields than announced");
	return (int)count;
}

int kernel_pack(struct buf *payload, enum kernel_tag tag, const void *data, size_t len,
		struct err *err)
{
	struct kernel_field head = { .tag = (uint32_t)tag, .len = (uint32_t)len };
	char *space;

	if (len > KERNEL_PAYLOAD_MAX)
		return err_set(err, ERR_LIMIT, "field of %zu bytes", len);
	/* Reserve room for both: a head without its data would corrupt the payload. */
	if (buf_reserve(payload, sizeof(head) + len, &space, err) < 0 ||
	    buf_add(payload, &head, sizeof(head), err) < 0)
		return (int)err->code;
	return buf_add(payload, data, len, err);
}

const struct kernel_item *kernel_find(const struct kernel_item *items, size_t count,
				      enum kernel_tag tag)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].tag == (uint32_t)tag)
			return &items[i];
	return NULL;
}

bool kernel_may_send(enum kernel_state state, uint16_t type)
{
	switch (state) {
	case KERNEL_STATE_STARTING:
		return type == KERNEL_READY;
	case KERNEL_STATE_IDLE:
		return false;
	case KERNEL_STATE_EXECUTING:
		return type >= KERNEL_DISPLAY && type <= KERNEL_DONE;
	case KERNEL_STATE_ASKING:
		return type >= KERNEL_VARIABLES_REPLY && type <= KERNEL_IS_COMPLETE_REPLY;
	case KERNEL_STATE_ADOPTING:
		return type == KERNEL_PONG;
	}
	return false;
}

uint32_t kernel_count_fields(const struct buf *payload)
{
	uint32_t count = 0;

	for (size_t at = 0; at < payload->len; count++) {
		struct kernel_field head;

		memcpy(&head, payload->data + at, sizeof(head));
		at += sizeof(head) + head.len;
	}
	return count;
}

int kernel_send(int sock, enum kernel_type type, uint64_t id, const struct buf *payload,
		const int *fds, size_t nfds, struct err *err)
{
	struct kernel_head head = { .magic = KERNEL_MAGIC, .type = (uint16_t)type, .id = id };
	MEM_UNINIT char packet[sizeof(head) + KERNEL_INLINE_MAX];
	size_t len = payload != NULL ? payload->len : 0;
	cleanup_fd int blob = -1;
	int pass[4];

	if (nfds > 3)
		return err_set(err, ERR_INVALID, "too many descriptors for a packet");
	for (size_t i = 0; i < nfds; i++)
		pass[i] = fds[i];
	head.payload_len = (uint32_t)len;
	head.field_count = len > 0 ? kernel_count_fields(payload) : 0;
	if (len > KERNEL_INLINE_MAX) {
		if (fd_memfd_sealed("reckon-payload", payload->data, len, &blob, err) < 0)
			return (int)err->code;
		head.flags = KERNEL_FLAG_BLOB;
		pass[nfds++] = blob;
		len = 0;
	}
	memcpy(packet, &head, sizeof(head));
	if (len > 0)
		memcpy(packet + sizeof(head), payload->data, len);
	return fd_send_msg(sock, packet, sizeof(head) + len, pass, nfds, err);
}

static int take_blob(const struct kernel_head *head, int *fds, size_t *nfds, struct buf *payload,
		     struct err *err)
{
	cleanup_fd int blob = -1;

	if (*nfds == 0)
		return err_set(err, ERR_PROTOCOL, "a blob without its memory file");
	blob = fds[--*nfds];
	if (head->payload_len > KERNEL_PAYLOAD_MAX)
		return err_set(err, ERR_PROTOCOL, "a blob of %u bytes", head->payload_len);
	if (fd_read_sealed(blob, payload, err) < 0)
		return err_wrap(err, "blob");
	if (payload->len != head->payload_len)
		return err_set(err, ERR_PROTOCOL, "a blob of another length than announced");
	return 0;
}

int kernel_recv(int sock, struct kernel_head *ret_head, struct buf *payload, int *fds,
		size_t fds_max, size_t *ret_nfds, struct err *err)
{
	MEM_UNINIT char packet[sizeof(*ret_head) + KERNEL_INLINE_MAX];
	int got[4];
	size_t ngot;
	ssize_t n = fd_recv_msg(sock, packet, sizeof(packet), got, ARRAY_LEN(got), &ngot, err);
	int code = 0;

	*ret_nfds = 0;
	if (n <= 0)
		return (int)n;
	buf_clear(payload);
	memset(ret_head, 0, sizeof(*ret_head));
	if ((size_t)n < sizeof(*ret_head))
		code = err_set(err, ERR_PROTOCOL, "packet of %zd bytes", n);
	else
		memcpy(ret_head, packet, sizeof(*ret_head));
	if (code == 0 && ret_head->magic != KERNEL_MAGIC)
		code = err_set(err, ERR_PROTOCOL, "packet without our magic number");
	if (code == 0 && (ret_head->flags & KERNEL_FLAG_BLOB) != 0)
		code = take_blob(ret_head, got, &ngot, payload, err);
	else if (code == 0 && ret_head->payload_len != (size_t)n - sizeof(*ret_head))
		code = err_set(err, ERR_PROTOCOL, "payload of another length than announced");
	else if (code == 0)
		code = buf_add(payload, packet + sizeof(*ret_head), ret_head->payload_len, err);
	if (code == 0 && ngot > fds_max)
		code = err_set(err, ERR_PROTOCOL, "descriptors nobody asked for");
	if (code < 0) {
		for (size_t i = 0; i < ngot; i++)
			(void)close(got[i]);
		return code;
	}
	for (size_t i = 0; i < ngot; i++)
		fds[i] = got[i];
	*ret_nfds = ngot;
	return 1;
}

int kernel_pack_text(struct buf *payload, enum kernel_tag tag, const char *text, struct err *err)
{
	return kernel_pack(payload, tag, text, strlen(text), err);
}

bool kernel_item_is(const struct kernel_item *item, const char *text)
{
	return item != NULL && item->len == strlen(text) &&
	       memcmp(item->data, text, item->len) == 0;
}
