/* file.h - reads and writes control files below a directory descriptor. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* `group` may be "" for the directory itself. */
int cgroup_file_write(int base, const char *group, const char *file, const char *text,
		      struct err *err);
int cgroup_file_write_u64(int base, const char *group, const char *file, uint64_t value,
			  struct err *err);
/* Enables the controllers for a group's children (v2); those that the parent lacks stay off. */
void cgroup_file_enable(int base, const char *group);
/*
 * Reads a file as text, terminated, cut to `size`. Returns its length; negative or 0 if it cannot
 * be read. This function and the next three keep the file open, because it will be used again.
 */
ssize_t cgroup_file_text(int base, const char *group, const char *file, char *text, size_t size);
/* Writes "0" to a file that is also read. */
void cgroup_file_reset(int base, const char *group, const char *file);
/* A file that holds one number; 0 when it cannot be read. */
uint64_t cgroup_file_number(int base, const char *group, const char *file);
/* The number behind `key` in a file of "key number" lines; 0 when there is none. */
uint64_t cgroup_file_key(int base, const char *group, const char *file, const char *key);
/* Closes the files of a group, and of those in it, that are kept open. */
void cgroup_file_forget(const char *group);
/* Sends SIGKILL to every process of the group but `spare` (0: none); returns how many there
 * were. */
int cgroup_file_kill_procs(int base, const char *group, pid_t spare);

/* Moves every process from one group to another; returns how many there were, or an error. */
int cgroup_file_move_procs(int base, const char *from, const char *to, struct err *err);

/* "NAME/PART", the group of a part of a box (v2). */
void cgroup_part_name(char *ret, size_t size, const char *name, const char *part);
