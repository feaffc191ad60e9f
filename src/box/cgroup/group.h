/*
 * group.h - groups of boxes that share processor time as if they were one.
 *
 * A box in a group is named "GROUP/BOX". On v1 only the processor's hierarchy has that level, and
 * in the others the box is BOX as before; on v2 all of it lies below the group.
 */
#pragma once

#include "box/cgroup/cgroup.h"

#define CGROUP_WEIGHT 100u /* of a group that nobody gave one, and of a box without a group */

struct cgroup_share {
	uint32_t weight;  /* 1 to 10000, against other groups and boxes without one */
	uint32_t percent; /* of one processor, for all of the group; 0: no limit */
};

/* name.c: false where this host does not let us share processor time out. */
bool cgroup_has_groups(const struct cgroup_host *host);

int cgroup_group_create(const struct cgroup_host *host, const char *group, struct err *err);
int cgroup_group_share(const struct cgroup_host *host, const char *group,
		       const struct cgroup_share *share, struct err *err);
void cgroup_group_remove(const struct cgroup_host *host, const char *group); /* an empty one */

/*
 * Puts a box, whose kernel has not run anything of a user's, into a group; `name` is changed. On v1
 * its processes stay where they are until they join it themselves: to move them would make
 * every fork of the host wait.
 */
int cgroup_group_enter(const struct cgroup_host *host, const char *group, char *name, size_t size,
		       struct err *err);
/*
 * Makes what the next box is going to need that enters the group, when there is time: on v1 its
 * directory. Returns the open file that is told of below, which the caller closes; -1: nothing was
 * prepared. Once per box; what nobody needed goes with the group.
 */
int cgroup_group_prepare(const struct cgroup_host *host, const char *group);
/* As cgroup_group_enter(), with what was prepared; < 0: it is not to be had, and enter() is. */
int cgroup_group_enter_prepared(const struct cgroup_host *host, const char *group, char *name,
				size_t size);
/* v1: the open file that the box's kernel writes "0" to, to get there. -1: nothing is to be done. */
int cgroup_group_join(const struct cgroup_host *host, const char *name, int *ret, struct err *err);

/* cpu.c: of one processor, for a group as it is named in that hierarchy; 0: no limit. */
int cgroup_cpu_limit(const struct cgroup_host *host, const char *group, uint32_t percent,
		     struct err *err);
/* The share of a processor that one box may have; 0: no limit. */
int cgroup_group_limit_box(const struct cgroup_host *host, const char *name, uint32_t percent,
			   struct err *err);

/* name.c: what a box is called in the hierarchy of one controller. */
const char *cgroup_name_in(const struct cgroup_host *host, enum cgroup_controller controller,
			   const char *name);
