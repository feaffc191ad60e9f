/*
 * tree.h - folders, links and whole trees beneath a directory that a hostile process can change.
 *
 * As in fs.h, no function follows a symbolic link or leaves the directory. `uid` (uid_t)-1: do not
 * change the owner.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Creates a directory and its parents (0755); an existing one is fine. */
int fs_mkdir_beneath(int dir_fd, const char *path, uid_t uid, gid_t gid, struct err *err);

/* Creates a link to `target`, which is text that these functions never follow; replaces anything
 * but a directory. */
int fs_symlink_beneath(int dir_fd, const char *path, const char *target, uid_t uid, gid_t gid,
		       struct err *err);

/* Creates a second name for the regular file `from`; replaces anything but a directory. */
int fs_link_beneath(int dir_fd, const char *from, const char *path, uid_t uid, gid_t gid,
		    struct err *err);

/*
 * Renames `from` to `to`, creating the parents of `to`. Without `overwrite` ERR_DENIED when `to`
 * exists; with it a file replaces a file, an empty directory a directory.
 */
int fs_move_beneath(int dir_fd, const char *from, const char *to, int overwrite, uid_t uid,
		    gid_t gid, struct err *err);
/* The same from one directory to another of the same file system. */
int fs_move_between(int from_fd, const char *from, int to_fd, const char *to, int overwrite,
		    uid_t uid, gid_t gid, struct err *err);

/*
 * Removes everything in the directory dir_fd, however deep, with few descriptors: deep directories
 * are moved up first. Counts what it removed. ERR_SYSTEM if entries that were added meanwhile
 * remain.
 */
int fs_empty(int dir_fd, uint64_t *ret_removed, struct err *err);
