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

/* In a copy of a template root's namespace: mounts the box's own /proc, /dev/pts, /mnt, /mnt/data,
 * /tmp and /dev/shm. */
int mount_session_dirs(const struct mount_quota *quota, struct err *err);

/* Changes the sizes of the session's directories (caller is in the box's mount namespace). */
int mount_session_resize(const struct mount_quota *quota, struct err *err);

/*
 * Attaches host directories below /mnt. trees[i] is a detached mount (open_tree) made by
 * mount_clone_dir(); the caller is in the box's mount namespace.
 */
int mount_host_dirs(const int *trees, const char *const *targets, size_t count, struct err *err);

/*
 * A detached copy of the mount at dir_fd: nosuid, nodev, read-only unless writable. With userns_fd
 * >= 0 files appear with the owners that this user namespace maps theirs to (an id-mapped mount).
 */
int mount_clone_dir(int dir_fd, int writable, int userns_fd, int *ret_tree, struct err *err);

/*
 * *ret_dir: /proc/sys/user of a private procfs, for the calling process's pid namespace. A process
 * that opens a file there gets the values of its own user namespace.
 */
int mount_own_sysctl(int *ret_dir, struct err *err);

/* Makes a Landlock ruleset for the current root: read all, write /mnt, /tmp, /dev/shm, /dev/null…
 * *ret_fd is -1 if Linux has no Landlock. */
int mount_landlock_rules(int *ret_fd, struct err *err);
