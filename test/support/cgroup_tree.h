/* cgroup_tree.h - a folder that simulates the cgroups of a warden, of either version. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "box/cgroup/cgroup.h"

#define TREE_CONTROLLERS 5
extern const char *const tree_controllers[TREE_CONTROLLERS]; /* v1: one folder each */

struct tree {
	char root[64];
	struct cgroup_host host;
};

/* cmocka fixtures; *state becomes a struct tree. */
int tree_make_v1(void **state);
int tree_make_v2(void **state);
int tree_unmake(void **state);

/* Control files of the host's cgroup; `controller` is "" in v2. */
void tree_put(const struct tree *tree, const char *controller, const char *file, const char *text);
void tree_drop(const struct tree *tree, const char *controller, const char *file);
void tree_contains(const struct tree *tree, const char *controller, const char *file,
		   const char *expected);
bool tree_has(const struct tree *tree, const char *controller, const char *file);

/* Writes a file by its path, for folders without a host. */
void tree_put_at(const char *path, const char *text);
/* Reads a file by its path; "" if it does not exist. */
void tree_read_at(const char *path, char *ret, size_t size);
