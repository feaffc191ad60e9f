/*
 * part.c - updates the known state of one part of a workspace.
 *
 * Runs in:  libreckon.
 * Reads:    two scans of a workspace; no file.
 * Never:    makes a list that is not a valid tree.
 */
#include "lib/workspace/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/store/persist.h"
#include "lib/workspace/workspace.h"

static bool is_below(const char *path, const char *above)
{
	const size_t len = strlen(above);

	return strncmp(path, above, len) == 0 && path[len] == '/';
}

bool part_holds(const struct part *part, const char *path)
{
	for (size_t i = 0; i < part->count; i++)
		if (strcmp(path, part->paths[i]) == 0 || is_below(path, part->paths[i]))
			return true;
	return false;
}

bool part_is_above(const struct part *part, const char *path)
{
	for (size_t i = 0; i < part->count; i++)
		if (is_below(part->paths[i], path))
			return true;
	return false;
}

/* ---- scans ---------------------------------------------------------------------------------- */

/* If the box has already changed the file that was put, that change is still to be reported. */
static void judge_put(const struct part *part, struct workspace_entry *entry)
{
	const struct stat *put = part->put;
	int64_t mtime_ns;

	if (put == NULL || strcmp(entry->path, part->paths[0]) != 0)
		return;
	mtime_ns = (int64_t)put->st_mtim.tv_sec * 1000000000 + put->st_mtim.tv_nsec;
	if (entry->ino == put->st_ino && entry->size == (uint64_t)put->st_size &&
	    entry->mtime_ns == mtime_ns)
		return;
	entry->ino = put->st_ino;
	entry->size = (uint64_t)put->st_size;
	entry->mtime_ns = mtime_ns;
	entry->ctime_ns = 0; /* does not match any file */
}

void part_of_scan(const struct part *part, const struct workspace *old, struct workspace *now)
{
	const size_t old_count = old != NULL ? old->count : 0;
	struct workspace_entry *merged = mem_new0(old_count + now->count + 1, sizeof(*merged));
	size_t count = 0;

	for (size_t i = 0; i < now->count; i++) {
		if (part_holds(part, now->entries[i].path)) {
			judge_put(part, &now->entries[i]);
			merged[count++] = now->entries[i];
		} else {
			free(now->entries[i].path);
		}
	}
	for (size_t i = 0; i < old_count; i++)
		if (!part_holds(part, old->entries[i].path)) {
			merged[count] = old->entries[i];
			merged[count].sha256 = NULL; /* was only valid for that scan */
			merged[count++].path = mem_strdup(old->entries[i].path);
		}
	qsort(merged, count, sizeof(*merged), workspace_compare);
	free(now->entries);
	now->entries = merged;
	now->count = count;
	if (old != NULL) {
		now->scanned_ns = old->scanned_ns;
		now->is_incomplete = old->is_incomplete;
	}
}

/* ---- manifests ------------------------------------------------------------------------------ */

static bool has_links(const struct persist_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->entries[i].kind == RECKON_ENTRY_HARD_LINK)
			return true;
	return false;
}

static bool comes_along(const struct part *part, const struct persist_entry *entry)
{
	return part_holds(part, entry->path) || (entry->kind == RECKON_ENTRY_DIRECTORY &&
						 part_is_above(part, entry->path));
}

static void copy_entry(struct persist_list *to, const struct persist_entry *from)
{
	struct persist_entry *copy = persist_list_add(to);

	*copy = *from;
	copy->path = mem_strdup(from->path);
	copy->target = from->target != NULL ? mem_strdup(from->target) : NULL;
}

bool part_of_list(const struct part *part, const struct persist_list *old, struct persist_list *now)
{
	struct persist_list merged = { .unseen = old->unseen };

	if (has_links(old) || has_links(now))
		return false;
	for (size_t i = 0; i < now->count; i++)
		if (comes_along(part, &now->entries[i]))
			copy_entry(&merged, &now->entries[i]);
	for (size_t i = 0; i < old->count; i++) {
		const struct persist_entry *entry = &old->entries[i];
		const struct persist_entry *is = persist_list_find(now, entry->path);

		/* The entry was taken from the new list, or belongs to the part. */
		if (!part_holds(part, entry->path) && (is == NULL || !comes_along(part, is)))
			copy_entry(&merged, entry);
	}
	if (merged.count > 1)
		qsort(merged.entries, merged.count, sizeof(*merged.entries), persist_compare);
	persist_list_clear(now);
	*now = merged;
	return true;
}
