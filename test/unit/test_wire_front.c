/*
 * test_wire_front.c - frames of a front that may be captured, and what it may ask.
 *
 * Runs in:  the unit suite.
 * Reads:    socketpairs of its own.
 * Never:    expects a descriptor to stay open.
 */
#include "unit.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/front.h"

/* The ranges of requests that there are; what lies between is none. */
static bool is_known(unsigned type)
{
	static const struct {
		unsigned first, last;
	} ranges[] = {
		{ FRONT_CANCEL, FRONT_HANDOFF },
		{ FRONT_AUTH, FRONT_AUTH },
		{ FRONT_EVENTS, FRONT_EVENTS },
		{ FRONT_FILE_LIST, FRONT_ARTIFACT_GET },
		{ FRONT_ARCHIVE_GET, FRONT_LINK_GET },
		{ FRONT_KEPT_LIST, FRONT_KEPT_LIST },
		{ FRONT_RUN_CREATE, FRONT_RUN_INTERRUPT },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (type >= ranges[i].first && type <= ranges[i].last)
			return true;
	return false;
}

static void the_monitor_table_is_closed(void **state)
{
	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		assert_int_equal(front_may_send(FRONT_STATE_STARTING, (uint16_t)type),
				 type == FRONT_READY);
		assert_int_equal(front_may_send(FRONT_STATE_SERVING, (uint16_t)type),
				 is_known(type));
	}
}

static int check(uint16_t type, const struct kernel_item *items, size_t count)
{
	struct err err;

	return front_check(type, items, count, &err);
}

static void a_request_holds_what_the_table_says(void **state)
{
	static char text[4096 + 1];
	const struct kernel_item key = { FRONT_TAG_KEY, 5, text };
	const struct kernel_item session = { FRONT_TAG_SESSION, 29, text };
	const struct kernel_item path = { FRONT_TAG_PATH, 4095, text };
	const struct kernel_item long_path = { FRONT_TAG_PATH, 4096, text };
	const struct kernel_item long_id = { FRONT_TAG_SESSION, FRONT_ID_MAX + 1, text };
	const struct kernel_item short_number = { FRONT_TAG_RECURSIVE, 4, text };
	const struct kernel_item reply_field = { FRONT_TAG_BODY, 1, text };
	const struct kernel_item unknown = { 1000, 1, text };

	(void)state;
	assert_int_equal(check(FRONT_CANCEL, NULL, 0), 0);
	assert_int_equal(check(FRONT_FILE_DELETE, (struct kernel_item[]){ key, session, path }, 3), 0);
	assert_int_equal(check(FRONT_FILE_DELETE, (struct kernel_item[]){ key, session }, 2),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_FILE_DELETE, (struct kernel_item[]){ session, path }, 2),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_FILE_DELETE, (struct kernel_item[]){ key, key, session, path }, 4),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_FILE_DELETE, (struct kernel_item[]){ key, session, long_path }, 3),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_FILE_DELETE, (struct kernel_item[]){ key, long_id, path }, 3),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_FILE_DELETE,
			       (struct kernel_item[]){ key, session, path, short_number }, 4),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_FILE_DELETE,
			       (struct kernel_item[]){ key, session, path, reply_field }, 4),
			 ERR_PROTOCOL);
	assert_int_equal(check(FRONT_CANCEL, &unknown, 1), ERR_PROTOCOL);
	assert_int_equal(check(FRONT_CANCEL, &key, 1), ERR_PROTOCOL);
	assert_int_equal(check(FRONT_READY, NULL, 0), ERR_PROTOCOL);
	assert_int_equal(check(FRONT_HANDOFF, NULL, 0), ERR_PROTOCOL);
	assert_int_equal(check(FRONT_REPLY, NULL, 0), ERR_PROTOCOL);
	assert_int_equal(check(0, NULL, 0), ERR_PROTOCOL);
}

static void there_and_back(int sock[2], size_t size, bool with_fd)
{
	struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX), got = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct front_head head;
	char *space;
	struct err err;
	int fd = -1;

	assert_ok(&err, buf_reserve(&got, size, &space, &err));
	memset(space, 'x', size);
	assert_ok(&err, front_pack(&payload, FRONT_TAG_BODY, space, size, &err));
	assert_ok(&err, front_pack_u64(&payload, FRONT_TAG_SIZE, 7, &err));
	assert_ok(&err, front_send(sock[0], FRONT_FILE_DELETE, 99, &payload, with_fd ? sock[0] : -1,
				   &err));
	assert_int_equal(front_recv(sock[1], &head, &got, &fd, &err), 1);
	assert_int_equal(head.type, FRONT_FILE_DELETE);
	assert_int_equal(head.id, 99);
	assert_int_equal(head.field_count, 2);
	assert_int_equal(got.len, payload.len);
	assert_memory_equal(got.data, payload.data, got.len);
	assert_int_equal(fd >= 0, with_fd);
	if (fd >= 0)
		(void)close(fd);
	buf_done(&payload);
	buf_done(&got);
}

