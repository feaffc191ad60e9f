/*
 * test_base_fd.c - whole reads and writes, passed descriptors, sealed memory files.
 *
 * Runs in:  the unit suite.
 * Reads:    its own sockets, pipes and memory files.
 * Never:    leaves a descriptor open; the teardown of each test counts them.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

struct pair {
	int a, b;
	int open_before;
};

static int pair_open(void **state)
{
	static struct pair pair;
	int sock[2];

	pair.open_before = unit_open_fds();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return -1;
	pair.a = sock[0];
	pair.b = sock[1];
	*state = &pair;
	return 0;
}

/* Fails the test if it leaked a descriptor. */
static int pair_close(void **state)
{
	struct pair *pair = *state;

	if (pair->a >= 0)
		(void)close(pair->a);
	if (pair->b >= 0)
		(void)close(pair->b);
	return unit_open_fds() == pair->open_before ? 0 : -1;
}

static bool same_file(int x, int y)
{
	struct stat sx, sy;

	assert_int_equal(fstat(x, &sx), 0);
	assert_int_equal(fstat(y, &sy), 0);
	return sx.st_dev == sy.st_dev && sx.st_ino == sy.st_ino;
}

static void close_them(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

UNIT_TEST_WITH(read_full_joins_short_reads, pair_open, pair_close)
{
	char got[16] = "";
	struct err err;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_ok(&err, fd_write_full(ends[1], "abc", 3, &err));
	assert_ok(&err, fd_write_full(ends[1], "defg", 4, &err));
	assert_int_equal(fd_read_full(ends[0], got, 5, &err), 5);
	assert_memory_equal(got, "abcde", 5);
	(void)close(ends[1]);
	assert_int_equal(fd_read_full(ends[0], got, sizeof(got), &err), 2);
	assert_memory_equal(got, "fg", 2);
	assert_int_equal(fd_read_full(ends[0], got, sizeof(got), &err), 0);
	(void)close(ends[0]);
}

UNIT_TEST_WITH(failing_calls_name_the_reason, pair_open, pair_close)
{
	struct err err;
	char byte;

	assert_err(&err, ERR_SYSTEM, (int)fd_read_full(-1, &byte, 1, &err));
	assert_int_equal(err.errnum, EBADF);
	assert_err(&err, ERR_SYSTEM, fd_write_full(-1, "x", 1, &err));
	assert_err(&err, ERR_SYSTEM, fd_set_nonblock(-1, true, &err));
	assert_err(&err, ERR_SYSTEM, fd_send_msg(-1, "x", 1, NULL, 0, &err));
}

UNIT_TEST_WITH(read_all_stops_at_the_limit, pair_open, pair_close)
{
	cleanup_buf struct buf small = BUF_INIT(1000);
	cleanup_buf struct buf enough = BUF_INIT(1u << 20);
	cleanup_fd int fd = memfd_create("unit", MFD_CLOEXEC);
	static char bytes[200000];
	struct err err;

	memset(bytes, 'q', sizeof(bytes));
	assert_ok(&err, fd_write_full(fd, bytes, sizeof(bytes), &err));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_ok(&err, fd_read_all(fd, &enough, &err));
	assert_int_equal(enough.len, sizeof(bytes));
	assert_memory_equal(enough.data, bytes, sizeof(bytes));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_err(&err, ERR_LIMIT, fd_read_all(fd, &small, &err));
	assert_true(small.len <= 1000);
}

UNIT_TEST_WITH(nonblock_is_switched_on_and_off, pair_open, pair_close)
{
	struct pair *pair = *state;
	struct err err;

	assert_ok(&err, fd_set_nonblock(pair->a, true, &err));
	assert_true((fcntl(pair->a, F_GETFL) & O_NONBLOCK) != 0);
	assert_ok(&err, fd_set_nonblock(pair->a, false, &err));
	assert_true((fcntl(pair->a, F_GETFL) & O_NONBLOCK) == 0);
}

UNIT_TEST_WITH(packets_keep_their_boundaries, pair_open, pair_close)
{
	struct pair *pair = *state;
	char got[16];
	size_t nfds = 99;
	struct err err;

	assert_ok(&err, fd_send_msg(pair->a, "one", 3, NULL, 0, &err));
	assert_ok(&err, fd_send_msg(pair->a, "three", 5, NULL, 0, &err));
	assert_int_equal(fd_recv_msg(pair->b, got, sizeof(got), NULL, 0, &nfds, &err), 3);
	assert_int_equal(nfds, 0);
	assert_memory_equal(got, "one", 3);
	assert_int_equal(fd_recv_msg(pair->b, got, sizeof(got), NULL, 0, &nfds, &err), 5);
	(void)close(pair->a);
	pair->a = -1;
	assert_int_equal(fd_recv_msg(pair->b, got, sizeof(got), NULL, 0, &nfds, &err), 0);
}

UNIT_TEST_WITH(descriptors_arrive_in_order_and_close_on_exec, pair_open, pair_close)
{
	struct pair *pair = *state;
	int sent[FD_PASS_MAX], got[FD_PASS_MAX];
	size_t nfds = 0;
	struct err err;
	char byte;

	for (int i = 0; i < FD_PASS_MAX; i++)
		sent[i] = memfd_create("unit", 0);
	assert_ok(&err, fd_send_msg(pair->a, "x", 1, sent, FD_PASS_MAX, &err));
	assert_int_equal(fd_recv_msg(pair->b, &byte, 1, got, FD_PASS_MAX, &nfds, &err), 1);
	assert_int_equal(nfds, FD_PASS_MAX);
	for (int i = 0; i < FD_PASS_MAX; i++) {
		assert_true(same_file(sent[i], got[i]));
		assert_int_equal(fcntl(got[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	}
	close_them(sent, FD_PASS_MAX);
	close_them(got, FD_PASS_MAX);
}

UNIT_TEST_WITH(one_descriptor_too_many_is_not_sent, pair_open, pair_close)
{
	struct pair *pair = *state;
	int sent[FD_PASS_MAX + 1];
	struct err err;

	for (int i = 0; i < FD_PASS_MAX + 1; i++)
		sent[i] = pair->a;
	assert_err(&err, ERR_INVALID, fd_send_msg(pair->a, "x", 1, sent, FD_PASS_MAX + 1, &err));
}

UNIT_TEST_WITH(unwanted_descriptors_are_refused_and_closed, pair_open, pair_close)
{
	struct pair *pair = *state;
	int sent[3] = { pair->a, pair->b, pair->a };
	int got[2] = { -7, -7 };
	size_t nfds = 99;
	struct err err;
	char byte;

	assert_ok(&err, fd_send_msg(pair->a, "x", 1, sent, 3, &err));
	assert_err(&err, ERR_PROTOCOL,
		   (int)fd_recv_msg(pair->b, &byte, 1, got, 2, &nfds, &err));
	assert_int_equal(nfds, 0);
	assert_int_equal(got[0], -7);
	assert_ok(&err, fd_send_msg(pair->a, "x", 1, sent, 1, &err));
	assert_err(&err, ERR_PROTOCOL,
		   (int)fd_recv_msg(pair->b, &byte, 1, NULL, 0, &nfds, &err));
}

/* fd_send_msg() refuses so many descriptors, so the test calls sendmsg() itself. */
UNIT_TEST_WITH(a_flood_of_descriptors_is_refused_and_closed, pair_open, pair_close)
{
	enum { FLOOD = 100 };
	struct pair *pair = *state;
	union {
		char space[CMSG_SPACE(sizeof(int) * FLOOD)];
		struct cmsghdr align;
	} control;
	char byte = 'x';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	struct cmsghdr *head;
	int sent[FLOOD], got[FD_PASS_MAX];
	size_t nfds = 99;
	struct err err;

	for (int i = 0; i < FLOOD; i++)
		sent[i] = pair->a;
	memset(&control, 0, sizeof(control));
	head = CMSG_FIRSTHDR(&msg);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(sent));
	memcpy(CMSG_DATA(head), sent, sizeof(sent));
	assert_int_equal(sendmsg(pair->a, &msg, 0), 1);
	assert_err(&err, ERR_PROTOCOL,
		   (int)fd_recv_msg(pair->b, &byte, 1, got, FD_PASS_MAX, &nfds, &err));
	assert_int_equal(nfds, 0);
}

/* An empty packet looks like end of file; its descriptors must not stay open in the reader. */
UNIT_TEST_WITH(an_empty_packet_with_descriptors_is_refused, pair_open, pair_close)
{
	struct pair *pair = *state;
	int got[FD_PASS_MAX];
	size_t nfds = 99;
	struct err err;
	char byte;

	assert_ok(&err, fd_send_msg(pair->a, "", 0, &pair->a, 1, &err));
	assert_err(&err, ERR_PROTOCOL,
		   (int)fd_recv_msg(pair->b, &byte, 1, got, FD_PASS_MAX, &nfds, &err));
	assert_int_equal(nfds, 0);
}

UNIT_TEST_WITH(a_packet_longer_than_the_buffer_is_refused, pair_open, pair_close)
{
	struct pair *pair = *state;
	int got[FD_PASS_MAX];
	size_t nfds = 99;
	struct err err;
	char small[4];

	assert_ok(&err, fd_send_msg(pair->a, "12345", 5, &pair->a, 1, &err));
	assert_err(&err, ERR_PROTOCOL,
		   (int)fd_recv_msg(pair->b, small, sizeof(small), got, FD_PASS_MAX, &nfds, &err));
	assert_int_equal(nfds, 0);
	assert_ok(&err, fd_send_msg(pair->a, "1234", 4, NULL, 0, &err));
	assert_int_equal(fd_recv_msg(pair->b, small, sizeof(small), NULL, 0, &nfds, &err), 4);
}

UNIT_TEST_WITH(a_silent_or_stuck_peer_is_a_timeout, pair_open, pair_close)
{
	struct pair *pair = *state;
	static char bytes[4096];
	size_t nfds;
	struct err err;
	int code = 0;

	assert_ok(&err, fd_set_nonblock(pair->a, true, &err));
	assert_ok(&err, fd_set_nonblock(pair->b, true, &err));
	assert_err(&err, ERR_TIMEOUT,
		   (int)fd_recv_msg(pair->b, bytes, sizeof(bytes), NULL, 0, &nfds, &err));
	for (int i = 0; i < 100000 && code == 0; i++)
		code = fd_send_msg(pair->a, bytes, sizeof(bytes), NULL, 0, &err);
	assert_int_equal(code, ERR_TIMEOUT);
}

UNIT_TEST_WITH(sending_to_a_closed_peer_is_an_error_not_a_signal, pair_open, pair_close)
{
	struct pair *pair = *state;
	struct err err;

	(void)close(pair->b);
	pair->b = -1;
	assert_err(&err, ERR_SYSTEM, fd_send_msg(pair->a, "x", 1, NULL, 0, &err));
	assert_int_equal(err.errnum, EPIPE);
}

UNIT_TEST_WITH(sealed_memory_cannot_be_changed, pair_open, pair_close)
{
	cleanup_buf struct buf copy = BUF_INIT(64);
	cleanup_fd int fd = -1;
	struct err err;

	assert_ok(&err, fd_memfd_sealed("unit", "payload", 7, &fd, &err));
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(pwrite(fd, "X", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 3), -1);
	assert_int_equal(ftruncate(fd, 30), -1);
	assert_ptr_equal(mmap(NULL, 7, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_ok(&err, buf_adds(&copy, "<", &err));
	assert_ok(&err, fd_read_sealed(fd, &copy, &err));
	assert_string_equal(buf_text(&copy), "<payload");
}

UNIT_TEST_WITH(sealed_memory_may_be_empty, pair_open, pair_close)
{
	cleanup_buf struct buf copy = BUF_INIT(64);
	cleanup_fd int fd = -1;
	struct err err;

	assert_ok(&err, fd_memfd_sealed("unit", "", 0, &fd, &err));
	assert_ok(&err, fd_read_sealed(fd, &copy, &err));
	assert_int_equal(copy.len, 0);
}

/* Everything a peer could pass in place of a properly sealed memory file. */
UNIT_TEST_WITH(unsealed_or_foreign_files_are_refused, pair_open, pair_close)
{
	static const int partial[] = { 0, F_SEAL_GROW, F_SEAL_WRITE, F_SEAL_SHRINK,
				       F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK };
	cleanup_buf struct buf copy = BUF_INIT(64);
	cleanup_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cleanup_fd int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct err err;
	int ends[2];

	for (size_t i = 0; i < ARRAY_LEN(partial); i++) {
		cleanup_fd int fd = memfd_create("unit", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_int_equal(write(fd, "bytes", 5), 5);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, partial[i]), 0);
		assert_err(&err, ERR_PROTOCOL, fd_read_sealed(fd, &copy, &err));
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_err(&err, ERR_PROTOCOL, fd_read_sealed(ends[0], &copy, &err));
	assert_err(&err, ERR_PROTOCOL, fd_read_sealed(null, &copy, &err));
	assert_err(&err, ERR_PROTOCOL, fd_read_sealed(self, &copy, &err));
	assert_err(&err, ERR_PROTOCOL, fd_read_sealed(-1, &copy, &err));
	assert_int_equal(copy.len, 0);
	close_them(ends, 2);
}

UNIT_TEST_WITH(sealed_memory_is_read_up_to_the_limit, pair_open, pair_close)
{
	cleanup_buf struct buf small = BUF_INIT(6);
	cleanup_fd int fd = -1, sparse = memfd_create("unit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct err err;

	assert_ok(&err, fd_memfd_sealed("unit", "payload", 7, &fd, &err));
	assert_err(&err, ERR_LIMIT, fd_read_sealed(fd, &small, &err));
	assert_int_equal(ftruncate(sparse, (off_t)1 << 40), 0);
	assert_int_equal(fcntl(sparse, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK), 0);
	assert_err(&err, ERR_LIMIT, fd_read_sealed(sparse, &small, &err));
	assert_int_equal(small.len, 0);
}

struct mapping {
	void *page;
	size_t len;
};

static void *unmap_later(void *arg)
{
	const struct timespec pause = { .tv_nsec = 30000000 };
	const struct mapping *mapping = arg;

	(void)nanosleep(&pause, NULL);
	(void)munmap(mapping->page, mapping->len);
	return NULL;
}

UNIT_TEST_WITH(a_seal_waits_until_a_writable_mapping_is_gone, pair_open, pair_close)
{
	cleanup_fd int fd = memfd_create("held", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct mapping mapping = { .len = 4096 };
	pthread_t thread;
	struct err err;

	assert_int_equal(ftruncate(fd, 4096), 0);
	mapping.page = mmap(NULL, mapping.len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapping.page, MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(pthread_create(&thread, NULL, unmap_later, &mapping), 0);
	assert_int_equal(fd_seal(fd, F_SEAL_WRITE, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE);
}

UNIT_TEST_WITH(a_seal_gives_up_if_a_writable_mapping_stays, pair_open, pair_close)
{
	cleanup_fd int fd = memfd_create("held", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *page;
	struct err err;

	assert_int_equal(ftruncate(fd, 4096), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_err(&err, ERR_SYSTEM, fd_seal(fd, F_SEAL_WRITE, &err));
	assert_int_equal(err.errnum, EBUSY);
	(void)munmap(page, 4096);
}
