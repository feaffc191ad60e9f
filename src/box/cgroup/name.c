/*
 * name.c - tells which controllers there are, and the name of a box in their hierarchies.
 *
 * Runs in:  the warden.
 * Reads:    nothing.
 * Never:    touches a group.
 */
#include <string.h>

#include "box/cgroup/group.h"

bool cgroup_has(const struct cgroup_host *host, enum cgroup_controller controller)
{
	return host->base[controller] >= 0;
}

static bool is_with_cpu(const struct cgroup_host *host, enum cgroup_controller controller)
{
	return controller == CG_CPU ||
	       (host->base[controller] >= 0 &&
		strcmp(host->parent[controller], host->parent[CG_CPU]) == 0);
}

bool cgroup_has_groups(const struct cgroup_host *host)
{
	if (!cgroup_has(host, CG_CPU))
		return false;
	/* cpu and cpuacct usually share one hierarchy. If others share it, too, a box would be
	 * split between two of their groups. */
	return host->kind == CGROUP_V2 ||
	       !(is_with_cpu(host, CG_MEMORY) || is_with_cpu(host, CG_PIDS) ||
		 is_with_cpu(host, CG_FREEZER));
}

const char *cgroup_name_in(const struct cgroup_host *host, enum cgroup_controller controller,
			   const char *name)
{
	const char *slash = strchr(name, '/');

	if (slash == NULL || host->kind != CGROUP_V1 || is_with_cpu(host, controller))
		return name;
	return slash + 1;
}
