/*
 * part.h - the part of a workspace that one operation touched, while others work on the rest.
 *
 * A file that is put while a cell runs is noted alone: what the cell does meanwhile is the cell's,
 * told with its record and kept when it ends. So what is known of the workspace is brought up to
 * date for the names that were touched, and stays as it was for all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/store/persist.h"
#include "lib/workspace/workspace.h"

struct part {
	const char *const *paths; /* of the workspace; with each all that is below it */
	size_t count;
	/* What was put at the first of them, or NULL: what is there is the box's own if it differs. */
	const struct stat *put;
};

bool part_holds(const struct part *part, const char *path);
/* A folder on the way to one of them. */
bool part_is_above(const struct part *part, const char *path);

/* The old picture, with the part of the new one; `now` becomes that. `old` may be NULL. */
void part_of_scan(const struct part *part, const struct workspace *old, struct workspace *now);
/*
 * The same with lists of what is kept; what is above the part comes along as folders, so that the
 * list is of a tree that there could be. False, and nothing happened, when names of one file are
 * about: those on both sides of the part would lead to each other.
 */
bool part_of_list(const struct part *part, const struct persist_list *old,
		  struct persist_list *now);
