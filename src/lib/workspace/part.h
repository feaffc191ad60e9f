/*
 * part.h - the part of a workspace that one operation touched, while others work on the rest.
 *
 * When a file is put while a cell runs, only that file is noted: changes by the cell are reported
 * with its record and stored when it ends. So the known state is only updated for the touched
 * names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/store/persist.h"
#include "lib/workspace/workspace.h"

struct part {
	const char *const *paths; /* workspace paths; each includes everything below it */
	size_t count;
	/*
	 * Status of the file that was put at paths[0], or NULL. If the file differs, the box
	 * changed it.
	 */
	const struct stat *put;
};

bool part_holds(const struct part *part, const char *path);
/* Whether it is a parent folder of one of the paths. */
bool part_is_above(const struct part *part, const char *path);

/* Merges the old scan with the part of the new one; the result is in `now`. `old` may be NULL. */
void part_of_scan(const struct part *part, const struct workspace *old, struct workspace *now);
/*
 * The same for lists of a manifest; parent folders of the part are included, so that the list is a
 * valid tree. False, with nothing changed: hard links are involved, which could connect both sides
 * of the part.
 */
bool part_of_list(const struct part *part, const struct persist_list *old,
		  struct persist_list *now);
