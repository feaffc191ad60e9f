/*
 * group.c - groups of boxes that share processor time as if they were one.
 *
 * Runs in:  the warden.
 * Reads:    the pids of a box's processes (v2).
 * Never:    moves a process on v1: Linux would wait for all processors, and block all forks
 *           meanwhile.
 */
#include "box/cgroup/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"

#define MOVE_ROUNDS 16
#define NEXT "next" /* the directory of the box that enters the group next, v1 */
#define NAME_SIZE 96
#define SHARES 1024u /* v1: as much as CGROUP_WEIGHT */

int cgroup_group_create(const struct cgroup_host *host, const char *group, struct err *err)
{
	if (mkdirat(host->base[CG_CPU], group, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make cgroup %s", group);
	if (host->kind == CGROUP_V2)
		cgroup_file_enable(host->base[CG_CPU], group);
	return 0;
}

void cgroup_group_remove(const struct cgroup_host *host, const char *group)
{
	char next[NAME_SIZE];

	cgroup_file_forget(group);
	cgroup_part_name(next, sizeof(next), group, NEXT);
	(void)unlinkat(host->base[CG_CPU], next, AT_REMOVEDIR);
	(void)unlinkat(host->base[CG_CPU], group, AT_REMOVEDIR);
}

int cgroup_group_share(const struct cgroup_host *host, const char *group,
		       const struct cgroup_share *share, struct err *err)
{
	const bool is_v2 = host->kind == CGROUP_V2;
	const uint64_t weight = is_v2 ? share->weight
				      : (uint64_t)share->weight * SHARES / CGROUP_WEIGHT;

	if (cgroup_file_write_u64(host->base[CG_CPU], group, is_v2 ? "cpu.weight" : "cpu.shares",
				  weight, err) < 0)
		return (int)err->code;
	return cgroup_cpu_limit(host, group, share->percent, err);
}

/* Repeats until no process is left, because some may fork while we read. */
static int move_part(int base, const char *from, const char *to, const char *part, struct err *err)
{
	char old[128], new[128];

	cgroup_part_name(old, sizeof(old), from, part);
	cgroup_part_name(new, sizeof(new), to, part);
	for (int round = 0; round < MOVE_ROUNDS; round++) {
		const int moved = cgroup_file_move_procs(base, old, new, err);

		if (moved <= 0)
			return moved;
	}
	return err_set(err, ERR_TIMEOUT, "the processes of %s cannot be moved", old);
}

static int enter_v2(const struct cgroup_host *host, const char *old, const char *new,
		    struct err *err)
{
	const int base = host->base[CG_FREEZER];
	struct err ignored;

	if (cgroup_create(host, new, err) < 0)
		return (int)err->code;
	if (move_part(base, old, new, "box", err) < 0 ||
	    move_part(base, old, new, "twin", err) < 0) {
		/* What is already in the new groups ends with its box. */
		(void)cgroup_remove(host, new, &ignored);
		return (int)err->code;
	}
	return cgroup_remove(host, old, err);
}

static int name_in(char ret[NAME_SIZE], const char *group, const char *name, size_t size)
{
	return snprintf(ret, NAME_SIZE, "%s/%s", group, name) < NAME_SIZE && strlen(ret) < size
		       ? 0
		       : -1;
}

int cgroup_group_enter(const struct cgroup_host *host, const char *group, char *name, size_t size,
		       struct err *err)
{
	char new[NAME_SIZE];

	if (name_in(new, group, name, size) < 0)
		return err_set(err, ERR_INVALID, "the name of a group is too long");
	if (host->kind == CGROUP_V2) {
		if (enter_v2(host, name, new, err) < 0)
			return (int)err->code;
	} else if (mkdirat(host->base[CG_CPU], new, 0755) < 0) {
		return err_sys(err, "make cgroup %s", new);
	}
	memcpy(name, new, strlen(new) + 1);
	return 0;
}

int cgroup_group_prepare(const struct cgroup_host *host, const char *group)
{
	char next[NAME_SIZE];
	struct err ignored;
	int tasks_fd = -1;

	if (host->kind != CGROUP_V1)
		return -1;
	cgroup_part_name(next, sizeof(next), group, NEXT);
	if (mkdirat(host->base[CG_CPU], next, 0755) == 0 || errno == EEXIST)
		(void)cgroup_group_join(host, next, &tasks_fd, &ignored);
	return tasks_fd;
}

/* v1 allows a group to be renamed within its directory. */
int cgroup_group_enter_prepared(const struct cgroup_host *host, const char *group, char *name,
				size_t size)
{
	char new[NAME_SIZE], next[NAME_SIZE];

	cgroup_part_name(next, sizeof(next), group, NEXT);
	if (name_in(new, group, name, size) < 0 ||
	    renameat(host->base[CG_CPU], next, host->base[CG_CPU], new) < 0)
		return -1;
	memcpy(name, new, strlen(new) + 1);
	return 0;
}

int cgroup_group_join(const struct cgroup_host *host, const char *name, int *ret, struct err *err)
{
	char path[160];

	*ret = -1;
	if (host->kind != CGROUP_V1)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/tasks", name);
	*ret = openat(host->base[CG_CPU], path, O_WRONLY | O_CLOEXEC);
	return *ret < 0 ? err_sys(err, "open cgroup file %s", path) : 0;
}
