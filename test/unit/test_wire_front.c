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
#include <unistd.h>

#include "base/fd.h"
#include "wire/front.h"

/* The ranges of requests that there are; what lies between is none. */
static bool is_known(unsigned type)
{
	static const struct {
		unsigned first, last;
	} ranges[] = {
		{ FRONT_CANCEL, FRONT_CANCEL },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_monitor_table_is_closed),
		cmocka_unit_test(a_request_holds_what_the_table_says),
		cmocka_unit_test(frames_of_every_size),
		cmocka_unit_test(broken_frames_are_refused),
		cmocka_unit_test(texts_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
