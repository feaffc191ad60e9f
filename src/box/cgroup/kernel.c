/*
 * kernel.c - the groups of the further kernels of a box.
 *
 * Runs in:  the warden.
 * Reads:    Linux's cgroup files.
 * Never:    limits anything here: the groups above limit a box.
 *
 * The first kernel of a box lives in the box's own group, each further one in a group below it:
 * NAME/k1, NAME/k2 … of the freezer's hierarchy (v1), NAME/box/k1 … (v2). A process cannot leave a
 * group from inside, however often it forks and whoever adopts it: so the group tells which kernel
 * it belongs to.
 */
#include "box/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"
#include "box/cgroup/group.h"

#define GONE_TRIES 400 /* 0.5 ms apart */
#define KILL_ROUNDS 16

void cgroup_kernel_group(const struct cgroup_host *host, const char *name, unsigned place,
			 char *ret, size_t size)
{
	const char *part = host->kind == CGROUP_V2 ? "/box" : "";
	const char *box = cgroup_name_in(host, CG_FREEZER, name);

	if (place == 0)
		(void)snprintf(ret, size, "%s%s", box, part);
	else
		(void)snprintf(ret, size, "%s%s/k%u", box, part, place);
}

int cgroup_kernel_create(const struct cgroup_host *host, const char *name, unsigned place,
			 struct err *err)
{
	char group[128];

	if (place == 0 || !cgroup_has(host, CG_FREEZER))
		return 0;
	cgroup_kernel_group(host, name, place, group, sizeof(group));
	if (mkdirat(host->base[CG_FREEZER], group, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make cgroup %s", group);
	return 0;
}

void cgroup_kernel_remove(const struct cgroup_host *host, const char *name, unsigned place)
{
	char group[128];

	if (place == 0 || !cgroup_has(host, CG_FREEZER))
		return;
	cgroup_kernel_group(host, name, place, group, sizeof(group));
	(void)unlinkat(host->base[CG_FREEZER], group, AT_REMOVEDIR);
}

/* The groups below are frozen for as long, too. */
static int freeze_group(const struct cgroup_host *host, const char *group, bool frozen)
{
	const bool is_v2 = host->kind == CGROUP_V2;
	const char *state = frozen ? "FROZEN" : "THAWED";
	struct err ignored;

	return cgroup_file_write(host->base[CG_FREEZER], group,
				 is_v2 ? "cgroup.freeze" : "freezer.state",
				 !is_v2 ? state : frozen ? "1" : "0", &ignored);
}

/*
 * A task that is about to freeze cannot complete a fork: the signal that stops it makes a fork that
 * has begun start anew. So the list is complete after a round or two; a task that cannot stop now
 * (in an uninterruptible wait) is killed all the same.
 */
int cgroup_kernel_kill(const struct cgroup_host *host, const char *name, unsigned place,
		       pid_t spare)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	char group[128];
	struct err ignored;
	int left = 0;

	if (!cgroup_has(host, CG_FREEZER))
		return ERR_UNAVAILABLE;
	cgroup_kernel_group(host, name, place, group, sizeof(group));
	if (place > 0 && host->kind == CGROUP_V2 &&
	    cgroup_file_write(host->base[CG_FREEZER], group, "cgroup.kill", "1", &ignored) == 0)
		left = 1;
	else
		for (int round = 0; round < KILL_ROUNDS; round++) {
			(void)freeze_group(host, group, true);
			left = cgroup_file_kill_procs(host->base[CG_FREEZER], group, spare);
			(void)freeze_group(host, group, false);
			if (left == 0)
				break;
			(void)nanosleep(&pause, NULL);
		}
	for (int tries = 0; left > 0 && tries < GONE_TRIES; tries++) {
		(void)nanosleep(&pause, NULL);
		left = cgroup_file_kill_procs(host->base[CG_FREEZER], group, spare);
	}
	return left;
}
