/*
 * test_wire_kernel.c - the kernel contract, and what a captured kernel may try to send.
 *
 * Runs in:  the unit suite.
 * Reads:    its own socketpairs.
 * Never:    leaves a descriptor open; each exchange counts them.
 */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "wire/kernel.h"

struct link {
	int host, kernel;
	int open_before;
};

static int link_open(void **state)
{
	static struct link link;
	int sock[2];

	link.open_before = unit_open_fds();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return -1;
	link.host = sock[0];
	link.kernel = sock[1];
	*state = &link;
	return 0;
}

/* Fails the test when it left a descriptor behind. */
static int link_close(void **state)
{
	struct link *link = *state;

	if (link->host >= 0)
		(void)close(link->host);
	if (link->kernel >= 0)
		(void)close(link->kernel);
	return unit_open_fds() == link->open_before ? 0 : -1;
}

/* ---- fields ----------------------------------------------------------------------------- */

UNIT_TEST(fields_survive_the_round_trip)
{
	cleanup_buf struct buf payload = BUF_INIT(4096);
	struct kernel_item items[8];
	const struct kernel_item *found;
	struct err err;

	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_CODE, "6*7", 3, &err));
	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_TEXT, "", 0, &err));
	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_DATA, "a\0b", 3, &err));
	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_DATA, "second", 6, &err));
	assert_int_equal(kernel_count_fields(&payload), 4);
	assert_int_equal(kernel_unpack(payload.data, payload.len, 4, items, 8, &err), 4);
	found = kernel_find(items, 4, KERNEL_TAG_CODE);
	assert_non_null(found);
	assert_int_equal(found->len, 3);
	assert_memory_equal(found->data, "6*7", 3);
	found = kernel_find(items, 4, KERNEL_TAG_TEXT);
	assert_non_null(found);
	assert_int_equal(found->len, 0);
	found = kernel_find(items, 4, KERNEL_TAG_DATA);
	assert_ptr_equal(found, &items[2]);
	assert_memory_equal(found->data, "a\0b", 3);
	assert_null(kernel_find(items, 4, KERNEL_TAG_SEED));
	assert_null(kernel_find(items, 0, KERNEL_TAG_CODE));
}

UNIT_TEST(an_empty_payload_has_no_fields)
{
	cleanup_buf struct buf payload = BUF_INIT(16);
	struct kernel_item items[1];
	struct err err;

	assert_int_equal(kernel_count_fields(&payload), 0);
	assert_int_equal(kernel_unpack("", 0, 0, items, 1, &err), 0);
	assert_int_equal(kernel_unpack(NULL, 0, 0, items, 0, &err), 0);
	assert_err(&err, ERR_PROTOCOL, kernel_unpack("", 0, 1, items, 1, &err));
}

UNIT_TEST(packing_beyond_the_limit_leaves_whole_fields)
{
	cleanup_buf struct buf payload = BUF_INIT(30);
	struct kernel_item items[4];
	struct err err;

	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_TEXT, "12345678", 8, &err));
	assert_err(&err, ERR_LIMIT, kernel_pack(&payload, KERNEL_TAG_TEXT, "1234567", 7, &err));
	assert_err(&err, ERR_LIMIT,
		   kernel_pack(&payload, KERNEL_TAG_TEXT, "", KERNEL_PAYLOAD_MAX + 1, &err));
	assert_int_equal(payload.len, 16);
	assert_int_equal(kernel_unpack(payload.data, payload.len, 1, items, 4, &err), 1);
	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_TEXT, "123456", 6, &err));
}

