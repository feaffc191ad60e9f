/*
 * test_wire_front.c - frames of a front that may be captured, and what it may request.
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

#include "base/file/fd.h"
#include "wire/front.h"

UNIT_TEST(only_the_listed_types_may_be_sent)
{
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		assert_int_equal(front_may_send(FRONT_STATE_STARTING, (uint16_t)type),
				 type == FRONT_READY);
		assert_int_equal(front_may_send(FRONT_STATE_SERVING, (uint16_t)type),
				 type == FRONT_CANCEL || type == FRONT_HANDOFF);
	}
}

static void round_trip(int sock[2], size_t size, bool with_fd)
{
	struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX), got = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct front_head head;
	char *space;
	struct err err;
	int fd = -1;

	assert_ok(&err, buf_reserve(&payload, size, &space, &err));
	memset(space, 'x', size);
	payload.len = size;
	assert_ok(&err, front_send_image(sock[0], 7, 99, &payload, with_fd ? sock[0] : -1, &err));
	assert_int_equal(front_recv(sock[1], &head, &got, &fd, &err), 1);
	assert_int_equal(head.type, 7);
	assert_int_equal(head.id, 99);
	assert_int_equal(head.flags & FRONT_FLAG_CALL, FRONT_FLAG_CALL);
	assert_int_equal(got.len, payload.len);
	assert_memory_equal(got.data, payload.data, got.len);
	assert_int_equal(fd >= 0, with_fd);
	if (fd >= 0)
		(void)close(fd);
	buf_done(&payload);
	buf_done(&got);
}

UNIT_TEST(a_control_frame_has_no_payload)
{
	struct buf got = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct front_head head;
	struct err err;
	int sock[2], fd;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	assert_ok(&err, front_send(sock[0], FRONT_CANCEL, 5, &err));
	assert_int_equal(front_recv(sock[1], &head, &got, &fd, &err), 1);
	assert_int_equal(head.type, FRONT_CANCEL);
	assert_int_equal(head.id, 5);
	assert_int_equal(head.flags, 0);
	assert_int_equal(got.len, 0);
	(void)close(sock[0]);
	(void)close(sock[1]);
	buf_done(&got);
}

UNIT_TEST(frames_round_trip_at_every_size)
{
	const int before = unit_open_fds();
	int sock[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	for (int with_fd = 0; with_fd < 2; with_fd++) {
		round_trip(sock, 0, with_fd);
		round_trip(sock, FRONT_INLINE_MAX - 100, with_fd);
		round_trip(sock, FRONT_INLINE_MAX + 1, with_fd);
		round_trip(sock, FRONT_CODE_MAX, with_fd);
	}
	(void)close(sock[0]);
	(void)close(sock[1]);
	assert_int_equal(unit_open_fds(), before);
}

UNIT_TEST(broken_frames_are_refused)
{
	struct front_head heads[] = {
		{ .magic = 1, .type = FRONT_CANCEL },
		{ .magic = FRONT_MAGIC, .type = FRONT_CANCEL, .payload_len = 5 },
		{ .magic = FRONT_MAGIC, .type = 1, .flags = FRONT_FLAG_CALL, .payload_len = 5 },
		{ .magic = FRONT_MAGIC, .type = 1, .flags = FRONT_FLAG_CALL | FRONT_FLAG_BLOB },
		{ .magic = FRONT_MAGIC, .type = FRONT_CANCEL, .flags = 4 },
		{ .magic = FRONT_MAGIC, .type = FRONT_CANCEL, .reserved = 1 },
		{ .magic = FRONT_MAGIC, .payload_len = UINT32_MAX },
	};
	struct buf got = BUF_INIT(FRONT_PAYLOAD_MAX);
	const int before = unit_open_fds();
	struct front_head head;
	struct err err;
	int sock[2], fd;

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
