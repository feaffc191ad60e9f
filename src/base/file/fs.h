/*
 * fs.h - paths beneath a directory that a hostile process can change.
 *
 * Nothing here follows a symbolic link, leaves the directory, or opens anything
 * but a regular file or directory (openat2 with RESOLVE_BENEATH,
 * RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS; Linux 5.6).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Whether `path` is a relative path we accept: 1..4095 bytes, valid UTF-8, no empty, "." or
 * ".." component, no control characters, no leading or trailing '/'.
 */
bool fs_path_is_safe(const char *path);

/*
 * openat2() with the flags above, for names that may be any bytes: only the kernel checks them.
 * Returns the descriptor, or -1 and errno.
 */
int fs_open_beneath(int dir_fd, const char *path, uint64_t flags, mode_t mode);

/* Opens an existing regular file for reading without blocking on FIFOs or devices. */
int fs_open_file_beneath(int dir_fd, const char *path, int *ret_fd, struct stat *ret_st,
			 struct err *err);

/* Opens an existing directory beneath dir_fd; "" opens dir_fd itself again. */
int fs_open_dir_beneath(int dir_fd, const char *path, int *ret_fd, struct err *err);

/*
 * Creates `path` for writing (mode 0644, truncating an existing regular file) and missing parent
 * directories (0755). Unless uid is (uid_t)-1, everything created belongs to uid:gid.
 */
int fs_create_beneath(int dir_fd, const char *path, uid_t uid, gid_t gid, int *ret_fd,
		      struct err *err);

/* Removes a file, link or other node, or an empty directory. */
int fs_remove_beneath(int dir_fd, const char *path, struct err *err);

/* mkdir -p for an absolute path of Reckon's own; existing directories are fine. */
int fs_mkdir_parents(const char *path, mode_t mode, struct err *err);

/* "dir/name", or "name" when `dir` is ""; NULL when it has more than `max` bytes. free() it. */
char *fs_join(const char *dir, const char *name, size_t max);
