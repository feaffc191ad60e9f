/*
 * held_sync.c - simulates a slow or broken disk for a daemon.
 *
 * Runs in:  reckond only, by LD_PRELOAD; it does not affect other programs.
 * Reads:    the file that HELD_SYNC_FILE names. While it exists, a sync blocks; if it contains
 *           "fail", a sync returns an I/O error instead. HELD_SYNC_US: the time that a sync takes.
 * Never:    syncs a file: tests check only who waits for a sync.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static const char *held;
static struct timespec each;

__attribute__((constructor)) static void begin(void)
{
	char self[4096];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *us = getenv("HELD_SYNC_US");

	if (us != NULL)
		each.tv_nsec = atol(us) % 1000000 * 1000;
	if (len >= 8 && strncmp(self + len - 8, "/reckond", 8) == 0)
		held = getenv("HELD_SYNC_FILE");
}

static bool is_held(bool *ret_fails)
{
	char text[4] = "";
	const int fd = held != NULL ? open(held, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return false;
	*ret_fails = read(fd, text, sizeof(text)) == sizeof(text) && memcmp(text, "fail", 4) == 0;
	(void)close(fd);
	return true;
}

static int wait_for_disk(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	bool fails = false;

	while (is_held(&fails)) {
		if (fails) {
			errno = EIO;
			return -1;
		}
		(void)nanosleep(&pause, NULL);
	}
	(void)nanosleep(&each, NULL);
	return 0;
}

/* A rename blocks as well while the file HELD_RENAME_FILE exists. */
SHOWN int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const char *file = held != NULL ? getenv("HELD_RENAME_FILE") : NULL;

	while (file != NULL && access(file, F_OK) == 0)
		(void)nanosleep(&pause, NULL);
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

SHOWN int fsync(int fd)
{
	(void)fd;
	return wait_for_disk();
}

SHOWN int fdatasync(int fd)
{
	(void)fd;
	return wait_for_disk();
}