UNIT_TEST(wrong_field_counts_are_refused)
{
	cleanup_buf struct buf payload = BUF_INIT(4096);
	struct kernel_item items[4];
	struct err err;

	for (int i = 0; i < 3; i++)
		assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_MATCH, "m", 1, &err));
	assert_err(&err, ERR_PROTOCOL,
		   kernel_unpack(payload.data, payload.len, 2, items, 4, &err));
	assert_err(&err, ERR_PROTOCOL,
		   kernel_unpack(payload.data, payload.len, 4, items, 4, &err));
	assert_err(&err, ERR_PROTOCOL,
		   kernel_unpack(payload.data, payload.len, 3, items, 2, &err));
	assert_err(&err, ERR_PROTOCOL,
		   kernel_unpack(payload.data, payload.len, UINT32_MAX, items, 4, &err));
	assert_err(&err, ERR_PROTOCOL,
		   kernel_unpack(payload.data, payload.len, KERNEL_FIELDS_MAX + 1, items,
				 KERNEL_FIELDS_MAX + 1, &err));
	assert_int_equal(kernel_unpack(payload.data, payload.len, 3, items, 3, &err), 3);
}

/* Every truncation of a valid payload is refused, whatever count is announced for it. */
UNIT_TEST(truncated_payloads_are_refused)
{
	cleanup_buf struct buf payload = BUF_INIT(4096);
	struct kernel_item items[4];
	struct err err;

	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_MIME, "text/plain", 10, &err));
	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_DATA, "value", 5, &err));
	for (size_t cut = 1; cut < payload.len; cut++) {
		/* A copy of exactly this size, so that a sanitizer sees a read past it. */
		cleanup_free char *copy = malloc(cut);

		assert_non_null(copy);
		memcpy(copy, payload.data, cut);
		for (uint32_t count = 0; count <= 3; count++) {
			if (cut == sizeof(struct kernel_field) + 10 && count == 1)
				continue; /* that is a whole payload of one field */
			assert_err(&err, ERR_PROTOCOL,
				   kernel_unpack(copy, cut, count, items, 4, &err));
		}
	}
}

UNIT_TEST(wrong_field_lengths_are_refused)
{
	static const uint32_t lies[] = { 6, 7, 0x7fffffff, 0x80000000, 0xfffffff7, UINT32_MAX };
	struct kernel_item items[4];
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct kernel_field head = { .tag = KERNEL_TAG_DATA, .len = lies[i] };
		char payload[sizeof(head) + 5] = "";

		memcpy(payload, &head, sizeof(head));
		assert_err(&err, ERR_PROTOCOL,
			   kernel_unpack(payload, sizeof(payload), 1, items, 4, &err));
	}
}

/* ---- packets ---------------------------------------------------------------------------- */

UNIT_TEST_WITH(a_small_packet_arrives_whole, link_open, link_close)
{
	struct link *link = *state;
	cleanup_buf struct buf payload = BUF_INIT(4096), got = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head;
	size_t nfds = 9;
	struct err err;

	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_STATUS, "ok", 2, &err));
	assert_ok(&err, kernel_send(link->kernel, KERNEL_DONE, 42, &payload, NULL, 0, &err));
	assert_ok(&err, kernel_send(link->kernel, KERNEL_SYNC, 43, NULL, NULL, 0, &err));
	assert_ok(&err, buf_adds(&got, "what was there before", &err));
	assert_int_equal(kernel_recv(link->host, &head, &got, NULL, 0, &nfds, &err), 1);
	assert_int_equal(head.type, KERNEL_DONE);
	assert_int_equal(head.id, 42);
	assert_int_equal(head.flags, 0);
	assert_int_equal(head.field_count, 1);
	assert_int_equal(nfds, 0);
	assert_int_equal(got.len, payload.len);
	assert_memory_equal(got.data, payload.data, payload.len);
	assert_int_equal(kernel_recv(link->host, &head, &got, NULL, 0, &nfds, &err), 1);
	assert_int_equal(head.type, KERNEL_SYNC);
	assert_int_equal(got.len, 0);
	(void)close(link->kernel);
	link->kernel = -1;
	assert_int_equal(kernel_recv(link->host, &head, &got, NULL, 0, &nfds, &err), 0);
}

