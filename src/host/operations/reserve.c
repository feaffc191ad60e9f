/*
 * reserve.c - disk space reserved for deletions, which must write before they free any.
 *
 * Runs in:  reckond's loop.
 * Reads:    the free space of the state directory's file system.
 * Never:    lets data be added to the last free space: that is refused while the reserve is in use.
 *
 * To delete a row, its entry in the audit and the log of the database need pages. They use the
 * space of a preallocated file, which is shortened by a slice when almost nothing is free, and
 * grows again when space has been freed.
 */
#include "host/operations/reserve.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "host/host.h"

#define FILE_NAME "reserve"
#define WANTED ((uint64_t)8 << 20)
#define WANTED_PRIVATE ((uint64_t)1 << 20) /* for a private daemon, beside which others may run */
#define SHARE 4u /* at most this fraction of a small disk */
#define LOW ((uint64_t)256 << 10)
#define SLICE ((uint64_t)1 << 20)

uint64_t reserve_left(const struct host *host)
{
	struct statvfs disk;

	if (fstatvfs(host->place.state_fd, &disk) < 0)
		return UINT64_MAX;
	return (uint64_t)disk.f_bavail * disk.f_frsize;
}

static bool set_size(struct reserve *reserve, uint64_t size)
{
	/* allocates blocks, so that the file is not sparse */
	const bool is_done = size > reserve->size
				     ? posix_fallocate(reserve->fd, 0, (off_t)size) == 0
				     : ftruncate(reserve->fd, (off_t)size) == 0;

	if (is_done)
		reserve->size = size;
	else if (ftruncate(reserve->fd, (off_t)reserve->size) < 0)
		reserve->size = reserve->wanted = 0; /* its size is unknown */
	return is_done;
}

void reserve_setup(struct host *host)
{
	struct reserve *reserve = &host->operations.reserve;
	uint64_t left;

	reserve->fd = openat(host->place.state_fd, FILE_NAME,
			     O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (reserve->fd < 0)
		return;
	left = reserve_left(host);
	reserve->wanted = host->config.is_private ? WANTED_PRIVATE : WANTED;
	if (reserve->wanted > left / SHARE)
		reserve->wanted = left / SHARE;
	if (!set_size(reserve, reserve->wanted))
		reserve->wanted = 0;
}

static void give_up(struct reserve *reserve, uint64_t left)
{
	if (!reserve->is_full)
		log_line(LOG_ERROR,
			 "the disk of the state directory is full: nothing is begun, or added",
			 "left=%" PRIu64 " reserve=%" PRIu64, left, reserve->size);
	reserve->is_full = true;
	if (reserve->fd >= 0 && reserve->size > 0)
		(void)set_size(reserve, reserve->size > SLICE ? reserve->size - SLICE : 0);
}

static void take_again(struct reserve *reserve, uint64_t left)
{
	const uint64_t missing = reserve->wanted - reserve->size;

	/* Must be more than what give_up() would free again at once. */
	if (left < missing + LOW + SLICE || (missing > 0 && !set_size(reserve, reserve->wanted)))
		return;
	reserve->is_full = false;
	log_line(LOG_WARN, "there is room on the disk of the state directory again",
		 "left=%" PRIu64, left - missing);
}

void reserve_look(struct host *host)
{
	const uint64_t left = reserve_left(host);

	if (left < LOW)
		give_up(&host->operations.reserve, left);
	else if (host->operations.reserve.is_full)
		take_again(&host->operations.reserve, left);
}

void reserve_stop(struct host *host)
{
	if (host->operations.reserve.fd >= 0)
		(void)close(host->operations.reserve.fd);
	host->operations.reserve.fd = -1;
}
