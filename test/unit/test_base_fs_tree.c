/*
 * test_base_fs_tree.c - folders, links and trees beneath a directory that hostile code changes.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    touches a file outside of it; the tests verify this.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/tree.h"

#define NOBODY ((uid_t)-1), ((gid_t)-1)
#define DEEP 300

struct place {
	char path[64];
	int top, ws;
};

static int set_up(void **state)
{
	static struct place place;

	if (unit_mkdir(place.path) < 0)
		return -1;
	place.top = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place.top < 0 || mkdirat(place.top, "ws", 0755) < 0 ||
	    mkdirat(place.top, "outside", 0755) < 0 ||
	    close(openat(place.top, "outside/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
		return -1;
	place.ws = openat(place.top, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &place;
	return place.ws < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	(void)close(place->ws);
	(void)close(place->top);
	unit_rmdir(place->path);
	return 0;
}

static void make(int dir, const char *path)
{
	cleanup_fd int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
}

static bool exists(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

UNIT_TEST_WITH(folders_are_created_beneath, set_up, tear_down)
{
	struct place *at = *state;
	struct err err;

	assert_ok(&err, fs_mkdir_beneath(at->ws, "a/b/c", NOBODY, &err));
	assert_ok(&err, fs_mkdir_beneath(at->ws, "a/b/c", NOBODY, &err));
	assert_true(exists(at->ws, "a/b/c"));
	make(at->ws, "f");
	assert_err(&err, ERR_DENIED, fs_mkdir_beneath(at->ws, "f", NOBODY, &err));
	assert_int_equal(symlinkat("../outside", at->ws, "l"), 0);
	assert_err(&err, ERR_DENIED, fs_mkdir_beneath(at->ws, "l/x", NOBODY, &err));
	assert_err(&err, ERR_DENIED, fs_mkdir_beneath(at->ws, "l", NOBODY, &err));
	assert_err(&err, ERR_INVALID, fs_mkdir_beneath(at->ws, "../x", NOBODY, &err));
	assert_false(exists(at->top, "outside/x"));
}

UNIT_TEST_WITH(links_are_created_beneath_and_not_followed, set_up, tear_down)
{
	struct place *at = *state;
	struct err err;

	make(at->ws, "f");
	assert_ok(&err, fs_symlink_beneath(at->ws, "d/l", "../f", NOBODY, &err));
	assert_ok(&err, fs_link_beneath(at->ws, "f", "d/h", NOBODY, &err));
	assert_ok(&err, fs_link_beneath(at->ws, "f", "d/l", NOBODY, &err)); /* replaces the link */
	assert_err(&err, ERR_INVALID, fs_symlink_beneath(at->ws, "d", "x", NOBODY, &err));
	assert_err(&err, ERR_INVALID, fs_link_beneath(at->ws, "f", "f", NOBODY, &err));
	assert_err(&err, ERR_NOT_FOUND, fs_link_beneath(at->ws, "none", "x", NOBODY, &err));
	assert_int_equal(symlinkat("../outside/f", at->ws, "out"), 0);
	assert_err(&err, ERR_DENIED, fs_link_beneath(at->ws, "out", "x", NOBODY, &err));
	assert_int_equal(symlinkat("../outside", at->ws, "l"), 0);
	assert_err(&err, ERR_DENIED, fs_link_beneath(at->ws, "l/f", "x", NOBODY, &err));
	assert_err(&err, ERR_DENIED, fs_symlink_beneath(at->ws, "l/x", "y", NOBODY, &err));
	assert_false(exists(at->top, "outside/x"));
}

UNIT_TEST_WITH(moves_stay_beneath, set_up, tear_down)
{
	struct place *at = *state;
	struct err err;

	make(at->ws, "f");
	make(at->ws, "g");
	assert_ok(&err, fs_move_beneath(at->ws, "f", "new/f", 0, NOBODY, &err));
	assert_err(&err, ERR_DENIED, fs_move_beneath(at->ws, "g", "new/f", 0, NOBODY, &err));
	assert_ok(&err, fs_move_beneath(at->ws, "g", "new/f", 1, NOBODY, &err));
	assert_false(exists(at->ws, "g"));
	assert_err(&err, ERR_NOT_FOUND, fs_move_beneath(at->ws, "g", "h/i", 0, NOBODY, &err));
	assert_false(exists(at->ws, "h"));
	assert_err(&err, ERR_INVALID, fs_move_beneath(at->ws, "new", "new/below", 0, NOBODY, &err));
	make(at->ws, "f");
	assert_err(&err, ERR_INVALID, fs_move_beneath(at->ws, "f", "new", 1, NOBODY, &err));
	assert_int_equal(symlinkat("../outside", at->ws, "l"), 0);
	assert_err(&err, ERR_DENIED, fs_move_beneath(at->ws, "f", "l/x", 0, NOBODY, &err));
	assert_err(&err, ERR_DENIED, fs_move_beneath(at->ws, "l/f", "x", 0, NOBODY, &err));
	assert_true(exists(at->top, "outside/f"));
}

/* A tree of 300 levels is emptied: links are removed, not followed, and no descriptor leaks. */
UNIT_TEST_WITH(a_deep_tree_is_emptied, set_up, tear_down)
{
	struct place *at = *state;
	cleanup_fd int dir = fcntl(at->ws, F_DUPFD_CLOEXEC, 0);
	const int before = unit_open_fds();
	uint64_t removed = 0;
	struct err err;

	for (int i = 0; i < DEEP; i++) {
		int below;

		make(dir, "f");
		assert_int_equal(symlinkat("/", dir, "l"), 0);
		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		below = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		(void)close(dir);
		dir = below;
	}
	assert_int_equal(symlinkat("../outside", at->ws, "out"), 0);
	assert_ok(&err, fs_empty(at->ws, &removed, &err));
	assert_int_equal(removed, 3 * DEEP + 1);
	assert_true(exists(at->top, "outside/f"));
	assert_false(exists(at->ws, "d"));
	assert_int_equal(unit_open_fds(), before);
}
