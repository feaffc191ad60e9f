/*
 * files.h - what the files of reckon-files share.
 *
 *   files.c       commands, answers
 *   files_compose.c  several files become one
 *   files_tree.c  entries as they are told, whole trees, extended attributes
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "codec/json_read.h"
#include "codec/json_write.h"

#define FILES_OUTPUT_MAX ((size_t)48 << 20)

/* ---- files.c ---- */
/* Answers; what the program exits with. */
int files_fail(const char *code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int files_fail_as(int number, const char *path);

/* The folders above it, and with `whole` itself. Negative: errno. */
int files_make_folders(const char *path, bool whole);

/* ---- files_compose.c ---- */
/* What the program exits with; it has answered, unless that is EXIT_SUCCESS. */
int files_compose(const struct json_value *paths, const char *to);

/* ---- files_tree.c ---- */
/* {"name", "path", "size", "link_mode", "mode", "owner", "group", "modified_s", "target",
 * "attributes"}; `mode` is that of what a link leads to, 0 when that is nothing. */
void files_write_entry(struct json_writer *json, const char *path, const struct stat *st);
/* These return a negative number and errno. */
int files_walk(struct json_writer *json, const char *folder, int64_t depth);
int files_remove(const char *path); /* with all it holds */
int files_carry(const char *from, const char *to); /* to another file system */
/* `attributes` of the input in place of those that begin with its `prefix`. */
int files_set_attributes(int fd, const struct json_value *input);