static void frames_of_every_size(void **state)
{
	const int before = unit_open_fds();
	int sock[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	for (int with_fd = 0; with_fd < 2; with_fd++) {
		there_and_back(sock, 0, with_fd);
		there_and_back(sock, FRONT_INLINE_MAX - 100, with_fd);
		there_and_back(sock, FRONT_INLINE_MAX + 1, with_fd);
		there_and_back(sock, FRONT_CODE_MAX, with_fd);
	}
	(void)close(sock[0]);
	(void)close(sock[1]);
	assert_int_equal(unit_open_fds(), before);
}

static void broken_frames_are_refused(void **state)
{
	struct front_head heads[] = {
		{ .magic = 1, .type = FRONT_AUTH },
		{ .magic = FRONT_MAGIC, .type = FRONT_AUTH, .payload_len = 5 },
		{ .magic = FRONT_MAGIC, .type = FRONT_AUTH, .flags = FRONT_FLAG_BLOB },
		{ .magic = FRONT_MAGIC, .payload_len = UINT32_MAX },
	};
	struct buf got = BUF_INIT(FRONT_PAYLOAD_MAX);
	const int before = unit_open_fds();
	struct front_head head;
	struct err err;
	int sock[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sock), 0);
	assert_err(&err, ERR_TIMEOUT, front_recv(sock[1], &head, &got, &fd, &err));
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		for (int fds = 0; fds < 4; fds++) {
			const int pass[3] = { sock[0], sock[0], sock[0] };

			assert_ok(&err, fd_send_msg(sock[0], &heads[i], sizeof(heads[i]), pass,
						    (size_t)fds, &err));
			assert_err(&err, ERR_PROTOCOL, front_recv(sock[1], &head, &got, &fd, &err));
			assert_int_equal(fd, -1);
		}
	assert_ok(&err, fd_send_msg(sock[0], "x", 1, NULL, 0, &err));
	assert_err(&err, ERR_PROTOCOL, front_recv(sock[1], &head, &got, &fd, &err));
	(void)close(sock[0]);
	assert_int_equal(front_recv(sock[1], &head, &got, &fd, &err), 0);
	(void)close(sock[1]);
	assert_int_equal(unit_open_fds(), before);
	buf_done(&got);
}

static void texts_and_numbers(void **state)
{
	const uint64_t number = 1ull << 60;
	const struct kernel_item items[] = {
		{ FRONT_TAG_PATH, 3, "abc" },
		{ FRONT_TAG_WHY, 3, "a\0c" },
		{ FRONT_TAG_SIZE, 8, (const char *)&number },
		{ FRONT_TAG_LIMIT, 4, "abcd" },
	};
	char text[4];

	(void)state;
	assert_true(front_text(items, 4, FRONT_TAG_PATH, text, sizeof(text)));
	assert_string_equal(text, "abc");
	assert_false(front_text(items, 4, FRONT_TAG_PATH, text, 3));
	assert_false(front_text(items, 4, FRONT_TAG_WHY, text, sizeof(text)));
	assert_false(front_text(items, 4, FRONT_TAG_NAME, text, sizeof(text)));
	assert_true(front_u64(items, 4, FRONT_TAG_SIZE, 1) == number);
	assert_int_equal(front_u64(items, 4, FRONT_TAG_LIMIT, 5), 5);
	assert_int_equal(front_u64(items, 4, FRONT_TAG_AFTER, 6), 6);
}

/* Sent and received; what front_check_handoff() says to it as one from dialect 0 of 3. */
static int hand_over(int sock[2], const void *payload, size_t len, int fd, struct front_handoff *ret)
{
	struct buf sent = BUF_INIT(FRONT_PAYLOAD_MAX), got = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct front_head head;
	struct err err;
	int got_fd, code;

	assert_ok(&err, buf_add(&sent, payload, len, &err));
	assert_ok(&err, front_send_handoff(sock[0], FRONT_HANDOFF, &sent, fd, &err));
	assert_int_equal(front_recv(sock[1], &head, &got, &got_fd, &err), 1);
	assert_int_equal(head.type, FRONT_HANDOFF);
	assert_int_equal(got_fd >= 0, fd >= 0);
	assert_int_equal(got.len, len);
	code = front_check_handoff(&head, &got, got_fd, 0, 3, ret, &err);
	if (got_fd >= 0)
		(void)close(got_fd);
	buf_done(&sent);
	buf_done(&got);
	return code;
}

