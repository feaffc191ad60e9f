/*
 * settle.c - makes a v2 group that was delegated to us fit to have groups below it.
 *
 * Runs in:  the warden, once, before it makes its own group.
 * Reads:    the group's attributes, its controllers and the pids of its processes.
 * Never:    moves a process out of a group that was not delegated to us: that of a login shell also
 *           has the user's other programs.
 */
#include "box/cgroup/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"

#define LEAF "daemon"
#define PASSES 20 /* processes may fork while we read */

static bool read_file(int dir, const char *name, char *text, size_t size)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* systemd marks a group that it delegates: as root with trusted.delegate, else user.delegate. */
static bool is_delegated(const char *group)
{
	char value[4];

	return (getxattr(group, "trusted.delegate", value, sizeof(value)) == 1 ||
		getxattr(group, "user.delegate", value, sizeof(value)) == 1) &&
	       value[0] == '1';
}

/* Moves every process; returns how many it moved. */
static int move_all(int dir, const char *text)
{
	struct err ignored;
	int count = 0;

	for (const char *at = text; *at != '\0';) {
		char *end, pid[24];
		const long number = strtol(at, &end, 10);

		if (end == at)
			break;
		(void)snprintf(pid, sizeof(pid), "%ld", number);
		/* 0: a process outside our pid namespace, which we may not move. */
		if (number > 0 &&
		    cgroup_file_write(dir, LEAF, "cgroup.procs", pid, &ignored) == 0)
			count++;
		at = end + strspn(end, "\n");
	}
	return count;
}

void cgroup_settle_raise(int dir)
{
	struct err ignored;

	(void)cgroup_file_write(dir, LEAF, "cpu.weight", "1000", &ignored);
}

bool cgroup_settle(const char *group, bool is_top)
{
	char text[32768];
	cleanup_fd int dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 ||
	    (!is_delegated(group) && !(is_top && faccessat(dir, "cgroup.type", F_OK, 0) == 0)))
		return false;
	/* Move nothing if the group offers no limits. */
	if (!read_file(dir, "cgroup.controllers", text, sizeof(text)) ||
	    (strstr(text, "memory") == NULL && strstr(text, "pids") == NULL))
		return false;
	if (mkdirat(dir, LEAF, 0755) < 0 && errno != EEXIST)
		return false;
	for (int pass = 0; pass < PASSES; pass++)
		if (!read_file(dir, "cgroup.procs", text, sizeof(text)) || move_all(dir, text) == 0)
			break;
	return true;
}
