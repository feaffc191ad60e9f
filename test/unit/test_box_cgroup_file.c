/*
 * test_box_cgroup_file.c - control files that stay open between their uses.
 *
 * Runs in:  the unit suite; needs neither cgroups nor privilege.
 * Reads:    files in a temporary directory that stand for the kernel's.
 * Never:    touches a real group.
 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"

#define GROUPS 120
#define FILES 9

static void put(const struct unit_dir *fixture, int group, int file, uint64_t value)
{
	char path[32], text[24];
	cleanup_fd int fd = -1;

	(void)snprintf(path, sizeof(path), "g%d/f%d", group, file);
	(void)snprintf(text, sizeof(text), "%-20llu\n", (unsigned long long)value);
	fd = openat(fixture->dir_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static uint64_t get(const struct unit_dir *fixture, int group, int file)
{
	char name[16], what[16];

	(void)snprintf(name, sizeof(name), "g%d", group);
	(void)snprintf(what, sizeof(what), "f%d", file);
	return cgroup_file_number(fixture->dir_fd, name, what);
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

static void make_groups(const struct unit_dir *fixture)
{
	char name[16];

	for (int group = 0; group < GROUPS; group++) {
		(void)snprintf(name, sizeof(name), "g%d", group);
		assert_int_equal(mkdirat(fixture->dir_fd, name, 0700), 0);
		for (int file = 0; file < FILES; file++)
			put(fixture, group, file, 1000u * (unsigned)group + (unsigned)file);
	}
}

static void forget_groups(void)
{
	char name[16];

	for (int group = 0; group < GROUPS; group++) {
		(void)snprintf(name, sizeof(name), "g%d", group);
		cgroup_file_forget(name);
	}
}

UNIT_TEST_WITH(the_number_of_open_files_is_limited, unit_dir_make, unit_dir_drop)
{
	const struct unit_dir *fixture = *state;
	const int before = open_files();

	make_groups(fixture);
	for (int round = 0; round < 2; round++)
		for (int group = 0; group < GROUPS; group++)
			for (int file = 0; file < FILES; file++)
				assert_int_equal(get(fixture, group, file),
						 1000 * group + file);
	assert_true(open_files() > before + 128);
	assert_true(open_files() <= before + 264);
	forget_groups();
	assert_int_equal(open_files(), before);
}

/* Tests many names: collisions of their hashes must not close a file. */
UNIT_TEST_WITH(the_files_of_one_group_stay_open, unit_dir_make, unit_dir_drop)
{
	const struct unit_dir *fixture = *state;
	const int before = open_files();

	make_groups(fixture);
	for (int group = 0; group < GROUPS; group++) {
		char name[16];

		for (int file = 0; file < FILES; file++)
			(void)get(fixture, group, file);
		assert_int_equal(open_files(), before + FILES);
		(void)snprintf(name, sizeof(name), "g%d", group);
		cgroup_file_forget(name);
	}
	assert_int_equal(open_files(), before);
}

UNIT_TEST_WITH(a_read_returns_the_current_content, unit_dir_make, unit_dir_drop)
{
	const struct unit_dir *fixture = *state;
	char text[8];

	make_groups(fixture);
	assert_int_equal(get(fixture, 1, 2), 1002);
	put(fixture, 1, 2, 7);
	assert_int_equal(get(fixture, 1, 2), 7);
	/* A file that was opened for reading can be reset, then read again. */
	cgroup_file_reset(fixture->dir_fd, "g1", "f2");
	assert_int_equal(get(fixture, 1, 2), 0);
	put(fixture, 1, 2, 9);
	cgroup_file_reset(fixture->dir_fd, "g1", "f2");
	assert_int_equal(get(fixture, 1, 2), 0);
	assert_true(cgroup_file_text(fixture->dir_fd, "g1", "missing", text, sizeof(text)) <= 0);
	assert_string_equal(text, "");
	cgroup_file_reset(fixture->dir_fd, "g1", "missing");
	forget_groups();
}
