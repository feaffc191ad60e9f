/*
 * priority.c - who wakes up first on a busy host.
 *
 * Runs in:  the warden, reckond, reckon-front: once at their start, and as cells begin and go on.
 * Reads:    nothing.
 * Never:    fails, or lets a child inherit it: kernels descend from the warden.
 */
#include "base/process/priority.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE (-5)
#define TURN_NS 100000u /* the shortest there are: before a cell that begins (sched_slice.c) */

static void raise_session(void)
{
	const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	char text[8];
	const int len = snprintf(text, sizeof(text), "%d", NICE);

	if (fd < 0)
		return;
	(void)!write(fd, text, (size_t)len);
	(void)close(fd);
}

void priority_turns(pid_t task, uint64_t turn_ns)
{
	struct sched_attr attr = { .size = sizeof(attr) };

	/* It may have made itself nicer, and stays so. */
	if (syscall(SYS_sched_getattr, task, &attr, sizeof(attr), 0) < 0)
		return;
	attr.sched_runtime = turn_ns;
	(void)syscall(SYS_sched_setattr, task, &attr, 0);
}

void priority_raise(void)
{
	struct sched_attr attr = { .size = sizeof(attr),
				   .sched_policy = SCHED_NORMAL,
				   .sched_flags = SCHED_FLAG_RESET_ON_FORK,
				   .sched_nice = NICE,
				   .sched_runtime = TURN_NS };

	/* An ordinary user's processes stay as nice as they are. */
	if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0) {
		attr.sched_nice = getpriority(PRIO_PROCESS, 0);
		(void)syscall(SYS_sched_setattr, 0, &attr, 0);
	}
	/* Linux may share processors out by terminal session first, where that is nothing among
	 * others. One that somebody else has too is not ours to raise. */
	if (getsid(0) != getsid(getppid()))
		raise_session();
}
