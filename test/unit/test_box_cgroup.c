/*
 * test_box_cgroup.c - limits and accounts, against fake trees of both cgroup versions.
 *
 * Runs in:  the unit suite; needs neither cgroups nor privilege.
 * Reads:    files in a temporary directory that stand for the kernel's.
 * Never:    touches a real group.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/cgroup.h"
#include "box/cgroup/base.h"
#include "support/cgroup_tree.h"

/* ---- v1 --------------------------------------------------------------------------------- */

UNIT_TEST_WITH(v1_makes_and_removes_a_group_in_each_hierarchy, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		assert_true(tree_has(tree, tree_controllers[i], "box-1"));
	/* Hierarchies that are mounted together have it already. */
	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_remove(&tree->host, "box-1", &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		assert_false(tree_has(tree, tree_controllers[i], "box-1"));
	assert_ok(&err, cgroup_remove(&tree->host, "box-1", &err));
}

UNIT_TEST_WITH(v1_writes_limits_or_reports_an_error, tree_make_v1, tree_unmake)
{
	const struct cgroup_limits limits = { .memory_bytes = 64u << 20, .pids = 33,
					      .cpu_percent = 150 };
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	/* A limit that cannot be set is an error, not a weaker box. */
	assert_err(&err, ERR_SYSTEM, cgroup_limit(&tree->host, "box-1", &limits, &err));
	tree_put(tree, "memory", "box-1/memory.limit_in_bytes", "");
	tree_put(tree, "memory", "box-1/memory.memsw.limit_in_bytes", "");
	assert_err(&err, ERR_SYSTEM, cgroup_limit(&tree->host, "box-1", &limits, &err));
	tree_put(tree, "pids", "box-1/pids.max", "");
	tree_put(tree, "cpu", "box-1/cpu.cfs_quota_us", "");
	assert_ok(&err, cgroup_limit(&tree->host, "box-1", &limits, &err));
	tree_contains(tree, "memory", "box-1/memory.limit_in_bytes", "67108864");
	tree_contains(tree, "memory", "box-1/memory.memsw.limit_in_bytes", "67108864");
	tree_contains(tree, "pids", "box-1/pids.max", "33");
	tree_contains(tree, "cpu", "box-1/cpu.cfs_quota_us", "150000");
}

UNIT_TEST_WITH(v1_attaches_the_twin_to_the_memory_hierarchy, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		tree_put(tree, tree_controllers[i], "box-1/cgroup.procs", "");
	assert_ok(&err, cgroup_attach_twin(&tree->host, "box-1", 4711, &err));
	tree_contains(tree, "memory", "box-1/cgroup.procs", "4711");
	assert_ok(&err, cgroup_attach_box(&tree->host, "box-1", 4712, &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		tree_contains(tree, tree_controllers[i], "box-1/cgroup.procs", "4712");
}

/* cgroup_joins_open() opens files that others write to; cgroup_join() writes to them itself. */
UNIT_TEST_WITH(v1_can_be_joined_in_each_hierarchy, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	const struct cgroup_place first = { .number = 0 };
	struct cgroup_joins joins;
	struct err err;

	assert_true(cgroup_has_joins(&tree->host));
	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_err(&err, ERR_SYSTEM, cgroup_joins_open(&tree->host, "box-1", &first, &joins, &err));
	assert_err(&err, ERR_SYSTEM, cgroup_join(&tree->host, "box-1", &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		tree_put(tree, tree_controllers[i], "box-1/tasks", "");
	tree_put(tree, "freezer", "tasks", "");
	assert_ok(&err, cgroup_joins_open(&tree->host, "box-1", &first, &joins, &err));
	assert_int_equal(joins.count, TREE_CONTROLLERS);
	for (size_t i = 0; i < joins.count; i++)
		assert_int_equal(write(joins.fd[i], "1", 1), 1);
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		tree_contains(tree, tree_controllers[i], "box-1/tasks", "1");
	/* A task leaves the freezer to the parent of the boxes' groups. */
	assert_int_equal(write(joins.leave, "2", 1), 1);
	tree_contains(tree, "freezer", "tasks", "2");
	cgroup_joins_close(&joins);
	assert_int_equal(joins.count, 0);
	assert_int_equal(joins.leave, -1);
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		tree_put(tree, tree_controllers[i], "box-1/tasks", "");
	assert_ok(&err, cgroup_join(&tree->host, "box-1", &err));
	for (size_t i = 0; i < TREE_CONTROLLERS; i++)
		tree_contains(tree, tree_controllers[i], "box-1/tasks", "0");
}

UNIT_TEST_WITH(v1_reads_accounts, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct cgroup_usage usage;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	cgroup_read(&tree->host, "box-1", &usage); /* no file exists yet: zero */
	assert_int_equal(usage.memory_peak_bytes, 0);
	/* The user and system parts are coarse: only their ratio is used, to divide the total. */
	tree_put(tree, "cpuacct", "box-1/cpuacct.usage", "2000\n");
	tree_put(tree, "cpuacct", "box-1/cpuacct.usage_user", "30\n");
	tree_put(tree, "cpuacct", "box-1/cpuacct.usage_sys", "10\n");
	tree_put(tree, "memory", "box-1/memory.usage_in_bytes", "4096\n");
	tree_put(tree, "memory", "box-1/memory.max_usage_in_bytes", "8192\n");
	tree_put(tree, "memory", "box-1/memory.oom_control",
		 "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	tree_put(tree, "pids", "box-1/pids.current", "3\n");
	tree_put(tree, "pids", "box-1/pids.events", "max 7\n");
	cgroup_read(&tree->host, "box-1", &usage);
	assert_int_equal(usage.cpu_user_ns, 1500);
	assert_int_equal(usage.cpu_system_ns, 500);
	assert_int_equal(usage.memory_peak_bytes, 8192);
	assert_int_equal(usage.oom_kills, 2);
	assert_int_equal(usage.pids, 3);
	assert_int_equal(usage.pids_refused, 7);
	tree_put(tree, "memory", "box-1/memory.max_usage_in_bytes", "8\n");
	cgroup_reset_peak(&tree->host, "box-1");
	cgroup_read(&tree->host, "box-1", &usage);
	assert_int_equal(usage.memory_peak_bytes, 0);
}

UNIT_TEST_WITH(v1_freezes_and_thaws, tree_make_v1, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	tree_put(tree, "freezer", "box-1/freezer.state", "");
	assert_ok(&err, cgroup_freeze(&tree->host, "box-1", true, &err));
	tree_contains(tree, "freezer", "box-1/freezer.state", "FROZEN");
	assert_ok(&err, cgroup_freeze(&tree->host, "box-1", false, &err));
	tree_contains(tree, "freezer", "box-1/freezer.state", "THAWED");
}

/* ---- v2 --------------------------------------------------------------------------------- */

UNIT_TEST_WITH(v2_has_two_subgroups_below_one_memory_limit, tree_make_v2, tree_unmake)
{
	const struct cgroup_limits limits = { .memory_bytes = 1u << 20, .pids = 8,
					      .cpu_percent = 50 };
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_true(tree_has(tree, "", "box-1/box"));
	assert_true(tree_has(tree, "", "box-1/twin"));
	assert_err(&err, ERR_SYSTEM, cgroup_limit(&tree->host, "box-1", &limits, &err));
	tree_put(tree, "", "box-1/memory.max", "");
	tree_put(tree, "", "box-1/memory.swap.max", "");
	tree_put(tree, "", "box-1/memory.oom.group", "");
	tree_put(tree, "", "box-1/box/pids.max", "");
	tree_put(tree, "", "box-1/box/cpu.max", "");
	assert_ok(&err, cgroup_limit(&tree->host, "box-1", &limits, &err));
	tree_contains(tree, "", "box-1/memory.max", "1048576");
	tree_contains(tree, "", "box-1/memory.swap.max", "0");
	tree_contains(tree, "", "box-1/memory.oom.group", "0");
	tree_contains(tree, "", "box-1/box/pids.max", "8");
	tree_contains(tree, "", "box-1/box/cpu.max", "50000 100000");
}

UNIT_TEST_WITH(v2_attaches_box_and_twin_to_their_subgroups, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	const struct cgroup_place first = { .number = 0 };
	struct cgroup_joins joins;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	tree_put(tree, "", "box-1/box/cgroup.procs", "");
	tree_put(tree, "", "box-1/twin/cgroup.procs", "");
	assert_ok(&err, cgroup_attach_box(&tree->host, "box-1", 10, &err));
	assert_ok(&err, cgroup_attach_twin(&tree->host, "box-1", 11, &err));
	tree_contains(tree, "", "box-1/box/cgroup.procs", "10");
	tree_contains(tree, "", "box-1/twin/cgroup.procs", "11");
	assert_false(cgroup_has_joins(&tree->host));
	assert_ok(&err, cgroup_joins_open(&tree->host, "box-1", &first, &joins, &err));
	assert_int_equal(joins.count, 0);
	assert_int_equal(joins.leave, -1);
}

UNIT_TEST_WITH(v2_freezes_the_box_and_not_the_twin, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	tree_put(tree, "", "box-1/box/cgroup.freeze", "");
	tree_put(tree, "", "box-1/twin/cgroup.freeze", "0");
	tree_put(tree, "", "box-1/box/cgroup.events", "populated 1\nfrozen 1\n");
	assert_ok(&err, cgroup_freeze(&tree->host, "box-1", true, &err));
	tree_contains(tree, "", "box-1/box/cgroup.freeze", "1");
	tree_contains(tree, "", "box-1/twin/cgroup.freeze", "0");
	assert_ok(&err, cgroup_freeze(&tree->host, "box-1", false, &err));
	tree_contains(tree, "", "box-1/box/cgroup.freeze", "0");
}

UNIT_TEST_WITH(v2_reads_accounts, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	struct cgroup_usage usage;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	tree_put(tree, "", "box-1/box/cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\n");
	tree_put(tree, "", "box-1/memory.current", "4096\n");
	tree_put(tree, "", "box-1/memory.peak", "8192\n");
	tree_put(tree, "", "box-1/memory.events", "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n");
	tree_put(tree, "", "box-1/box/pids.current", "2\n");
	tree_put(tree, "", "box-1/box/pids.events", "max 5\n");
	cgroup_read(&tree->host, "box-1", &usage);
	assert_int_equal(usage.cpu_user_ns, 20000);
	assert_int_equal(usage.cpu_system_ns, 10000);
	assert_int_equal(usage.memory_peak_bytes, 8192);
	assert_int_equal(usage.oom_kills, 1);
	assert_int_equal(usage.pids_refused, 5);
}

UNIT_TEST_WITH(v2_removes_both_subgroups, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_remove(&tree->host, "box-1", &err));
	assert_false(tree_has(tree, "", "box-1"));
}

UNIT_TEST_WITH(closing_removes_our_own_group, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, tree->host.name);
	assert_int_equal(access(path, F_OK), 0);
	cgroup_host_close(&tree->host);
	assert_int_equal(access(path, F_OK), -1);
	for (int i = 0; i < CG_COUNT; i++)
		assert_false(cgroup_has(&tree->host, (enum cgroup_controller)i));
}

UNIT_TEST_WITH(closing_removes_the_groups_of_a_killed_warden, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	const char *const left[] = { "reckon-7-4026539999", "reckon-7-4026539999/box-3",
				     "reckon-7-4026539999/box-3/box",
				     "reckon-7-4026539999/box-3/twin", "not-reckons" };
	char path[256];

	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", tree->root, left[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	cgroup_host_close(&tree->host);
	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, left[0]);
	assert_int_equal(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/not-reckons", tree->root);
	assert_int_equal(access(path, F_OK), 0);
}

static void mkdir_below(const struct tree *tree, const char *name, char path[256])
{
	(void)snprintf(path, 256, "%s/%s", tree->root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A warden in a container may have no pid in this namespace, but its lock is visible. */
UNIT_TEST_WITH(a_locked_group_of_another_warden_is_not_removed, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	const char *const names[] = { "reckon-7-4026539998", "reckon-7-4026539999" };
	char path[ARRAY_LEN(names)][256];
	int lock_fd[ARRAY_LEN(names)];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		mkdir_below(tree, names[i], path[i]);
		lock_fd[i] = open(path[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(flock(lock_fd[i], LOCK_EX | LOCK_NB), 0);
	}
	cgroup_base_sweep(tree->root, tree->host.name);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(access(path[i], F_OK), 0);
		(void)close(lock_fd[i]);
	}
	cgroup_base_sweep(tree->root, tree->host.name);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(access(path[i], F_OK), -1);
}

UNIT_TEST_WITH(our_own_group_is_locked, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, tree->host.name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	(void)close(fd);
	/* A sweep under another name does not remove it, either. */
	cgroup_base_sweep(tree->root, "reckon-other");
	assert_int_equal(access(path, F_OK), 0);
}

/* Returns 0: removed, 1: not removed, 2: this host does not allow such namespaces. */
static int sweep_in_another_pid_namespace(const struct tree *tree, const char *path)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
		return 2;
	pid = fork();
	if (pid == 0) {
		cgroup_base_sweep(tree->root, tree->host.name);
		_exit(access(path, F_OK) == 0 ? 1 : 0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/*
 * The warden of an ordinary user is pid 1 of a namespace. A group whose name has a pid alone may
 * belong to a warden of a version without locks; in another namespace, the pid proves nothing.
 */
UNIT_TEST_WITH(a_pid_in_a_name_proves_nothing_in_another_pid_namespace, tree_make_v2, tree_unmake)
{
	struct tree *tree = *state;
	char path[256];
	int status;
	pid_t pid;

	mkdir_below(tree, "reckon-999999999", path);
	pid = fork();
	if (pid == 0)
		_exit(sweep_in_another_pid_namespace(tree, path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 2));
}

UNIT_TEST(without_cgroups_limits_are_ignored_and_freezing_fails)
{
	const struct cgroup_limits limits = { .memory_bytes = 1u << 20, .pids = 8 };
	struct cgroup_host host = CGROUP_HOST_NONE;
	struct cgroup_usage usage;
	struct err err;

	assert_ok(&err, cgroup_create(&host, "box-1", &err));
	assert_ok(&err, cgroup_limit(&host, "box-1", &limits, &err));
	assert_ok(&err, cgroup_attach_box(&host, "box-1", 1, &err));
	assert_ok(&err, cgroup_attach_twin(&host, "box-1", 1, &err));
	assert_err(&err, ERR_UNAVAILABLE, cgroup_freeze(&host, "box-1", true, &err));
	cgroup_kill(&host, "box-1");
	cgroup_read(&host, "box-1", &usage);
	assert_int_equal(usage.memory_peak_bytes, 0);
	assert_ok(&err, cgroup_remove(&host, "box-1", &err));
}
