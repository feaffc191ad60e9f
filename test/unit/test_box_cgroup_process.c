/*
 * test_box_cgroup_process.c - groups of single processes, against fake trees of both versions.
 *
 * Runs in:  the unit suite; needs neither cgroups nor privilege.
 * Reads:    files in a temporary directory that stand for the kernel's.
 * Never:    touches a real group.
 */
#include "unit.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/process.h"
#include "support/cgroup_tree.h"

static const char *const own[] = { "memory", "pids", "cpuacct", "freezer" };

UNIT_TEST_WITH(v1_creates_a_group_in_each_hierarchy_except_cpu, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_process_create(&tree->host, "box-1", 7, &err));
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		assert_true(tree_has(tree, own[i], "box-1/p7"));
	assert_false(tree_has(tree, "cpu", "box-1/p7"));
	assert_true(cgroup_process_remove(&tree->host, "box-1", 7));
	assert_false(tree_has(tree, "memory", "box-1/p7"));
	assert_true(cgroup_process_remove(&tree->host, "box-1", 7));
	/* Creation fails if the box has no group. */
	assert_err(&err, ERR_SYSTEM, cgroup_process_create(&tree->host, "box-2", 7, &err));
}

UNIT_TEST_WITH(v1_reads_the_accounts_of_the_process_group, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct cgroup_usage usage;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_process_create(&tree->host, "box-1", 7, &err));
	tree_put(tree, "memory", "box-1/memory.max_usage_in_bytes", "999999\n");
	tree_put(tree, "memory", "box-1/p7/memory.max_usage_in_bytes", "4096\n");
	tree_put(tree, "memory", "box-1/p7/memory.oom_control", "oom_kill_disable 0\noom_kill 2\n");
	tree_put(tree, "cpuacct", "box-1/p7/cpuacct.usage", "1000\n");
	tree_put(tree, "cpuacct", "box-1/p7/cpuacct.usage_user", "600\n");
	tree_put(tree, "pids", "box-1/p7/pids.current", "3\n");
	cgroup_process_read(&tree->host, "box-1", 7, &usage);
	assert_int_equal(usage.memory_peak_bytes, 4096);
	assert_int_equal(usage.oom_kills, 2);
	assert_int_equal(usage.cpu_user_ns, 600);
	assert_int_equal(usage.cpu_system_ns, 400);
	assert_int_equal(usage.pids, 3);
	/* The user part is read after the total and may exceed it. */
	tree_put(tree, "cpuacct", "box-1/p7/cpuacct.usage_user", "1200\n");
	cgroup_process_read(&tree->host, "box-1", 7, &usage);
	assert_int_equal(usage.cpu_user_ns + usage.cpu_system_ns, 1000);
}

UNIT_TEST_WITH(v1_a_process_joins_each_group_itself, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct cgroup_joins joins;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_process_create(&tree->host, "box-1", 7, &err));
	tree_put(tree, "cpu", "box-1/tasks", "");
	assert_err(&err, ERR_SYSTEM, cgroup_process_join(&tree->host, "box-1", 7, &joins, &err));
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		tree_put(tree, own[i], "box-1/p7/tasks", "");
	assert_ok(&err, cgroup_process_join(&tree->host, "box-1", 7, &joins, &err));
	assert_int_equal(joins.count, 5);
	for (size_t i = 0; i < joins.count; i++)
		assert_int_equal(write(joins.fd[i], "0", 1), 1);
	cgroup_joins_close(&joins);
	tree_contains(tree, "cpu", "box-1/tasks", "0");
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		tree_contains(tree, own[i], "box-1/p7/tasks", "0");
}

UNIT_TEST_WITH(v2_creates_the_group_below_the_box, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	struct cgroup_joins joins;
	struct cgroup_usage usage;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_process_create(&tree->host, "box-1", 7, &err));
	assert_true(tree_has(tree, "", "box-1/box/p7"));
	assert_ok(&err, cgroup_process_join(&tree->host, "box-1", 7, &joins, &err));
	assert_int_equal(joins.count, 0);
	tree_put(tree, "", "box-1/box/p7/cgroup.procs", "");
	assert_ok(&err, cgroup_process_attach(&tree->host, "box-1", 7, 4711, &err));
	tree_contains(tree, "", "box-1/box/p7/cgroup.procs", "4711");
	tree_put(tree, "", "box-1/box/p7/cgroup.procs", "4711\n4712\n");
	tree_put(tree, "", "box-1/box/p7/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
	cgroup_process_read(&tree->host, "box-1", 7, &usage);
	assert_int_equal(usage.cpu_user_ns, 5000);
	assert_int_equal(usage.cpu_system_ns, 4000);
	assert_int_equal(usage.pids, 2);
	assert_false(cgroup_process_remove(&tree->host, "box-1", 7)); /* fake files remain */
}

UNIT_TEST(without_cgroups_nothing_is_done_and_killing_fails)
{
	struct cgroup_host host = CGROUP_HOST_NONE;
	struct cgroup_joins joins;
	struct cgroup_usage usage;
	struct err err;

	assert_ok(&err, cgroup_process_create(&host, "box-1", 7, &err));
	assert_ok(&err, cgroup_process_join(&host, "box-1", 7, &joins, &err));
	assert_int_equal(joins.count, 0);
	cgroup_process_read(&host, "box-1", 7, &usage);
	assert_int_equal(usage.cpu_user_ns, 0);
	assert_int_equal(cgroup_process_kill(&host, "box-1", 7), ERR_UNAVAILABLE);
	assert_true(cgroup_process_remove(&host, "box-1", 7));
}
