/* inner.h - what fs.c and tree.c share. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* openat2 beneath dir_fd, no links; -1 and errno. */
int fs_inner_open(int dir_fd, const char *path, uint64_t flags, mode_t mode);
/* Reports a failed open; a link in the path is ERR_DENIED, not ERR_SYSTEM. */
int fs_inner_failed(const char *path, struct err *err);
/* Opens the directory that holds `path`, creating missing parents; also returns the last
 * component. */
int fs_inner_parents(int dir_fd, const char *path, uid_t uid, gid_t gid, int *ret_parent,
		     const char **ret_name, struct err *err);
/* The same, but creates nothing. */
int fs_inner_parent(int dir_fd, const char *path, int *ret_parent, const char **ret_name,
		    struct err *err);
