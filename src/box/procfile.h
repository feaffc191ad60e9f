/* procfile.h - reads numbers from /proc/PID/… files. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file as text, terminated, cut to `size`. Returns its length, negative if it cannot be
 * read. */
ssize_t procfile_text(pid_t pid, const char *file, char *ret, size_t size);

/*
 * The number behind `key` at the beginning of a line of /proc/PID/FILE ("VmData:", "rchar:"), in
 * `base` 8, 10 or 16; `otherwise` if the file or the line is missing.
 */
uint64_t procfile_number(pid_t pid, const char *file, const char *key, int base,
			 uint64_t otherwise);

/* The same from a text that procfile_text() read. */
uint64_t procfile_find(const char *text, const char *key, int base, uint64_t otherwise);

/*
 * Fields of /proc/PID/stat by their numbers in proc_pid_stat(5), from 4 (ppid) on; 0 for what is
 * missing. The name in field 2 may hold anything and is passed over.
 */
void procfile_stat(pid_t pid, const int *fields, size_t count, int64_t *ret);
