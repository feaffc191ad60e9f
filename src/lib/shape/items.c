/*
 * items.c - the lists of lines and marks that the passes of a shape read and write.
 *
 * Runs in:  libreckon.
 * Reads:    output of a hostile program.
 * Never:    interprets the content of a line.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/shape/line.h"
#include "lib/shape/state.h"

void shape_add_item(struct items *items, const struct item *item)
{
	if (items->count == items->cap) {
		items->cap = items->cap > 0 ? items->cap * 2 : 64;
		items->at = mem_grow(items->at, items->cap, sizeof(*items->at));
	}
	items->at[items->count] = *item;
	items->count++;
}

const char *shape_item_text(const struct shape *shape, const struct item *item)
{
	return buf_text(&shape->arena) + item->at;
}

/* Adds a mark in place of the items from `first` to `last`. */
void shape_add_mark(struct shape *shape, struct items *items, const struct item *first,
		     const struct item *last, const char *text)
{
	struct item mark = { .kind = ITEM_MARK,
			     .at = shape->arena.len,
			     .len = strlen(text),
			     .hash = shape_line_hash(text, strlen(text)),
			     .first = first->first,
			     .last = last->last,
			     .raw_start = first->raw_start,
			     .raw_end = last->raw_end };
	struct err ignored; /* cannot fail: the arena has space for a mark in place of each line */

	if (buf_add(&shape->arena, text, mark.len, &ignored) < 0)
		mark.len = 0;
	shape_add_item(items, &mark);
}

void shape_replace_items(struct shape *shape, struct items *items)
{
	free(shape->items.at);
	shape->items = *items;
}
