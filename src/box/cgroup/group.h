/*
 * group.h - groups of boxes that share processor time as if they were one.
 *
 * A box in a group is named "GROUP/BOX". On v1 only the processor's hierarchy has that level, and
 * in the others the box is BOX as before; on v2 all of it lies below the group.
 */
#pragma once

#include "box/cgroup/cgroup.h"

#define CGROUP_WEIGHT 100u /* of a group without a given weight, and of a box without a group */

struct cgroup_share {
	uint32_t weight;  /* 1 to 10000, against other groups and boxes without one */
	uint32_t percent; /* of one processor, for all of the group; 0: no limit */
};

/* name.c: whether this host can divide processor time among groups. */
bool cgroup_has_groups(const struct cgroup_host *host);

int cgroup_group_create(const struct cgroup_host *host, const char *group, struct err *err);
int cgroup_group_share(const struct cgroup_host *host, const char *group,
		       const struct cgroup_share *share, struct err *err);
/* The group has to be empty. */
void cgroup_group_remove(const struct cgroup_host *host, const char *group);

/*
 * Puts a box whose kernel has not run user code into a group, and changes `name`. On v1 its
 * processes stay where they are until they join by themselves: moving them would make every fork on
 * the host wait.
 */
int cgroup_group_enter(const struct cgroup_host *host, const char *group, char *name, size_t size,
		       struct err *err);
/*
 * Prepares what the next box that enters the group needs: on v1 its directory. Returns the open
 * file of cgroup_group_join(), which the caller closes, or -1: nothing was prepared. Call once per
 * box; what stays unused is removed with the group.
 */
int cgroup_group_prepare(const struct cgroup_host *host, const char *group);
/* As cgroup_group_enter(), with what was prepared; < 0: not possible, call cgroup_group_enter(). */
int cgroup_group_enter_prepared(const struct cgroup_host *host, const char *group, char *name,
				size_t size);
/* v1: *ret is the open file to which the box's kernel writes "0" to join. -1: nothing to do. */
int cgroup_group_join(const struct cgroup_host *host, const char *name, int *ret, struct err *err);

/* cpu.c: limits a group, named as in the cpu hierarchy, to percent of one processor; 0: no
 * limit. */
int cgroup_cpu_limit(const struct cgroup_host *host, const char *group, uint32_t percent,
		     struct err *err);
/* Limits one box to percent of one processor; 0: no limit. */
int cgroup_group_limit_box(const struct cgroup_host *host, const char *name, uint32_t percent,
			   struct err *err);

/* name.c: the name of a box in the hierarchy of one controller. */
const char *cgroup_name_in(const struct cgroup_host *host, enum cgroup_controller controller,
			   const char *name);
