/*
 * files.h - what the files of reckon-files share.
 *
 *   files.c          commands and their results
 *   files_compose.c  joins several files to one
 *   files_tree.c     entries as JSON, whole trees, extended attributes
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "codec/json_read.h"
#include "codec/json_write.h"

#define FILES_OUTPUT_MAX ((size_t)48 << 20)

/* ---- files.c ---- */
/* Print an error as JSON; return the exit status. */
int files_fail(const char *code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int files_fail_as(int number, const char *path);

/* Makes the folders above `path`; with `whole` also `path`. Negative: see errno. */
int files_make_folders(const char *path, bool whole);

/* ---- files_compose.c ---- */
/* Returns the exit status. Unless it is EXIT_SUCCESS, an error was printed. */
int files_compose(const struct json_value *paths, const char *to);

/* ---- files_tree.c ---- */
/*
 * Writes {"name", "path", "size", "link_mode", "mode", "owner", "group", "modified_s", "target",
 * "attributes"}. `mode` is the mode of a link's target, 0 if the target does not exist.
 */
void files_write_entry(struct json_writer *json, const char *path, const struct stat *st);
/* These return a negative number and set errno on failure. */
int files_walk(struct json_writer *json, const char *folder, int64_t depth);
int files_remove(const char *path); /* a folder with everything in it */
/* moves to another file system: copies, then removes the source */
int files_carry(const char *from, const char *to);
/* Replaces the attributes that begin with the input's `prefix` by its `attributes`. */
int files_set_attributes(int fd, const struct json_value *input);
