/*
 * test_box_cgroup_group.c - groups of boxes, against fake trees of both cgroup versions.
 *
 * Runs in:  the unit suite; needs neither cgroups nor privilege.
 * Reads:    files in a temporary directory that stand for the kernel's.
 * Never:    touches a real group.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"
#include "box/cgroup/group.h"
#include "support/cgroup_tree.h"

UNIT_TEST_WITH(v1_creates_the_group_only_in_the_cpu_hierarchy, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	char name[40] = "box-1";
	struct err err;

	assert_true(cgroup_has_groups(&tree->host));
	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_ok(&err, cgroup_group_enter(&tree->host, "group-1", name, sizeof(name), &err));
	assert_string_equal(name, "group-1/box-1");
	assert_true(tree_has(tree, "cpu", "group-1/box-1"));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		if (strcmp(tree_controllers[i], "cpu") != 0)
			assert_false(tree_has(tree, tree_controllers[i], "group-1"));
	assert_string_equal(cgroup_name_in(&tree->host, CG_CPU, name), "group-1/box-1");
	assert_string_equal(cgroup_name_in(&tree->host, CG_MEMORY, name), "box-1");
	assert_string_equal(cgroup_name_in(&tree->host, CG_CPUACCT, name), "box-1");
	/* Removing the box removes its groups in each hierarchy; then the group is empty. */
	assert_ok(&err, cgroup_remove(&tree->host, name, &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		assert_false(tree_has(tree, tree_controllers[i], "box-1"));
	assert_false(tree_has(tree, "cpu", "group-1/box-1"));
	cgroup_group_remove(&tree->host, "group-1");
	assert_false(tree_has(tree, "cpu", "group-1"));
}

UNIT_TEST_WITH(v1_cpuacct_uses_the_group_if_it_is_mounted_with_cpu, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;

	(void)strcpy(tree->host.parent[CG_CPUACCT], tree->host.parent[CG_CPU]);
	assert_true(cgroup_has_groups(&tree->host));
	assert_string_equal(cgroup_name_in(&tree->host, CG_CPUACCT, "group-1/box-1"),
			    "group-1/box-1");
	assert_string_equal(cgroup_name_in(&tree->host, CG_PIDS, "group-1/box-1"), "box-1");
	/* A box cannot be in two groups of one hierarchy. */
	(void)strcpy(tree->host.parent[CG_MEMORY], tree->host.parent[CG_CPU]);
	assert_false(cgroup_has_groups(&tree->host));
}

UNIT_TEST_WITH(v1_writes_weight_and_quota_of_a_group, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct cgroup_share share = { .weight = 300, .percent = 150 };
	struct err err;

	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_err(&err, ERR_SYSTEM, cgroup_group_share(&tree->host, "group-1", &share, &err));
	tree_put(tree, "cpu", "group-1/cpu.shares", "");
	tree_put(tree, "cpu", "group-1/cpu.cfs_quota_us", "");
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	tree_contains(tree, "cpu", "group-1/cpu.shares", "3072");
	tree_contains(tree, "cpu", "group-1/cpu.cfs_quota_us", "150000");
	tree_put(tree, "cpu", "group-1/cpu.cfs_quota_us", "");
	share.percent = 0;
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	tree_contains(tree, "cpu", "group-1/cpu.cfs_quota_us", "-1");
}

UNIT_TEST_WITH(v1_limits_and_joins_use_the_name_in_each_hierarchy, tree_make_v1, tree_unmake)
{
	const struct cgroup_limits limits = { .memory_bytes = 1u << 20, .pids = 8,
					      .cpu_percent = 50 };
	const struct cgroup_place first = { .number = 0 };
	struct tree *tree = *state;
	struct cgroup_joins joins;
	char name[40] = "box-1";
	struct err err;
	int tasks_fd = -1;

	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_ok(&err, cgroup_group_enter(&tree->host, "group-1", name, sizeof(name), &err));
	tree_put(tree, "memory", "box-1/memory.limit_in_bytes", "");
	tree_put(tree, "pids", "box-1/pids.max", "");
	tree_put(tree, "cpu", "group-1/box-1/cpu.cfs_quota_us", "");
	assert_ok(&err, cgroup_limit(&tree->host, name, &limits, &err));
	tree_contains(tree, "memory", "box-1/memory.limit_in_bytes", "1048576");
	tree_contains(tree, "cpu", "group-1/box-1/cpu.cfs_quota_us", "50000");
	tree_put(tree, "cpu", "group-1/box-1/tasks", "");
	assert_ok(&err, cgroup_group_join(&tree->host, name, &tasks_fd, &err));
	assert_int_equal(write(tasks_fd, "0", 1), 1);
	(void)close(tasks_fd);
	tree_contains(tree, "cpu", "group-1/box-1/tasks", "0");
	/* A kernel that starts later joins all hierarchies at once. */
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		if (strcmp(tree_controllers[i], "cpu") != 0)
			tree_put(tree, tree_controllers[i], "box-1/tasks", "");
	tree_put(tree, "freezer", "tasks", "");
	tree_put(tree, "cpu", "group-1/box-1/tasks", "");
	assert_ok(&err, cgroup_joins_open(&tree->host, name, &first, &joins, &err));
	assert_int_equal(joins.count, CG_COUNT);
	for (size_t i = 0; i < joins.count; i++)
		assert_int_equal(write(joins.fd[i], "0", 1), 1);
	cgroup_joins_close(&joins);
	tree_contains(tree, "cpu", "group-1/box-1/tasks", "0");
	tree_contains(tree, "memory", "box-1/tasks", "0");
}

UNIT_TEST_WITH(v1_prepares_the_group_of_the_next_box, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	char name[40] = "box-1", other[40] = "box-2";
	struct err err;
	int tasks_fd;

	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	/* The kernel creates `tasks` in a real group. */
	assert_int_equal(cgroup_group_prepare(&tree->host, "group-1"), -1);
	tree_put(tree, "cpu", "group-1/next/tasks", "");
	tasks_fd = cgroup_group_prepare(&tree->host, "group-1");
	assert_true(tasks_fd >= 0);
	assert_ok(&err, cgroup_group_enter_prepared(&tree->host, "group-1", name, sizeof(name)));
	assert_string_equal(name, "group-1/box-1");
	assert_int_equal(write(tasks_fd, "0", 1), 1);
	(void)close(tasks_fd);
	tree_contains(tree, "cpu", "group-1/box-1/tasks", "0");
	assert_false(tree_has(tree, "cpu", "group-1/next"));
	/* A prepared group is for one box only. */
	assert_int_equal(cgroup_group_enter_prepared(&tree->host, "group-1", other, sizeof(other)),
			 -1);
	assert_string_equal(other, "box-2");
}

UNIT_TEST_WITH(an_unused_prepared_group_is_removed_with_its_parent, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_int_equal(cgroup_group_prepare(&tree->host, "group-1"), -1);
	assert_true(tree_has(tree, "cpu", "group-1/next"));
	cgroup_group_remove(&tree->host, "group-1");
	assert_false(tree_has(tree, "cpu", "group-1"));
}

UNIT_TEST_WITH(v2_prepares_nothing, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_int_equal(cgroup_group_prepare(&tree->host, "group-1"), -1);
	assert_false(tree_has(tree, "", "group-1/next"));
}

UNIT_TEST_WITH(v2_moves_the_whole_box_into_the_group, tree_make_v2, tree_unmake)
{
	const struct cgroup_limits limits = { .memory_bytes = 1u << 20, .cpu_percent = 50 };
	struct cgroup_share share = { .weight = 300, .percent = 150 };
	struct tree *tree = *state;
	char name[40] = "box-1";
	struct err err;
	int tasks_fd = -1;

	assert_true(cgroup_has_groups(&tree->host));
	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_ok(&err, cgroup_group_enter(&tree->host, "group-1", name, sizeof(name), &err));
	assert_string_equal(name, "group-1/box-1");
	assert_true(tree_has(tree, "", "group-1/box-1/box"));
	assert_true(tree_has(tree, "", "group-1/box-1/twin"));
	assert_false(tree_has(tree, "", "box-1"));
	assert_ok(&err, cgroup_group_join(&tree->host, name, &tasks_fd, &err));
	assert_int_equal(tasks_fd, -1);
	tree_put(tree, "", "group-1/box-1/memory.max", "");
	tree_put(tree, "", "group-1/box-1/box/cpu.max", "");
	assert_ok(&err, cgroup_limit(&tree->host, name, &limits, &err));
	tree_contains(tree, "", "group-1/box-1/box/cpu.max", "50000 100000");
	tree_put(tree, "", "group-1/cpu.weight", "");
	tree_put(tree, "", "group-1/cpu.max", "");
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	tree_contains(tree, "", "group-1/cpu.weight", "300");
	tree_contains(tree, "", "group-1/cpu.max", "150000 100000");
	share.percent = 0;
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	/* A write to a fake file does not truncate the old text, unlike one to the kernel's. */
	tree_contains(tree, "", "group-1/cpu.max", "max 100000000");
	tree_drop(tree, "", "group-1/box-1/memory.max");
	tree_drop(tree, "", "group-1/box-1/box/cpu.max");
	assert_ok(&err, cgroup_remove(&tree->host, name, &err));
	tree_drop(tree, "", "group-1/cpu.weight");
	tree_drop(tree, "", "group-1/cpu.max");
	cgroup_group_remove(&tree->host, "group-1");
	assert_false(tree_has(tree, "", "group-1"));
}

UNIT_TEST_WITH(v2_moves_the_processes_of_a_box, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_create(&tree->host, "box-2", &err));
	tree_put(tree, "", "box-1/box/cgroup.procs", "4711\n");
	tree_put(tree, "", "box-2/box/cgroup.procs", "");
	assert_int_equal(cgroup_file_move_procs(tree->host.base[CG_FREEZER], "box-1/box",
						"box-2/box", &err),
			 1);
	tree_contains(tree, "", "box-2/box/cgroup.procs", "4711");
	assert_int_equal(cgroup_file_move_procs(tree->host.base[CG_FREEZER], "box-2/twin",
						"box-1/twin", &err),
			 0);
}

UNIT_TEST(a_host_without_cgroups_has_no_groups)
{
	struct cgroup_host host = CGROUP_HOST_NONE;

	assert_false(cgroup_has_groups(&host));
	assert_string_equal(cgroup_name_in(&host, CG_MEMORY, "box-1"), "box-1");
}

UNIT_TEST_WITH(groups_of_a_dead_warden_are_removed, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	const char *const left[] = { "reckon-999999999", "reckon-999999999/group-1",
				     "reckon-999999999/group-1/box-3",
				     "reckon-999999999/group-1/box-3/box",
				     "reckon-999999999/group-1/box-3/box/k1" };
	char path[256];

	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", tree->root, left[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	cgroup_host_close(&tree->host);
	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, left[0]);
	assert_int_equal(access(path, F_OK), -1);
}
