/*
 * unit.c - helpers shared by the unit tests.
 *
 * Runs in:  test programs.
 * Reads:    /proc/self/fd, its own temporary directories, UNIT_FILTER.
 * Never:    is linked into a product program.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* UNIT_FILTER='*word*' runs only the tests of that name; cmocka reads no variable of its own. */
static void __attribute__((constructor)) set_filter(void)
{
	const char *pattern = getenv("UNIT_FILTER");

	if (pattern != NULL)
		cmocka_set_test_filter(pattern);
}

/* ---- the list of tests ---------------------------------------------------------------------- */

static struct CMUnitTest tests[128];
static int lines[ARRAY_LEN(tests)];
static size_t count;

/* Constructors may be called in any order: this sorts the tests by line. */
void unit_add(int line, const struct CMUnitTest *test)
{
	size_t at = count++;

	if (count > ARRAY_LEN(tests))
		abort();
	for (; at > 0 && lines[at - 1] > line; at--) {
		lines[at] = lines[at - 1];
		tests[at] = tests[at - 1];
	}
	lines[at] = line;
	tests[at] = *test;
}

int unit_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests(program_invocation_short_name, tests, count, set_up,
				       tear_down);
}

int __attribute__((weak)) main(void)
{
	return unit_run(NULL, NULL);
}

/* ---- helpers -------------------------------------------------------------------------------- */

int unit_open_fds(void)
{
	cleanup_dir DIR *dir = opendir("/proc/self/fd");
	int fds = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		fds++;
	return fds;
}

int unit_mkdir(char path[64])
{
	const char *base = getenv("TMPDIR");
	int fd;

	(void)snprintf(path, 64, "%.40s/reckon-unit-XXXXXX", base != NULL ? base : "/tmp");
	assert_non_null(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void unit_rmdir(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int unit_dir_make(void **state)
{
	static struct unit_dir dir;

	dir.dir_fd = unit_mkdir(dir.path);
	*state = &dir;
	return 0;
}

int unit_dir_drop(void **state)
{
	struct unit_dir *dir = *state;

	(void)close(dir->dir_fd);
	unit_rmdir(dir->path);
	return 0;
}
