/*
 * process.c - the groups of the processes that a client starts in a box.
 *
 * Runs in:  the warden.
 * Reads:    Linux's cgroup files.
 * Never:    limits anything here: the groups above limit a box.
 *
 * Each process has a group of its own below its box's, NAME/pN (v1: in the hierarchies of memory,
 * pids, cpuacct and freezer; v2: NAME/box/pN). It cannot leave the group from inside, however often
 * it forks: so the group tells what belongs to it, and what it used. On v2 the box's group has
 * processes itself, so its children get no controllers of memory and pids: there only processor
 * time is exact, the number of processes is counted at each reading, and memory is not known.
 */
#include "box/cgroup/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "box/cgroup/file.h"
#include "box/cgroup/group.h"

#define KILL_ROUNDS 16
#define GONE_TRIES 400 /* 0.5 ms apart */

static const enum cgroup_controller own_v1[] = { CG_MEMORY, CG_PIDS, CG_CPUACCT, CG_FREEZER };

static bool is_own(enum cgroup_controller controller)
{
	return controller != CG_CPU;
}

static void group_name(const struct cgroup_host *host, enum cgroup_controller controller,
		       const char *box, uint32_t number, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%s%s/p%u", cgroup_name_in(host, controller, box),
		       host->kind == CGROUP_V2 ? "/box" : "", number);
}