/* Both sides of KERNEL_INLINE_MAX, and a payload that only a blob can carry. */
UNIT_TEST_WITH(large_payloads_travel_as_blobs, link_open, link_close)
{
	static const size_t sizes[] = { KERNEL_INLINE_MAX, KERNEL_INLINE_MAX + 1, 5u << 20 };
	struct link *link = *state;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		cleanup_buf struct buf payload = BUF_INIT(8u << 20), got = BUF_INIT(8u << 20);
		size_t body = sizes[i] - sizeof(struct kernel_field), nfds = 9;
		cleanup_free char *bytes = malloc(body);
		struct kernel_head head;
		struct err err;

		assert_non_null(bytes);
		memset(bytes, 'p', body);
		assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_DATA, bytes, body, &err));
		assert_ok(&err, kernel_send(link->kernel, KERNEL_DISPLAY, 7, &payload, NULL, 0, &err));
		assert_int_equal(kernel_recv(link->host, &head, &got, NULL, 0, &nfds, &err), 1);
		assert_int_equal(head.flags, sizes[i] > KERNEL_INLINE_MAX ? KERNEL_FLAG_BLOB : 0);
		assert_int_equal(nfds, 0);
		assert_int_equal(got.len, payload.len);
		assert_memory_equal(got.data, payload.data, payload.len);
	}
}

UNIT_TEST_WITH(execute_carries_three_descriptors_and_a_blob, link_open, link_close)
{
	struct link *link = *state;
	cleanup_buf struct buf payload = BUF_INIT(1u << 20), got = BUF_INIT(1u << 20);
	static char code[100000];
	int sent[3], fds[3];
	struct kernel_head head;
	size_t nfds = 0;
	struct err err;

	for (int i = 0; i < 3; i++)
		sent[i] = memfd_create("unit", MFD_CLOEXEC);
	assert_ok(&err, kernel_pack(&payload, KERNEL_TAG_CODE, code, sizeof(code), &err));
	assert_ok(&err, kernel_send(link->host, KERNEL_EXECUTE, 1, &payload, sent, 3, &err));
	assert_int_equal(kernel_recv(link->kernel, &head, &got, fds, 3, &nfds, &err), 1);
	assert_int_equal(nfds, 3);
	assert_int_equal(got.len, payload.len);
	for (int i = 0; i < 3; i++) {
		struct stat a, b;

		assert_int_equal(fstat(sent[i], &a), 0);
		assert_int_equal(fstat(fds[i], &b), 0);
		assert_int_equal(a.st_ino, b.st_ino);
		(void)close(sent[i]);
		(void)close(fds[i]);
	}
	assert_err(&err, ERR_INVALID,
		   kernel_send(link->host, KERNEL_EXECUTE, 1, &payload,
			       (const int[]){ 0, 0, 0, 0 }, 4, &err));
}

UNIT_TEST_WITH(a_silent_kernel_is_a_timeout, link_open, link_close)
{
	struct link *link = *state;
	cleanup_buf struct buf got = BUF_INIT(64);
	struct kernel_head head;
	struct err err;
	size_t nfds;

	assert_ok(&err, fd_set_nonblock(link->host, true, &err));
	assert_err(&err, ERR_TIMEOUT,
		   kernel_recv(link->host, &head, &got, NULL, 0, &nfds, &err));
}

/* ---- a captured kernel ------------------------------------------------------------------ */

/* Sends raw bytes and descriptors and expects the host to refuse them. */
static void expect_refusal(const struct link *link, const void *bytes, size_t len, const int *fds,
			   size_t nfds, enum err_code code)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);
	struct kernel_head head;
	int open_before = unit_open_fds();
	size_t got_nfds = 9;
	int got_fds[4] = { -7, -7, -7, -7 };
	struct err err;

	assert_ok(&err, fd_send_msg(link->kernel, bytes, len, fds, nfds, &err));
	assert_err(&err, code,
		   kernel_recv(link->host, &head, &got, got_fds, 0, &got_nfds, &err));
	assert_int_equal(got_nfds, 0);
	assert_int_equal(unit_open_fds(), open_before);
}

