/*
 * tree.h - folders, links and whole trees beneath a directory that somebody hostile can change.
 *
 * As fs.h: no symbolic link is followed, nothing leads out. `uid` (uid_t)-1: nothing is given away.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* A directory and its parents (0755); one that is there is fine. */
int fs_mkdir_beneath(int dir_fd, const char *path, uid_t uid, gid_t gid, struct err *err);

/* A link whose target is text that nobody here follows; replaces what is not a directory. */
int fs_symlink_beneath(int dir_fd, const char *path, const char *target, uid_t uid, gid_t gid,
		       struct err *err);

/* A second name for the regular file `from`; replaces what is not a directory. */
int fs_link_beneath(int dir_fd, const char *from, const char *path, uid_t uid, gid_t gid,
		    struct err *err);

/*
 * Gives `from` the name `to`, making the parents of `to`. Without `overwrite` ERR_DENIED when
 * `to` is there; with it a file replaces a file, an empty directory a directory.
 */
int fs_move_beneath(int dir_fd, const char *from, const char *to, int overwrite, uid_t uid,
		    gid_t gid, struct err *err);
/* The same from one directory to another of the same file system. */
int fs_move_between(int from_fd, const char *from, int to_fd, const char *to, int overwrite,
		    uid_t uid, gid_t gid, struct err *err);

/*
 * Removes everything in the directory dir_fd, however deep, with few descriptors: what lies deep
 * is moved up first. Counts what is gone. What somebody adds meanwhile may stay: ERR_SYSTEM.
 */
int fs_empty(int dir_fd, uint64_t *ret_removed, struct err *err);