static int make_one(const struct cgroup_host *host, enum cgroup_controller controller,
		    const char *box, uint32_t number, struct err *err)
{
	char group[160];

	if (host->base[controller] < 0)
		return 0;
	group_name(host, controller, box, number, group, sizeof(group));
	if (mkdirat(host->base[controller], group, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make cgroup %s", group);
	return 0;
}

int cgroup_process_create(const struct cgroup_host *host, const char *box, uint32_t number,
			  struct err *err)
{
	if (host->kind == CGROUP_V2)
		return make_one(host, CG_FREEZER, box, number, err);
	for (size_t i = 0; host->kind == CGROUP_V1 && i < ARRAY_LEN(own_v1); i++)
		if (make_one(host, own_v1[i], box, number, err) < 0) {
			(void)cgroup_process_remove(host, box, number);
			return (int)err->code;
		}
	return 0;
}

bool cgroup_process_remove(const struct cgroup_host *host, const char *box, uint32_t number)
{
	bool is_gone = true;

	for (int i = 0; host->kind != CGROUP_NONE && i < CG_COUNT; i++) {
		char group[160];

		if (host->base[i] < 0 || !is_own((enum cgroup_controller)i) ||
		    (host->kind == CGROUP_V2 && i != CG_FREEZER))
			continue;
		group_name(host, (enum cgroup_controller)i, box, number, group, sizeof(group));
		cgroup_file_forget(group);
		is_gone = (unlinkat(host->base[i], group, AT_REMOVEDIR) == 0 || errno == ENOENT) &&
			  is_gone;
	}
	return is_gone;
}

static int open_tasks_file(const struct cgroup_host *host, enum cgroup_controller controller,
			   const char *box, uint32_t number, int *ret, struct err *err)
{
	char path[192];
	char group[160];

	if (is_own(controller))
		group_name(host, controller, box, number, group, sizeof(group));
	else
		(void)snprintf(group, sizeof(group), "%s", cgroup_name_in(host, controller, box));
	(void)snprintf(path, sizeof(path), "%s/tasks", group);
	*ret = openat(host->base[controller], path, O_WRONLY | O_CLOEXEC);
	return *ret < 0 ? err_sys(err, "open cgroup file %s", path) : 0;
}

int cgroup_process_join(const struct cgroup_host *host, const char *box, uint32_t number,
			 struct cgroup_joins *ret, struct err *err)
{
	struct cgroup_joins joins = { .leave = -1 };

	/* The cpu group first: if cpuacct is in the same hierarchy, the process's own group is
	 * joined last and counts. */
	for (int pass = 0; host->kind == CGROUP_V1 && pass < 2; pass++)
		for (int i = 0; i < CG_COUNT; i++) {
			if (host->base[i] < 0 || is_own((enum cgroup_controller)i) != (pass == 1))
				continue;
			if (open_tasks_file(host, (enum cgroup_controller)i, box, number,
					    &joins.fd[joins.count], err) < 0) {
				cgroup_joins_close(&joins);
				return (int)err->code;
			}
			joins.count++;
		}
	*ret = joins;
	return 0;
}

int cgroup_process_attach(const struct cgroup_host *host, const char *box, uint32_t number,
			  pid_t pid, struct err *err)
{
	char group[160];

	if (host->kind != CGROUP_V2)
		return 0;
	group_name(host, CG_FREEZER, box, number, group, sizeof(group));
	return cgroup_file_write_u64(host->base[CG_FREEZER], group, "cgroup.procs", (uint64_t)pid,
				     err);
}

size_t cgroup_process_count(const struct cgroup_host *host, const char *box, uint32_t number)
{
	MEM_UNINIT char text[65536];
	char group[160];
	size_t count = 0;

	if (!cgroup_has(host, CG_FREEZER))
		return 0;
	group_name(host, CG_FREEZER, box, number, group, sizeof(group));
	if (cgroup_file_text(host->base[CG_FREEZER], group, "cgroup.procs", text, sizeof(text)) <=
	    0)
		return 0;
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		count++;
	return count;
}

static void freeze(const struct cgroup_host *host, const char *group, bool frozen)
{
	const bool is_v2 = host->kind == CGROUP_V2;
	const char *state = frozen ? "FROZEN" : "THAWED";
	struct err ignored;

	(void)cgroup_file_write(host->base[CG_FREEZER], group,
				is_v2 ? "cgroup.freeze" : "freezer.state",
				!is_v2 ? state : frozen ? "1" : "0", &ignored);
}

/* As cgroup_kernel_kill(). */
int cgroup_process_kill(const struct cgroup_host *host, const char *box, uint32_t number)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	char group[160];
	struct err ignored;
	int left = 0;

	if (!cgroup_has(host, CG_FREEZER))
		return ERR_UNAVAILABLE;
	group_name(host, CG_FREEZER, box, number, group, sizeof(group));
	if (cgroup_file_kill_procs(host->base[CG_FREEZER], group, 0) == 0)
		return 0;
	if (host->kind == CGROUP_V2 &&
	    cgroup_file_write(host->base[CG_FREEZER], group, "cgroup.kill", "1", &ignored) == 0)
		left = 1;
	else
		for (int round = 0; round < KILL_ROUNDS; round++) {
			freeze(host, group, true);
			left = cgroup_file_kill_procs(host->base[CG_FREEZER], group, 0);
			freeze(host, group, false);
			if (left == 0)
				break;
			(void)nanosleep(&pause, NULL);
		}
	for (int tries = 0; left > 0 && tries < GONE_TRIES; tries++) {
		(void)nanosleep(&pause, NULL);
		left = cgroup_file_kill_procs(host->base[CG_FREEZER], group, 0);
	}
	return left;
}

static void read_v1(const struct cgroup_host *host, const char *box, uint32_t number,
		    struct cgroup_usage *ret)
{
	const int memory = host->base[CG_MEMORY], pids = host->base[CG_PIDS],
		  cpu = host->base[CG_CPUACCT];
	char group[160];

	if (memory >= 0) {
		group_name(host, CG_MEMORY, box, number, group, sizeof(group));
		ret->memory_bytes = cgroup_file_number(memory, group, "memory.usage_in_bytes");
		ret->memory_peak_bytes =
			cgroup_file_number(memory, group, "memory.max_usage_in_bytes");
		ret->oom_kills = cgroup_file_key(memory, group, "memory.oom_control", "oom_kill");
	}
	if (pids >= 0) {
		group_name(host, CG_PIDS, box, number, group, sizeof(group));
		ret->pids = cgroup_file_number(pids, group, "pids.current");
		ret->pids_peak = cgroup_file_number(pids, group, "pids.peak");
		ret->pids_refused = cgroup_file_key(pids, group, "pids.events", "max");
	}
	if (cpu >= 0) {
		uint64_t total, user;

		group_name(host, CG_CPUACCT, box, number, group, sizeof(group));
		total = cgroup_file_number(cpu, group, "cpuacct.usage");
		user = cgroup_file_number(cpu, group, "cpuacct.usage_user");
		/* The two are read one after the other; the total is exact, user time is counted in
		 * ticks. */
		ret->cpu_user_ns = user < total ? user : total;
		ret->cpu_system_ns = total - ret->cpu_user_ns;
	}
}

void cgroup_process_read(const struct cgroup_host *host, const char *box, uint32_t number,
			 struct cgroup_usage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (host->kind == CGROUP_V1) {
		read_v1(host, box, number, ret);
	} else if (host->kind == CGROUP_V2) {
		const int base = host->base[CG_FREEZER];
		char group[160];

		group_name(host, CG_FREEZER, box, number, group, sizeof(group));
		ret->cpu_user_ns = cgroup_file_key(base, group, "cpu.stat", "user_usec") * 1000;
		ret->cpu_system_ns = cgroup_file_key(base, group, "cpu.stat", "system_usec") * 1000;
		ret->pids = cgroup_process_count(host, box, number);
	}
}
