/*
 * join.c - opens groups that processes join by themselves.
 *
 * Runs in:  the warden; cgroup_join() also in its children.
 * Reads:    nothing.
 * Never:    keeps a file open beyond the start of one process.
 */
#include "box/cgroup/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"
#include "box/cgroup/group.h"

bool cgroup_has_joins(const struct cgroup_host *host)
{
	return host->kind == CGROUP_V1;
}

static int open_tasks(int base, const char *name, int *ret, struct err *err)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/tasks", name);
	*ret = openat(base, path, O_WRONLY | O_CLOEXEC);
	return *ret < 0 ? err_sys(err, "open cgroup file %s", path) : 0;
}

int cgroup_joins_open(const struct cgroup_host *host, const char *name,
		      const struct cgroup_place *place, struct cgroup_joins *ret, struct err *err)
{
	struct cgroup_joins joins = { .leave = -1 };
	char group[128];
	int code = 0;

	cgroup_kernel_group(host, name, place->number, group, sizeof(group));
	for (int i = 0; code == 0 && cgroup_has_joins(host) && i < CG_COUNT; i++) {
		if (host->base[i] < 0 || (i == CG_PIDS && place->is_late))
			continue;
		code = open_tasks(host->base[i],
				  i == CG_FREEZER
					  ? group
					  : cgroup_name_in(host, (enum cgroup_controller)i, name),
				  &joins.fd[joins.count], err);
		joins.count += code == 0;
	}
	if (code == 0 && cgroup_has_joins(host) && cgroup_has(host, CG_FREEZER))
		code = open_tasks(host->base[CG_FREEZER], ".", &joins.leave, err);
	if (code < 0) {
		cgroup_joins_close(&joins);
		return code;
	}
	*ret = joins;
	return 0;
}

void cgroup_joins_close(struct cgroup_joins *joins)
{
	for (size_t i = 0; i < joins->count; i++)
		(void)close(joins->fd[i]);
	if (joins->leave >= 0)
		(void)close(joins->leave);
	*joins = (struct cgroup_joins){ .leave = -1 };
}

int cgroup_join(const struct cgroup_host *host, const char *name, struct err *err)
{
	for (int i = 0; i < CG_COUNT; i++)
		if (host->base[i] >= 0 &&
		    cgroup_file_write(host->base[i], name, "tasks", "0", err) < 0)
			return (int)err->code;
	return 0;
}
