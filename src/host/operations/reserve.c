/*
 * reserve.c - room on the disk that is kept for deletions, which have to write before they free any.
 *
 * Runs in:  reckond's loop.
 * Reads:    how much is free where the state directory is.
 * Never:    lets what only adds take the last room: that is refused while the reserve is in use.
 *
 * A row that goes, the entry of the audit that says so and the log of the database need pages. They
 * get them from a file of zeros, which gives up a slice whenever next to nothing is left, and is
 * filled again when others have made room.
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
#define WANTED_PRIVATE ((uint64_t)1 << 20) /* of one user, who has others' state beside */
#define SHARE 4u /* of a small disk at most this part */
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
	/* Blocks, not a hole. */
	const bool is_done = size > reserve->size
				     ? posix_fallocate(reserve->fd, 0, (off_t)size) == 0
				     : ftruncate(reserve->fd, (off_t)size) == 0;

	if (is_done)
		reserve->size = size;
	else if (ftruncate(reserve->fd, (off_t)reserve->size) < 0)
		reserve->size = reserve->wanted = 0; /* nobody knows what it holds */
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

	/* More than what would be given up again the next moment. */
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
