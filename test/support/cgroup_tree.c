/*
 * cgroup_tree.c - a folder that simulates the cgroups of a warden, of either version.
 *
 * Runs in:  the unit suite; needs neither cgroups nor privileges.
 * Reads:    files that the code under test has written.
 * Never:    uses a real cgroup.
 */
#include "support/cgroup_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

const char *const tree_controllers[TREE_CONTROLLERS] = { "memory", "pids", "cpu", "cpuacct",
							 "freezer" };

/* ---- files ---- */

void tree_put_at(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

void tree_read_at(const char *path, char *ret, size_t size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, ret, size - 1) : 0;

	assert_true(n >= 0);
	ret[n] = '\0';
}

static void path_of(const struct tree *tree, const char *controller, const char *file,
		    char ret[512])
{
	(void)snprintf(ret, 512, "%s/%s%s%s/%s", tree->root, controller,
		       controller[0] != '\0' ? "/" : "", tree->host.name, file);
}

void tree_put(const struct tree *tree, const char *controller, const char *file, const char *text)
{
	char path[512];

	path_of(tree, controller, file, path);
	tree_put_at(path, text);
}

void tree_drop(const struct tree *tree, const char *controller, const char *file)
{
	char path[512];

	path_of(tree, controller, file, path);
	assert_int_equal(unlink(path), 0);
}

void tree_contains(const struct tree *tree, const char *controller, const char *file,
		   const char *expected)
{
	char path[512], text[128];

	if (!tree_has(tree, controller, file))
		fail_msg("%s of %s is missing", file, controller);
	path_of(tree, controller, file, path);
	tree_read_at(path, text, sizeof(text));
	assert_string_equal(text, expected);
}

bool tree_has(const struct tree *tree, const char *controller, const char *file)
{
	char path[512];

	path_of(tree, controller, file, path);
	return access(path, F_OK) == 0;
}

/* ---- fixtures ---- */

static int make(void **state, enum cgroup_kind kind)
{
	static struct tree tree;
	struct err err;

	if (unit_mkdir(tree.root) < 0)
		return -1;
	for (size_t i = 0; kind == CGROUP_V1 && i < TREE_CONTROLLERS; i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s", tree.root, tree_controllers[i]);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	*state = &tree;
	return cgroup_host_open_at(&tree.host, kind, tree.root, &err);
}

int tree_make_v1(void **state)
{
	return make(state, CGROUP_V1);
}

int tree_make_v2(void **state)
{
	return make(state, CGROUP_V2);
}

int tree_unmake(void **state)
{
	struct tree *tree = *state;

	cgroup_host_close(&tree->host);
	unit_rmdir(tree->root);
	return 0;
}
