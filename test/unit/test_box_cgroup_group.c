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
#include "box/cgroup_file.h"
#include "box/cgroup_group.h"

static const char *const controllers[] = { "memory", "pids", "cpu", "cpuacct", "freezer" };

struct tree {
	char root[64];
	struct cgroup_host host;
};

static void path_of(const struct tree *tree, const char *controller, const char *file, char *ret,
		    size_t size)
{
	(void)snprintf(ret, size, "%s/%s%s%s/%s", tree->root, controller,
		       controller[0] != '\0' ? "/" : "", tree->host.name, file);
}

static void put(const struct tree *tree, const char *controller, const char *file, const char *text)
{
	char path[512];
	cleanup_fd int fd = -1;

	path_of(tree, controller, file, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void assert_holds(const struct tree *tree, const char *controller, const char *file,
			 const char *expected)
{
	char path[512], text[128] = "";
	cleanup_fd int fd = -1;

	path_of(tree, controller, file, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("%s is missing", path);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
}

static bool is_there(const struct tree *tree, const char *controller, const char *file)
{
	char path[512];

	path_of(tree, controller, file, path, sizeof(path));
	return access(path, F_OK) == 0;
}

static void drop(const struct tree *tree, const char *controller, const char *file)
{
	char path[512];

	path_of(tree, controller, file, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
}

static int make(void **state, enum cgroup_kind kind)
{
	static struct tree tree;
	struct err err;

	if (unit_mkdir(tree.root) < 0)
		return -1;
	for (size_t i = 0; kind == CGROUP_V1 && i < ARRAY_LEN(controllers); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s", tree.root, controllers[i]);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	*state = &tree;
	return cgroup_host_open_at(&tree.host, kind, tree.root, &err);
}

static int make_v1(void **state)
{
	return make(state, CGROUP_V1);
}

static int make_v2(void **state)
{
	return make(state, CGROUP_V2);
}

static int unmake(void **state)
{
	struct tree *tree = *state;

	cgroup_host_close(&tree->host);
	unit_rmdir(tree->root);
	return 0;
}

static void v1_has_the_level_for_processors_alone(void **state)
{
	struct tree *tree = *state;
	char name[40] = "box-1";
	struct err err;

	assert_true(cgroup_has_groups(&tree->host));
	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_ok(&err, cgroup_group_enter(&tree->host, "group-1", name, sizeof(name), &err));
	assert_string_equal(name, "group-1/box-1");
	assert_true(is_there(tree, "cpu", "group-1/box-1"));
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (strcmp(controllers[i], "cpu") != 0)
			assert_false(is_there(tree, controllers[i], "group-1"));
	assert_string_equal(cgroup_name_in(&tree->host, CG_CPU, name), "group-1/box-1");
	assert_string_equal(cgroup_name_in(&tree->host, CG_MEMORY, name), "box-1");
	assert_string_equal(cgroup_name_in(&tree->host, CG_CPUACCT, name), "box-1");
	/* All that the box had goes with it; the group, when nobody is in it any more. */
	assert_ok(&err, cgroup_remove(&tree->host, name, &err));
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		assert_false(is_there(tree, controllers[i], "box-1"));
	assert_false(is_there(tree, "cpu", "group-1/box-1"));
	cgroup_group_remove(&tree->host, "group-1");
	assert_false(is_there(tree, "cpu", "group-1"));
}

static void v1_accounts_lie_where_the_hierarchies_are_one(void **state)
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

static void v1_shares(void **state)
{
	struct tree *tree = *state;
	struct cgroup_share share = { .weight = 300, .percent = 150 };
	struct err err;

	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_err(&err, ERR_SYSTEM, cgroup_group_share(&tree->host, "group-1", &share, &err));
	put(tree, "cpu", "group-1/cpu.shares", "");
	put(tree, "cpu", "group-1/cpu.cfs_quota_us", "");
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	assert_holds(tree, "cpu", "group-1/cpu.shares", "3072");
	assert_holds(tree, "cpu", "group-1/cpu.cfs_quota_us", "150000");
	put(tree, "cpu", "group-1/cpu.cfs_quota_us", "");
	share.percent = 0;
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	assert_holds(tree, "cpu", "group-1/cpu.cfs_quota_us", "-1");
}

static void v1_limits_and_seats_are_the_right_ones(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 1u << 20, .pids = 8,
					      .cpu_percent = 50 };
	const struct cgroup_place first = { .number = 0 };
	struct tree *tree = *state;
	struct cgroup_seats seats;
	char name[40] = "box-1";
	struct err err;
	int seat = -1;

	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_ok(&err, cgroup_group_enter(&tree->host, "group-1", name, sizeof(name), &err));
	put(tree, "memory", "box-1/memory.limit_in_bytes", "");
	put(tree, "pids", "box-1/pids.max", "");
	put(tree, "cpu", "group-1/box-1/cpu.cfs_quota_us", "");
	assert_ok(&err, cgroup_limit(&tree->host, name, &limits, &err));
	assert_holds(tree, "memory", "box-1/memory.limit_in_bytes", "1048576");
	assert_holds(tree, "cpu", "group-1/box-1/cpu.cfs_quota_us", "50000");
	put(tree, "cpu", "group-1/box-1/tasks", "");
	assert_ok(&err, cgroup_group_seat(&tree->host, name, &seat, &err));
	assert_int_equal(write(seat, "0", 1), 1);
	(void)close(seat);
	assert_holds(tree, "cpu", "group-1/box-1/tasks", "0");
	/* A kernel that is born later has all its seats at once. */
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (strcmp(controllers[i], "cpu") != 0)
			put(tree, controllers[i], "box-1/tasks", "");
	put(tree, "freezer", "tasks", "");
	put(tree, "cpu", "group-1/box-1/tasks", "");
	assert_ok(&err, cgroup_seats_open(&tree->host, name, &first, &seats, &err));
	assert_int_equal(seats.count, CG_COUNT);
	for (size_t i = 0; i < seats.count; i++)
		assert_int_equal(write(seats.fd[i], "0", 1), 1);
	cgroup_seats_close(&seats);
	assert_holds(tree, "cpu", "group-1/box-1/tasks", "0");
	assert_holds(tree, "memory", "box-1/tasks", "0");
}

static void v2_takes_the_whole_box(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 1u << 20, .cpu_percent = 50 };
	struct cgroup_share share = { .weight = 300, .percent = 150 };
	struct tree *tree = *state;
	char name[40] = "box-1";
	struct err err;
	int seat = -1;

	assert_true(cgroup_has_groups(&tree->host));
	assert_ok(&err, cgroup_create(&tree->host, name, &err));
	assert_ok(&err, cgroup_group_create(&tree->host, "group-1", &err));
	assert_ok(&err, cgroup_group_enter(&tree->host, "group-1", name, sizeof(name), &err));
	assert_string_equal(name, "group-1/box-1");
	assert_true(is_there(tree, "", "group-1/box-1/box"));
	assert_true(is_there(tree, "", "group-1/box-1/twin"));
	assert_false(is_there(tree, "", "box-1"));
	assert_ok(&err, cgroup_group_seat(&tree->host, name, &seat, &err));
	assert_int_equal(seat, -1);
	put(tree, "", "group-1/box-1/memory.max", "");
	put(tree, "", "group-1/box-1/box/cpu.max", "");
	assert_ok(&err, cgroup_limit(&tree->host, name, &limits, &err));
	assert_holds(tree, "", "group-1/box-1/box/cpu.max", "50000 100000");
	put(tree, "", "group-1/cpu.weight", "");
	put(tree, "", "group-1/cpu.max", "");
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	assert_holds(tree, "", "group-1/cpu.weight", "300");
	assert_holds(tree, "", "group-1/cpu.max", "150000 100000");
	share.percent = 0;
	assert_ok(&err, cgroup_group_share(&tree->host, "group-1", &share, &err));
	/* Files here do not end where a write ends, as the kernel's do. */
	assert_holds(tree, "", "group-1/cpu.max", "max 100000000");
	drop(tree, "", "group-1/box-1/memory.max");
	drop(tree, "", "group-1/box-1/box/cpu.max");
	assert_ok(&err, cgroup_remove(&tree->host, name, &err));
	drop(tree, "", "group-1/cpu.weight");
	drop(tree, "", "group-1/cpu.max");
	cgroup_group_remove(&tree->host, "group-1");
	assert_false(is_there(tree, "", "group-1"));
}

static void v2_moves_who_is_in_it(void **state)
{
	struct tree *tree = *state;
	struct err err;

	assert_ok(&err, cgroup_create(&tree->host, "box-1", &err));
	assert_ok(&err, cgroup_create(&tree->host, "box-2", &err));
	put(tree, "", "box-1/box/cgroup.procs", "4711\n");
	put(tree, "", "box-2/box/cgroup.procs", "");
	/* A fake file does not lose who was moved: that is told from one that will not go. */
	assert_int_equal(cgroup_file_move_procs(tree->host.base[CG_FREEZER], "box-1/box",
						"box-2/box", &err),
			 1);
	assert_holds(tree, "", "box-2/box/cgroup.procs", "4711");
	assert_int_equal(cgroup_file_move_procs(tree->host.base[CG_FREEZER], "box-2/twin",
						"box-1/twin", &err),
			 0);
}

static void a_host_without_the_controller_has_no_groups(void **state)
{
	struct cgroup_host host = CGROUP_HOST_NONE;

	(void)state;
	assert_false(cgroup_has_groups(&host));
	assert_string_equal(cgroup_name_in(&host, CG_MEMORY, "box-1"), "box-1");
}

static void what_a_dead_warden_left_goes_with_its_groups(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(v1_has_the_level_for_processors_alone, make_v1,
						unmake),
		cmocka_unit_test_setup_teardown(v1_accounts_lie_where_the_hierarchies_are_one,
						make_v1, unmake),
		cmocka_unit_test_setup_teardown(v1_shares, make_v1, unmake),
		cmocka_unit_test_setup_teardown(v1_limits_and_seats_are_the_right_ones, make_v1,
						unmake),
		cmocka_unit_test_setup_teardown(v2_takes_the_whole_box, make_v2, unmake),
		cmocka_unit_test_setup_teardown(v2_moves_who_is_in_it, make_v2, unmake),
		cmocka_unit_test_setup_teardown(what_a_dead_warden_left_goes_with_its_groups, make_v2,
						unmake),
		cmocka_unit_test(a_host_without_the_controller_has_no_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
