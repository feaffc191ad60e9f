/* mount.h - what a box sees of the file system. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct mount_tree {
	const char *template_tree; /* host path of TEMPLATE/tree, or NULL */
	const char *libexec_dir;   /* host path of our inside programs */
};

/*
 * Makes the calling process's root the small read-only system tree that all boxes of a template
 * share (ARCHITECTURE.md "Inside a box"). The caller must be alone in a fresh mount namespace.
 * Afterwards "/" is the new root and nothing of the old one can be reached.
 */
int mount_template_root(const struct mount_tree *tree, struct err *err);

struct mount_quota {
	uint64_t disk_bytes;   /* of /mnt/data */
	uint64_t memory_bytes; /* half of it bounds /tmp and /dev/shm each */
	uint64_t inodes;
	uid_t uid; /* owner of /mnt/data, as the calling user namespace sees it */
	gid_t gid;
};

/* In a copy of a template root's namespace: own /proc, /mnt/data, /tmp, /dev/shm. */
int mount_session_dirs(const struct mount_quota *quota, struct err *err);

/* Changes the sizes of the session's directories (caller is in the box's mount namespace). */
int mount_session_resize(const struct mount_quota *quota, struct err *err);

/*
 * Attaches host directories below /mnt. trees[i] is a detached mount (open_tree) made by
 * mount_clone_dir(); the caller is in the box's mount namespace.
 */
int mount_host_dirs(const int *trees, const char *const *targets, size_t count, struct err *err);

/*
 * A detached copy of the mount at dir_fd: nosuid, nodev, read-only unless writable. Files of the
 * directory's owner appear as owned by uid_inside when userns_fd >= 0 (an id-mapped mount).
 */
int mount_clone_dir(int dir_fd, int writable, int userns_fd, int *ret_tree, struct err *err);

/*
 * *ret_dir: /proc/sys/user of a procfs that nobody else sees, for the calling process's pid
 * namespace. What is looked up there is of whoever looks.
 */
int mount_own_sysctl(int *ret_dir, struct err *err);

/* A Landlock ruleset for the current root: read all, write /mnt, /tmp, /dev/shm, /dev/null…
 * *ret_fd is -1 when the kernel has no Landlock. */
int mount_landlock_rules(int *ret_fd, struct err *err);
