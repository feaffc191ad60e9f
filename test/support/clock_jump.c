/*
 * clock_jump.c - makes the wall clock of a program jump, by the time in a file.
 *
 * Runs in:  a program under test, by LD_PRELOAD.
 * Reads:    the file that CLOCK_JUMP_FILE names: eight bytes, seconds to add.
 * Never:    changes the monotonic clock, which no administrator can set.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static const volatile int64_t *jump;

__attribute__((constructor)) static void open_jump(void)
{
	const char *path = getenv("CLOCK_JUMP_FILE");
	const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd >= 0 ? mmap(NULL, sizeof(*jump), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (map != MAP_FAILED)
		jump = map;
	if (fd >= 0)
		(void)close(fd);
}

static time_t offset(void)
{
	return jump != NULL ? (time_t)*jump : 0;
}

SHOWN int clock_gettime(clockid_t id, struct timespec *ret)
{
	const int code = (int)syscall(SYS_clock_gettime, id, ret);

	if (code == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ret->tv_sec += offset();
	return code;
}

SHOWN time_t time(time_t *ret)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret != NULL)
		*ret = now.tv_sec;
	return now.tv_sec;
}

SHOWN int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*ret = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}
