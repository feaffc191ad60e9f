/*
 * test_host_reserve.c - a disk reserve that cannot grow keeps its size until it can.
 *
 * Runs in:  the unit suite.
 * Reads:    a temporary directory of its own.
 * Never:    fills a disk: RLIMIT_FSIZE makes the system refuse to grow the file.
 */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"

static void limit_file_size(uint64_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static uint64_t size_of(const struct host *host)
{
	struct stat st;

	assert_int_equal(fstat(host->operations.reserve.fd, &st), 0);
	return (uint64_t)st.st_size;
}

UNIT_TEST(a_reserve_that_cannot_grow_keeps_its_size)
{
	static struct host host;
	char path[64];
	uint64_t wanted;

	host.config.is_private = true;
	host.place.state_fd = unit_mkdir(path);
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	reserve_setup(&host);
	wanted = host.operations.reserve.wanted;
	assert_true(wanted > 1 && host.operations.reserve.size == wanted && size_of(&host) == wanted);
	/* As after a full disk: half of the reserve has been released. */
	host.operations.reserve.is_full = true;
	host.operations.reserve.size = wanted / 2;
	assert_int_equal(ftruncate(host.operations.reserve.fd, (off_t)host.operations.reserve.size), 0);
	limit_file_size(wanted - 1);
	reserve_look(&host);
	assert_true(host.operations.reserve.is_full);
	assert_int_equal(host.operations.reserve.size, wanted / 2);
	assert_int_equal(host.operations.reserve.wanted, wanted);
	assert_int_equal(size_of(&host), wanted / 2);
	limit_file_size(RLIM_INFINITY);
	reserve_look(&host);
	assert_false(host.operations.reserve.is_full);
	assert_int_equal(host.operations.reserve.size, wanted);
	assert_int_equal(size_of(&host), wanted);
	reserve_stop(&host);
	(void)close(host.place.state_fd);
	unit_rmdir(path);
}
