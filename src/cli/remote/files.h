/*
 * files.h - the parts of reckon files.
 *
 *   files.c       ls, get, put, rm
 *   files_list.c  fetches and prints lists
 */
#pragma once

#include "cli/remote/remote.h"

struct files {
	struct remote remote;
	const struct opt_command *self;
	struct client *client;
	struct json_value *session; /* NULL for a volume */
	const char *volume;
	struct json_value **pages; /* {"files": […], "next"}, or {"entries": […]}, or one entry */
	size_t page_count;
	const struct json_value **rows; /* the matching entries that are files */
	size_t row_count;
	const char **names;
	size_t count;
	const char *target;
	bool force;
};

/* Fetches the entries of `name`, and maybe more, as the rows. */
int files_fetch(struct files *files, const char *name, struct err *err);

/* The length of a name without slashes at its end. */
size_t files_name_length(const char *name);

/* Whether `path` is `name`, or below it. */
bool files_is_within(const char *path, const char *name);

/* Appends the entries below the first name as a table; nothing if there are none. */
int files_draw(const struct files *files, struct buf *text, struct err *err);

/* Prints the rows as JSON to stdout; returns the exit status. */
int files_print_rows(const struct files *files);
