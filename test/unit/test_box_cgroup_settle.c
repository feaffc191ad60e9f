/*
 * test_box_cgroup_settle.c - which groups are emptied of their processes, and which are not.
 *
 * Runs in:  the unit suite; needs neither cgroups nor privilege.
 * Reads:    files in a temporary directory that stand for the kernel's.
 * Never:    touches a real group.
 */
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "box/cgroup/settle.h"
#include "support/cgroup_tree.h"

struct group {
	char path[64];
};

static void put(const struct group *group, const char *file, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", group->path, file);
	tree_put_at(path, text);
}

/* Reads the last write to the leaf's cgroup.procs. */
static void read_leaf(const struct group *group, char ret[64])
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/daemon/cgroup.procs", group->path);
	tree_read_at(path, ret, 64);
}

static int make(void **state)
{
	static struct group group;

	if (unit_mkdir(group.path) < 0)
		return -1;
	*state = &group;
	return 0;
}

static int unmake(void **state)
{
	const struct group *group = *state;

	unit_rmdir(group->path);
	return 0;
}

static void make_leaf(const struct group *group)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/daemon", group->path);
	assert_int_equal(mkdir(path, 0700), 0);
	put(group, "daemon/cgroup.procs", "");
}

UNIT_TEST_WITH(the_root_group_of_a_container_is_emptied, make, unmake)
{
	const struct group *group = *state;
	char text[64];

	put(group, "cgroup.type", "domain\n");
	put(group, "cgroup.controllers", "cpuset cpu io memory pids\n");
	put(group, "cgroup.procs", "0\n4711\n");
	make_leaf(group);
	assert_true(cgroup_settle(group->path, true));
	read_leaf(group, text);
	assert_string_equal(text, "4711");
}

UNIT_TEST_WITH(the_root_group_of_the_host_is_not_emptied, make, unmake)
{
	const struct group *group = *state;
	char text[64];

	put(group, "cgroup.controllers", "memory pids\n");
	put(group, "cgroup.procs", "4711\n");
	make_leaf(group);
	assert_false(cgroup_settle(group->path, true));
	read_leaf(group, text);
	assert_string_equal(text, "");
}

UNIT_TEST_WITH(a_group_that_is_not_delegated_is_not_emptied, make, unmake)
{
	const struct group *group = *state;
	char text[64];

	put(group, "cgroup.type", "domain\n");
	put(group, "cgroup.controllers", "memory pids\n");
	put(group, "cgroup.procs", "4711\n");
	make_leaf(group);
	assert_false(cgroup_settle(group->path, false));
	read_leaf(group, text);
	assert_string_equal(text, "");
}

UNIT_TEST_WITH(a_group_without_controllers_for_limits_is_not_emptied, make, unmake)
{
	const struct group *group = *state;
	char text[64];

	put(group, "cgroup.type", "domain\n");
	put(group, "cgroup.controllers", "cpuset\n");
	put(group, "cgroup.procs", "4711\n");
	make_leaf(group);
	assert_false(cgroup_settle(group->path, true));
	read_leaf(group, text);
	assert_string_equal(text, "");
}

UNIT_TEST(a_missing_group_is_not_emptied)
{
	assert_false(cgroup_settle("/nonexistent/group", true));
}