static int hand_over_to(int sock[2], uint32_t dialect, uint32_t hops, int fd)
{
	const struct front_handoff handoff = { dialect, hops };
	struct front_handoff got = { 99, 99 };
	const int code = hand_over(sock, &handoff, sizeof(handoff), fd, &got);

	if (code == 0) {
		assert_int_equal(got.dialect, dialect);
		assert_int_equal(got.hops, hops);
	}
	return code;
}

static void a_hand_off_is_bounded(void **state)
{
	static char bytes[sizeof(struct front_handoff) + FRONT_HANDOFF_MAX + 1] = { 1 };
	const int before = unit_open_fds();
	const size_t most = sizeof(bytes) - 1;
	struct front_handoff got;
	int sock[2], client[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	assert_int_equal(hand_over(sock, bytes, most, client[0], &got), 0);
	assert_int_equal(hand_over(sock, bytes, most + 1, client[0], &got), ERR_PROTOCOL);
	assert_int_equal(hand_over(sock, bytes, sizeof(got), client[0], &got), 0);
	assert_int_equal(hand_over(sock, bytes, sizeof(got) - 1, client[0], &got), ERR_PROTOCOL);
	assert_int_equal(hand_over(sock, NULL, 0, client[0], &got), ERR_PROTOCOL);
	assert_int_equal(hand_over_to(sock, 2, FRONT_HOPS_MAX, client[0]), 0);
	assert_int_equal(hand_over_to(sock, 2, FRONT_HOPS_MAX + 1, client[0]), ERR_PROTOCOL);
	/* To the sender itself, and to nobody. */
	assert_int_equal(hand_over_to(sock, 0, 0, client[0]), ERR_PROTOCOL);
	assert_int_equal(hand_over_to(sock, 3, 0, client[0]), ERR_PROTOCOL);
	assert_int_equal(hand_over_to(sock, UINT32_MAX, 0, client[0]), ERR_PROTOCOL);
	for (size_t i = 0; i < 2; i++) {
		(void)close(sock[i]);
		(void)close(client[i]);
	}
	assert_int_equal(unit_open_fds(), before);
}

static void a_hand_off_brings_a_connection(void **state)
{
	const struct sockaddr_un nameless = { .sun_family = AF_UNIX };
	const int before = unit_open_fds();
	int sock[2], fds[3];
	struct err err;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	assert_ok(&err, fd_memfd_sealed("file", "x", 1, &fds[0], &err));
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	fds[2] = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fds[2], (const struct sockaddr *)&nameless, sizeof(sa_family_t)), 0);
	assert_int_equal(hand_over_to(sock, 1, 0, fds[2]), 0);
	assert_int_equal(listen(fds[2], 1), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(hand_over_to(sock, 1, 0, fds[i]), ERR_PROTOCOL);
		(void)close(fds[i]);
	}
	assert_int_equal(hand_over_to(sock, 1, 0, -1), ERR_PROTOCOL);
	assert_int_equal(hand_over_to(sock, 1, 0, sock[1]), ERR_PROTOCOL);
	(void)close(sock[0]);
	(void)close(sock[1]);
	assert_int_equal(unit_open_fds(), before);
}

static void a_hand_off_is_no_request(void **state)
{
	const struct front_handoff handoff = { 1, 0 };
	struct front_head heads[] = {
		{ .type = FRONT_HANDOFF },
		{ .type = FRONT_HANDOFF, .id = 1 },
		{ .type = FRONT_HANDOFF, .field_count = 1 },
		{ .type = FRONT_HANDOFF, .flags = FRONT_FLAG_CALL },
	};
	struct buf payload = BUF_INIT(64);
	struct front_handoff got;
	int client[2];
	struct err err;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	assert_ok(&err, buf_add(&payload, &handoff, sizeof(handoff), &err));
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		assert_int_equal(front_check_handoff(&heads[i], &payload, client[0], 0, 2, &got,
						     &err),
				 i == 0 ? 0 : ERR_PROTOCOL);
	buf_done(&payload);
	(void)close(client[0]);
	(void)close(client[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_monitor_table_is_closed),
		cmocka_unit_test(a_request_holds_what_the_table_says),
		cmocka_unit_test(frames_of_every_size),
		cmocka_unit_test(broken_frames_are_refused),
		cmocka_unit_test(texts_and_numbers),
		cmocka_unit_test(a_hand_off_is_bounded),
		cmocka_unit_test(a_hand_off_brings_a_connection),
		cmocka_unit_test(a_hand_off_is_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
