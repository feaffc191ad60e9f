/*
 * account.c - reads what the processes of a box have used.
 *
 * Runs in:  the warden.
 * Reads:    Linux's control files.
 * Never:    fails: what this host does not count is 0.
 */
#include "box/cgroup/cgroup.h"

#include <string.h>

#include "box/cgroup/file.h"
#include "box/cgroup/group.h"

/* The total is exact. Its parts are counted in ticks, too coarse for a cell, and only divide it. */
static void read_cpu_v1(int base, const char *name, struct cgroup_usage *ret)
{
	const uint64_t total = cgroup_file_number(base, name, "cpuacct.usage");
	const uint64_t system = cgroup_file_number(base, name, "cpuacct.usage_sys");
	const uint64_t user = cgroup_file_number(base, name, "cpuacct.usage_user");
	const double share = user + system > 0 ? (double)user / (double)(user + system) : 1.0;

	ret->cpu_user_ns = (uint64_t)((double)total * share);
	ret->cpu_system_ns = total - ret->cpu_user_ns;
}

void cgroup_read_cpu(const struct cgroup_host *host, const char *name, struct cgroup_usage *ret)
{
	char part[128];

	if (host->kind == CGROUP_V1 && host->base[CG_CPUACCT] >= 0) {
		read_cpu_v1(host->base[CG_CPUACCT], cgroup_name_in(host, CG_CPUACCT, name), ret);
	} else if (host->kind == CGROUP_V2) {
		const int base = host->base[CG_FREEZER];

		cgroup_part_name(part, sizeof(part), name, "box");
		ret->cpu_user_ns = cgroup_file_key(base, part, "cpu.stat", "user_usec") * 1000;
		ret->cpu_system_ns = cgroup_file_key(base, part, "cpu.stat", "system_usec") * 1000;
	}
}

static void read_v1(const struct cgroup_host *host, const char *box, struct cgroup_usage *ret)
{
	const int memory = host->base[CG_MEMORY], pids = host->base[CG_PIDS];
	const char *name = cgroup_name_in(host, CG_MEMORY, box);

	if (memory >= 0) {
		ret->memory_bytes = cgroup_file_number(memory, name, "memory.usage_in_bytes");
		ret->memory_peak_bytes =
			cgroup_file_number(memory, name, "memory.max_usage_in_bytes");
		ret->oom_kills = cgroup_file_key(memory, name, "memory.oom_control", "oom_kill");
	}
	name = cgroup_name_in(host, CG_PIDS, box);
	if (pids >= 0) {
		ret->pids = cgroup_file_number(pids, name, "pids.current");
		ret->pids_peak = cgroup_file_number(pids, name, "pids.peak");
		ret->pids_refused = cgroup_file_key(pids, name, "pids.events", "max");
	}
}

static void read_v2(const struct cgroup_host *host, const char *name, struct cgroup_usage *ret)
{
	const int base = host->base[CG_FREEZER];
	char part[128];

	cgroup_part_name(part, sizeof(part), name, "box");
	ret->memory_bytes = cgroup_file_number(base, name, "memory.current");
	ret->memory_peak_bytes = cgroup_file_number(base, name, "memory.peak");
	ret->oom_kills = cgroup_file_key(base, name, "memory.events", "oom_kill");
	ret->pids = cgroup_file_number(base, part, "pids.current");
	ret->pids_peak = cgroup_file_number(base, part, "pids.peak");
	ret->pids_refused = cgroup_file_key(base, part, "pids.events", "max");
}

void cgroup_read(const struct cgroup_host *host, const char *name, struct cgroup_usage *ret)
{
	memset(ret, 0, sizeof(*ret));
	cgroup_read_cpu(host, name, ret);
	if (host->kind == CGROUP_V1)
		read_v1(host, name, ret);
	else if (host->kind == CGROUP_V2)
		read_v2(host, name, ret);
}

void cgroup_reset_peak(const struct cgroup_host *host, const char *name)
{
	/* v2 lets the peak be reset from Linux 6.12 on, per open descriptor only: not used. */
	if (host->kind == CGROUP_V1 && host->base[CG_MEMORY] >= 0)
		cgroup_file_reset(host->base[CG_MEMORY], cgroup_name_in(host, CG_MEMORY, name),
				  "memory.max_usage_in_bytes");
}
