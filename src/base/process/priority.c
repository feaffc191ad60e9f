/*
 * priority.c - which processes Linux runs first on a busy host.
 *
 * Runs in:  the warden, reckond, reckon-front: at their start, and when a cell begins or continues.
 * Reads:    nothing.
 * Never:    fails, or lets a child inherit the priority: kernels are descendants of the warden.
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
#define TURN_NS 100000u /* the shortest of all: runs before a cell that begins (sched_slice.c) */

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

	/* The task may have raised its nice value: keep it. */
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

	/* Without the right to lower it, keep the nice value and set only the slice. */
	if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0) {
		attr.sched_nice = getpriority(PRIO_PROCESS, 0);
		(void)syscall(SYS_sched_setattr, 0, &attr, 0);
	}
	/* Linux may first divide processors among terminal sessions, where this process would be
	 * one of many. A session that other processes share is not raised. */
	if (getsid(0) != getsid(getppid()))
		raise_session();
}
