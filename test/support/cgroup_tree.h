/* cgroup_tree.h - a folder that stands for the cgroups a warden was given, of either version. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "box/cgroup/cgroup.h"

#define TREE_CONTROLLERS 5
extern const char *const tree_controllers[TREE_CONTROLLERS]; /* v1: a folder each */

struct tree {
	char root[64];
	struct cgroup_host host;
};

/* cmocka fixtures; *state becomes a struct tree. */
int tree_make_v1(void **state);
int tree_make_v2(void **state);
int tree_unmake(void **state);

/* Control files of the host's group; `controller` is "" in v2. */
void tree_put(const struct tree *tree, const char *controller, const char *file, const char *text);
void tree_drop(const struct tree *tree, const char *controller, const char *file);
void tree_contains(const struct tree *tree, const char *controller, const char *file,
		   const char *expected);
bool tree_has(const struct tree *tree, const char *controller, const char *file);

/* A file by its path, for folders without a host. */
void tree_put_at(const char *path, const char *text);
/* Its text; "" when it is not there. */
void tree_read_at(const char *path, char *ret, size_t size);