UNIT_TEST_WITH(short_and_foreign_packets_are_refused, link_open, link_close)
{
	const struct link *link = *state;
	struct kernel_head head = { .magic = KERNEL_MAGIC, .type = KERNEL_DONE };
	static char longest[sizeof(head) + KERNEL_INLINE_MAX + 1];

	for (size_t len = 1; len < sizeof(head); len++)
		expect_refusal(link, &head, len, NULL, 0, ERR_PROTOCOL);
	head.magic = 0x31574b52u;
	expect_refusal(link, &head, sizeof(head), NULL, 0, ERR_PROTOCOL);
	head.magic = KERNEL_MAGIC;
	memcpy(longest, &head, sizeof(head));
	expect_refusal(link, longest, sizeof(longest), NULL, 0, ERR_PROTOCOL);
}

UNIT_TEST_WITH(wrong_payload_lengths_are_refused, link_open, link_close)
{
	static const uint32_t lies[] = { 0, 7, 9, KERNEL_INLINE_MAX, UINT32_MAX };
	const struct link *link = *state;
	struct {
		struct kernel_head head;
		char payload[8];
	} packet = { .head = { .magic = KERNEL_MAGIC, .type = KERNEL_DONE } };

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		packet.head.payload_len = lies[i];
		expect_refusal(link, &packet, sizeof(packet), NULL, 0, ERR_PROTOCOL);
	}
}

UNIT_TEST_WITH(unexpected_descriptors_are_closed, link_open, link_close)
{
	const struct link *link = *state;
	struct kernel_head head = { .magic = KERNEL_MAGIC, .type = KERNEL_DONE };
	const int many[8] = { link->host, link->host, link->host, link->host,
			      link->host, link->host, link->host, link->host };

	expect_refusal(link, &head, sizeof(head), many, 1, ERR_PROTOCOL);
	expect_refusal(link, &head, sizeof(head), many, 4, ERR_PROTOCOL);
	expect_refusal(link, &head, sizeof(head), many, 8, ERR_PROTOCOL);
	expect_refusal(link, "x", 1, many, 1, ERR_PROTOCOL);
	expect_refusal(link, "", 0, many, 1, ERR_PROTOCOL);
}

