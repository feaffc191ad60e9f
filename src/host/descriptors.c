/*
 * descriptors.c - checks whether this process can open more files.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own limits.
 */
#include "host/descriptors.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTORS_NEEDED 16u /* for a session with its first execution, and a reserve */
#define DESCRIPTORS_PLENTY 4096u

/* Opens descriptors only near the limit: the lowest free number tells how near it is. */
bool descriptors_are_left(void)
{
	int taken[DESCRIPTORS_NEEDED];
	size_t count = 0;
	struct rlimit limit;
	bool is_enough = true;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return true;
	while (count < DESCRIPTORS_NEEDED && is_enough) {
		taken[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		is_enough = taken[count] >= 0;
		count += is_enough;
		if (is_enough && (rlim_t)taken[count - 1] + DESCRIPTORS_PLENTY < limit.rlim_cur)
			break;
	}
	while (count > 0)
		(void)close(taken[--count]);
	return is_enough;
}
