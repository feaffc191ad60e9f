/*
 * test_cli_run_files.c - saved files of a box stay inside the directory and are always whole.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    touches a file outside of it; the tests verify this.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/run.h"

struct place {
	char path[64];
	int dir;
};

static int place_open(void **state)
{
	static struct place place;

	place.dir = unit_mkdir(place.path);
	*state = &place;
	return mkdirat(place.dir, "out", 0755);
}

static int place_close(void **state)
{
	struct place *place = *state;

	(void)close(place->dir);
	unit_rmdir(place->path);
	return 0;
}

static int open_out(const struct place *place)
{
	int fd = openat(place->dir, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int save(int dir, const char *path, const char *text, struct err *err)
{
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;

	if (run_files_create(dir, path, temp, &fd, err) < 0)
		return (int)err->code;
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	if (run_files_commit(dir, temp, path, err) == 0)
		return 0;
	run_files_abandon(dir, temp);
	return (int)err->code;
}

static void assert_contents(int dir, const char *path, const char *want)
{
	cleanup_fd int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char got[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, want);
}

static int count_entries(int dir)
{
	cleanup_dir DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int count = 0;

	assert_non_null(list);
	while (readdir(list) != NULL)
		count++;
	return count - 2; /* "." and ".." */
}

UNIT_TEST_WITH(files_are_saved_with_their_directories, place_open, place_close)
{
	cleanup_fd int out = open_out(*state);
	struct err err;

	assert_ok(&err, save(out, "a.txt", "one", &err));
	assert_ok(&err, save(out, "sub/deep/b.txt", "two", &err));
	assert_contents(out, "a.txt", "one");
	assert_contents(out, "sub/deep/b.txt", "two");
	assert_int_equal(count_entries(out), 2);
}

UNIT_TEST_WITH(a_file_is_replaced_whole, place_open, place_close)
{
	cleanup_fd int out = open_out(*state);
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;
	struct err err;

	assert_ok(&err, save(out, "a.txt", "a long first text", &err));
	assert_ok(&err, run_files_create(out, "a.txt", temp, &fd, &err));
	assert_int_equal(write(fd, "half", 4), 4);
	assert_contents(out, "a.txt", "a long first text");
	run_files_abandon(out, temp);
	assert_contents(out, "a.txt", "a long first text");
	assert_int_equal(count_entries(out), 1);
	assert_ok(&err, save(out, "a.txt", "short", &err));
	assert_contents(out, "a.txt", "short");
}

UNIT_TEST_WITH(names_that_leave_the_directory_are_refused, place_open, place_close)
{
	static const char *const names[] = { "../x", "/etc/x", "a/../../x", "..", "", "a//b",
					     "a/",   "x\ny" };
	struct place *place = *state;
	cleanup_fd int out = open_out(place);
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_err(&err, ERR_DENIED, save(out, names[i], "bad", &err));
	assert_int_equal(count_entries(out), 0);
	assert_int_equal(count_entries(place->dir), 1);
}

UNIT_TEST_WITH(links_are_not_followed, place_open, place_close)
{
	struct place *place = *state;
	cleanup_fd int out = open_out(place);
	struct err err;

	assert_ok(&err, save(place->dir, "secret", "mine", &err));
	assert_int_equal(mkdirat(place->dir, "elsewhere", 0755), 0);
	assert_int_equal(symlinkat("../secret", out, "link"), 0);
	assert_int_equal(symlinkat("../elsewhere", out, "dir"), 0);
	/* A link in the file's place is replaced, not written through. */
	assert_ok(&err, save(out, "link", "new", &err));
	assert_contents(out, "link", "new");
	assert_contents(place->dir, "secret", "mine");
	err_clear(&err);
	assert_true(save(out, "dir/x", "bad", &err) < 0);
	assert_int_not_equal(faccessat(place->dir, "elsewhere/x", F_OK, 0), 0);
}

UNIT_TEST_WITH(a_directory_in_the_way_is_an_error, place_open, place_close)
{
	cleanup_fd int out = open_out(*state);
	struct err err;

	assert_int_equal(mkdirat(out, "a.txt", 0755), 0);
	assert_err(&err, ERR_SYSTEM, save(out, "a.txt", "x", &err));
	assert_int_equal(err.errnum, EISDIR);
	assert_int_equal(count_entries(out), 1);
}

UNIT_TEST_WITH(checking_a_directory_creates_nothing, place_open, place_close)
{
	struct place *place = *state;
	char path[128];
	struct err err;

	(void)snprintf(path, sizeof(path), "%s/new/deeper//", place->path);
	assert_ok(&err, run_files_check_dir(path, &err));
	assert_int_equal(count_entries(place->dir), 1);
	assert_err(&err, ERR_INVALID, run_files_check_dir("", &err));
	assert_int_equal(mknodat(place->dir, "file", S_IFREG | 0644, 0), 0);
	(void)snprintf(path, sizeof(path), "%s/file", place->path);
	assert_err(&err, ERR_INVALID, run_files_check_dir(path, &err));
	(void)snprintf(path, sizeof(path), "%s/file/below", place->path);
	assert_err(&err, ERR_SYSTEM, run_files_check_dir(path, &err));
}

UNIT_TEST_WITH(a_missing_directory_is_created, place_open, place_close)
{
	struct place *place = *state;
	cleanup_fd int fd = -1;
	char path[128];
	struct err err;

	(void)snprintf(path, sizeof(path), "%s/new/deeper", place->path);
	assert_ok(&err, run_files_open_dir(path, &fd, &err));
	assert_ok(&err, save(fd, "x", "y", &err));
	assert_contents(place->dir, "new/deeper/x", "y");
}

UNIT_TEST(source_code_must_be_text)
{
	struct err err;

	assert_ok(&err, run_input_check_source("", 0, &err));
	assert_ok(&err, run_input_check_source("x = '\xc3\xbc'\n", 9, &err));
	assert_err(&err, ERR_INVALID, run_input_check_source("a\n\0", 3, &err));
	assert_string_equal(err.text, "not source code: NUL byte in line 2");
	assert_err(&err, ERR_INVALID, run_input_check_source("a\n\n\xff", 4, &err));
	assert_string_equal(err.text, "not UTF-8: byte 0xff in line 3");
}


int main(void)
{
	(void)umask(022);
	return unit_run(NULL, NULL);
}