UNIT_TEST_WITH(invalid_blobs_are_refused, link_open, link_close)
{
	const struct link *link = *state;
	struct kernel_head head = { .magic = KERNEL_MAGIC,
				    .type = KERNEL_DISPLAY,
				    .flags = KERNEL_FLAG_BLOB,
				    .payload_len = 5 };
	cleanup_fd int sealed = -1, open_blob = memfd_create("unit", MFD_CLOEXEC);
	cleanup_fd int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	cleanup_fd int huge = memfd_create("unit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct err err;
	int two[2];

	assert_ok(&err, fd_memfd_sealed("unit", "12345", 5, &sealed, &err));
	assert_int_equal(write(open_blob, "12345", 5), 5);
	expect_refusal(link, &head, sizeof(head), NULL, 0, ERR_PROTOCOL);
	expect_refusal(link, &head, sizeof(head), &open_blob, 1, ERR_PROTOCOL);
	expect_refusal(link, &head, sizeof(head), &null, 1, ERR_PROTOCOL);
	expect_refusal(link, &head, sizeof(head), &link->host, 1, ERR_PROTOCOL);
	two[0] = null;
	two[1] = sealed;
	expect_refusal(link, &head, sizeof(head), two, 2, ERR_PROTOCOL);
	head.payload_len = 6;
	expect_refusal(link, &head, sizeof(head), &sealed, 1, ERR_PROTOCOL);
	head.payload_len = 4;
	expect_refusal(link, &head, sizeof(head), &sealed, 1, ERR_PROTOCOL);
	head.payload_len = KERNEL_PAYLOAD_MAX + 1;
	expect_refusal(link, &head, sizeof(head), &sealed, 1, ERR_PROTOCOL);
	/* Sealed and of the right length, but larger than the host's buffer allows. */
	assert_int_equal(ftruncate(huge, 1 << 21), 0);
	assert_int_equal(fcntl(huge, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK), 0);
	head.payload_len = 1 << 21;
	expect_refusal(link, &head, sizeof(head), &huge, 1, ERR_LIMIT);
}

/* A refused packet does not affect the next one. */
UNIT_TEST_WITH(the_host_reads_the_packet_after_a_refusal, link_open, link_close)
{
	struct link *link = *state;
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct kernel_head head;
	size_t nfds;
	struct err err;

	expect_refusal(link, "garbage", 7, NULL, 0, ERR_PROTOCOL);
	assert_ok(&err, kernel_send(link->kernel, KERNEL_DONE, 5, NULL, NULL, 0, &err));
	assert_int_equal(kernel_recv(link->host, &head, &got, NULL, 0, &nfds, &err), 1);
	assert_int_equal(head.id, 5);
}

/* ---- which types a kernel may send ----------------------------------------------------------- */

UNIT_TEST(only_the_listed_types_may_be_sent)
{
	static const struct {
		enum kernel_state when;
		uint16_t first, last;
	} allowed[] = {
		{ KERNEL_STATE_STARTING, KERNEL_READY, KERNEL_READY },
		{ KERNEL_STATE_IDLE, 1, 0 },
		{ KERNEL_STATE_EXECUTING, KERNEL_DISPLAY, KERNEL_DONE },
		{ KERNEL_STATE_ASKING, KERNEL_VARIABLES_REPLY, KERNEL_IS_COMPLETE_REPLY },
		{ KERNEL_STATE_ADOPTING, KERNEL_PONG, KERNEL_PONG },
	};

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		for (uint32_t type = 0; type <= UINT16_MAX; type++) {
			bool want = type >= allowed[i].first && type <= allowed[i].last;

			if (kernel_may_send(allowed[i].when, (uint16_t)type) != want)
				fail_msg("state %d, type %u", (int)allowed[i].when, type);
		}
	}
}

/* The ranges above depend on the numbers of types, so this checks events and requests by name. */
UNIT_TEST(events_may_be_sent_and_host_requests_may_not)
{
	static const uint16_t events[] = { KERNEL_DISPLAY, KERNEL_UPDATE_DISPLAY, KERNEL_RESULT,
					   KERNEL_ERROR,   KERNEL_CLEAR_OUTPUT,
					   KERNEL_INPUT_REQUEST, KERNEL_SYNC, KERNEL_DONE };
	static const uint16_t requests[] = {
		KERNEL_EXECUTE,	    KERNEL_VARIABLES,	KERNEL_COMPLETE,    KERNEL_INSPECT,
		KERNEL_INPUT_REPLY, KERNEL_SYNC_ACK,	KERNEL_SHUTDOWN,    KERNEL_CONFIGURE,
		KERNEL_RESUME,	    KERNEL_IS_COMPLETE, KERNEL_CGROUP_JOIN, KERNEL_PARK
	};

	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		assert_true(kernel_may_send(KERNEL_STATE_EXECUTING, events[i]));
	assert_true(kernel_may_send(KERNEL_STATE_ASKING, KERNEL_COMPLETE_REPLY));
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		for (int when = KERNEL_STATE_STARTING; when <= KERNEL_STATE_ADOPTING; when++)
			assert_false(kernel_may_send((enum kernel_state)when, requests[i]));
	assert_false(kernel_may_send((enum kernel_state)99, KERNEL_DONE));
}
