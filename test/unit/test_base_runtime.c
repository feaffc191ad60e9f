/*
 * test_base_runtime.c - directories of a user's state and sockets.
 *
 * Runs in:  the unit suite.
 * Reads:    directories of its own.
 * Never:    touches the user's real directories.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/runtime.h"

UNIT_TEST(an_option_or_the_environment_sets_the_state_directory)
{
	char dir[256], here[128], expected[256];
	struct err err;

	assert_int_equal(setenv("RECKON_STATE", "/var/x", 1), 0);
	assert_ok(&err, runtime_state_dir(NULL, dir, sizeof(dir), &err));
	assert_string_equal(dir, "/var/x");
	assert_ok(&err, runtime_state_dir("/given", dir, sizeof(dir), &err));
	assert_string_equal(dir, "/given");
	assert_non_null(getcwd(here, sizeof(here)));
	(void)snprintf(expected, sizeof(expected), "%s/below", here);
	assert_ok(&err, runtime_state_dir("below", dir, sizeof(dir), &err));
	assert_string_equal(dir, expected);
	assert_err(&err, ERR_INVALID, runtime_state_dir("/much/too/long", dir, 8, &err));
	assert_int_equal(unsetenv("RECKON_STATE"), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", "/xdg", 1), 0);
	assert_ok(&err, runtime_state_dir(NULL, dir, sizeof(dir), &err));
	assert_string_equal(dir, geteuid() == 0 ? "/var/lib/reckon" : "/xdg/reckon");
}

UNIT_TEST(each_state_directory_has_its_own_daemon_name)
{
	char one[RUNTIME_NAME_SIZE], same[RUNTIME_NAME_SIZE], other[RUNTIME_NAME_SIZE];

	runtime_daemon_name("/var/lib/reckon", one);
	runtime_daemon_name("/var/lib/reckon", same);
	runtime_daemon_name("/var/lib/reckom", other);
	assert_string_equal(one, same);
	assert_string_not_equal(one, other);
	assert_int_equal(strspn(one, "daemon-0123456789abcdef"), strlen(one));
}

UNIT_TEST(the_directory_for_sockets_must_be_private)
{
	char base[64], below[80];
	struct err err;
	struct stat st;
	int fd;

	assert_int_equal(close(unit_mkdir(base)), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", base, 1), 0);
	assert_ok(&err, runtime_dir_open(&fd, &err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_not_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_equal(close(fd), 0);
	(void)snprintf(below, sizeof(below), "%s/reckon", base);
	assert_int_equal(chmod(below, 0750), 0);
	assert_err(&err, ERR_DENIED, runtime_dir_open(&fd, &err));
	assert_int_equal(rmdir(below), 0);
	assert_int_equal(symlink("/tmp", below), 0);
	assert_err(&err, ERR_SYSTEM, runtime_dir_open(&fd, &err));
	assert_int_equal(unlink(below), 0);
	unit_rmdir(base);
}
