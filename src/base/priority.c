/*
 * priority.c - who wakes up first on a busy host.
 *
 * Runs in:  the warden, reckond's loop, reckon-front, once at their start.
 * Reads:    nothing.
 * Never:    fails, or lets a child inherit it: kernels descend from the warden.
 */
#include "base/priority.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE (-5)
#define TURN_NS 500000u /* of Linux 6.12 or later; others do not look at it */

void priority_raise(void)
{
	struct sched_attr attr = { .size = sizeof(attr),
				   .sched_policy = SCHED_NORMAL,
				   .sched_flags = SCHED_FLAG_RESET_ON_FORK,
				   .sched_nice = NICE,
				   .sched_runtime = TURN_NS };

	/* An ordinary user's stay what they are. */
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
