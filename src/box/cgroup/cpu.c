/*
 * cpu.c - limits the processor time of a group.
 *
 * Runs in:  the warden.
 * Reads:    nothing.
 * Never:    distinguishes boxes from groups of boxes: their files are the same.
 */
#include <stdio.h>

#include "box/cgroup/file.h"
#include "box/cgroup/group.h"

#define PERIOD_US 100000

int cgroup_cpu_limit(const struct cgroup_host *host, const char *group, uint32_t percent,
		     struct err *err)
{
	char text[48] = "-1";

	if (host->kind == CGROUP_V2) {
		(void)snprintf(text, sizeof(text), "max %d", PERIOD_US);
		if (percent > 0)
			(void)snprintf(text, sizeof(text), "%llu %d", percent * 1000ull, PERIOD_US);
		return cgroup_file_write(host->base[CG_CPU], group, "cpu.max", text, err);
	}
	if (percent > 0)
		(void)snprintf(text, sizeof(text), "%llu", percent * 1000ull);
	return cgroup_file_write(host->base[CG_CPU], group, "cpu.cfs_quota_us", text, err);
}

int cgroup_group_limit_box(const struct cgroup_host *host, const char *name, uint32_t percent,
			   struct err *err)
{
	char part[128];

	if (host->kind != CGROUP_V2)
		return cgroup_cpu_limit(host, name, percent, err);
	cgroup_part_name(part, sizeof(part), name, "box");
	return cgroup_cpu_limit(host, part, percent, err);
}
