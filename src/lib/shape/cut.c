/*
 * cut.c - writes a shape into limited space: its beginning, a mark with counts, its end.
 *
 * Runs in:  libreckon.
 * Reads:    lines of a hostile program, as items.
 * Never:    appends more than the limit, or omits anything without a mark.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/shape/state.h"
#include "lib/record/text.h"

#define HANDLE_WORTH 160u /* with less space than this besides the mark, use a short mark */

/* What is written: items before `head` and from `tail` on, and parts of the items at the cut. */
struct cut {
	const struct items *items;
	size_t gap;		     /* index of the gap, or the number of items */
	size_t head, tail;
	size_t head_part, tail_part; /* bytes of the partial items, 0: none */
	size_t head_used, tail_used;
};

static void add(struct buf *ret, const char *bytes, size_t len)
{
	struct err ignored; /* cannot fail: shape_write() keeps within the limit */

	(void)buf_add(ret, bytes, len, &ignored);
}

static void add_line(struct buf *ret, const char *bytes, size_t len)
{
	add(ret, bytes, len);
	add(ret, "\n", 1);
}

static size_t items_size(const struct items *items)
{
	size_t size = 0;

	for (size_t i = 0; i < items->count; i++)
		size += items->at[i].kind == ITEM_GAP ? SHAPE_MARK_MAX : items->at[i].len + 1;
	return size;
}

size_t shape_size(const struct shape *shape)
{
	return items_size(&shape->items) +
	       (shape->is_lossy && !shape->has_gap ? SHAPE_MARK_MAX : 0);
}

bool shape_is_lossy(const struct shape *shape, size_t max)
{
	return shape->is_lossy || shape->has_gap || items_size(&shape->items) > max;
}

/* ---- marks ------------------------------------------------------------------------------ */

static size_t cut_mark(uint64_t first, uint64_t last, uint64_t bytes, const char *handle,
		       char ret[SHAPE_MARK_MAX])
{
	char lines_text[TEXT_COUNT_SIZE], bytes_text[TEXT_COUNT_SIZE];
	size_t len;

	text_count(last - first + 1, lines_text);
	text_count(bytes, bytes_text);
	if (last > first)
		(void)snprintf(ret, SHAPE_MARK_MAX, "\xe2\x80\xa6 %s lines (%s bytes) left out",
			       lines_text, bytes_text);
	else
		(void)snprintf(ret, SHAPE_MARK_MAX, "\xe2\x80\xa6 %s bytes left out", bytes_text);
	len = strlen(ret);
	if (handle != NULL)
		(void)snprintf(ret + len, SHAPE_MARK_MAX - len,
			       "; reckon output %s --lines %" PRIu64 ":%" PRIu64, handle, first,
			       last);
	else
		(void)snprintf(ret + len, SHAPE_MARK_MAX - len, " \xe2\x80\xa6");
	return strlen(ret);
}

/*
 * Added at the end if there is no cut: bars, blobs and folded lines stand for more than they show.
 */
static size_t end_mark(const struct shape *shape, const char *handle, char ret[SHAPE_MARK_MAX])
{
	char bytes[TEXT_COUNT_SIZE];

	ret[0] = '\0';
	if (handle == NULL)
		return 0;
	text_count(shape->whole_bytes > 0 ? shape->whole_bytes : shape->bytes_total, bytes);
	(void)snprintf(ret, SHAPE_MARK_MAX, "[all %s bytes: reckon output %s]", bytes, handle);
	return strlen(ret);
}

/* ---- choosing the items ----------------------------------------------------------------- */

static const struct item *item_at(const struct cut *cut, size_t index)
{
	return &cut->items->at[index];
}

static void take_head(const struct shape *shape, struct cut *cut, size_t room)
{
	const struct item *item;

	while (cut->head < cut->gap && cut->head_used + item_at(cut, cut->head)->len + 1 <= room)
		cut->head_used += item_at(cut, cut->head++)->len + 1;
	if (cut->head == cut->gap || cut->head_used >= room / 2)
		return;
	/* A single line takes most of the space: write a part of it. */
	item = item_at(cut, cut->head);
	cut->head_part = text_boundary_down(shape_item_text(shape, item), item->len,
					    room - cut->head_used - 1);
	cut->head_used += cut->head_part > 0 ? cut->head_part + 1 : 0;
}

static void take_tail(const struct shape *shape, struct cut *cut, size_t room)
{
	const bool has_gap = cut->gap < cut->items->count;
	const size_t lowest = has_gap ? cut->gap + 1 : cut->head + (cut->head_part > 0 ? 1 : 0);
	const struct item *item;
	size_t start, taken;

	while (cut->tail > lowest && cut->tail_used + item_at(cut, cut->tail - 1)->len + 1 <= room)
		cut->tail_used += item_at(cut, --cut->tail)->len + 1;
	if (cut->tail_used >= room / 2 || cut->tail == 0 || (has_gap && cut->tail == lowest))
		return;
	item = item_at(cut, cut->tail - 1);
	taken = cut->tail - 1 == cut->head ? cut->head_part : 0;
	start = room - cut->tail_used - 1 < item->len ? item->len - (room - cut->tail_used - 1) : 0;
	start = text_boundary_up(shape_item_text(shape, item), item->len, start);
	if (start <= taken || start == item->len)
		return;
	cut->tail_part = item->len - start;
	cut->tail_used += cut->tail_part + 1;
}

/* Gives space that the tail did not need to the head. */
static void extend_head(struct cut *cut, size_t room)
{
	const size_t end = cut->gap < cut->tail ? cut->gap : cut->tail;

	while (cut->head_part == 0 && cut->head < end &&
	       cut->head_used + item_at(cut, cut->head)->len + 1 <= room)
		cut->head_used += item_at(cut, cut->head++)->len + 1;
}

static uint64_t bytes_left_out(const struct cut *cut)
{
	uint64_t bytes = item_at(cut, cut->tail - 1)->raw_end - item_at(cut, cut->head)->raw_start;
	uint64_t parts = cut->head_part + cut->tail_part;

	return bytes > parts ? bytes - parts : 0;
}

/* ---- writing ---------------------------------------------------------------------------- */

static void write_items(const struct shape *shape, const struct items *items, size_t from,
			size_t to, struct buf *ret)
{
	for (size_t i = from; i < to; i++)
		add_line(ret, shape_item_text(shape, &items->at[i]), items->at[i].len);
}

/* For space that is too small for a mark: writes only the beginning. */
static void write_start(const struct shape *shape, const struct items *items, size_t max,
			struct buf *ret)
{
	const struct item *item = items->at;

	if (items->count > 0 && item->kind != ITEM_GAP)
		add(ret, shape_item_text(shape, item),
		    text_boundary_down(shape_item_text(shape, item), item->len, max));
}

static void write_cut(const struct shape *shape, const struct items *items, size_t max,
		      const char *handle, struct buf *ret)
{
	struct cut cut = { .items = items, .gap = items->count, .tail = items->count };
	char mark[SHAPE_MARK_MAX];
	size_t mark_len, room;

	for (size_t i = 0; i < items->count; i++)
		if (items->at[i].kind == ITEM_GAP)
			cut.gap = i;
	if (max <
	    cut_mark(1, shape->last_line + 1, shape->bytes_total, handle, mark) + HANDLE_WORTH)
		handle = NULL;
	/* Both line numbers of the mark may be as long as the last line's. */
	mark_len = cut_mark(1, shape->last_line + 1, shape->bytes_total, handle, mark) + 21;
	if (max < mark_len + 8) {
		write_start(shape, items, max, ret);
		return;
	}
	room = max - mark_len;
	take_head(shape, &cut, room / 2);
	take_tail(shape, &cut, room - cut.head_used);
	extend_head(&cut, room - cut.tail_used);
	write_items(shape, items, 0, cut.head, ret);
	if (cut.head_part > 0)
		add_line(ret, shape_item_text(shape, item_at(&cut, cut.head)), cut.head_part);
	mark_len = cut_mark(item_at(&cut, cut.head)->first, item_at(&cut, cut.tail - 1)->last,
			    bytes_left_out(&cut), handle, mark);
	add_line(ret, mark, mark_len);
	if (cut.tail_part > 0) {
		const struct item *item = item_at(&cut, cut.tail - 1);

		add_line(ret, shape_item_text(shape, item) + item->len - cut.tail_part,
			 cut.tail_part);
	}
	write_items(shape, items, cut.tail, items->count, ret);
}

void shape_write(struct shape *shape, size_t max, const char *handle, struct buf *ret)
{
	const bool is_short = items_size(&shape->items) > max;
	struct items alike = is_short ? shape_fold_alike(shape) : (struct items){ 0 };
	const struct items *items = is_short ? &alike : &shape->items;
	const bool is_lossy = shape->is_lossy || is_short;
	char mark[SHAPE_MARK_MAX];
	size_t mark_len = is_lossy ? end_mark(shape, handle, mark) : 0;
	size_t size = items_size(items);

	/* If it does not fit, only the record names the handle. */
	if (mark_len > 0 && size + mark_len + 1 > max && size <= max)
		mark_len = 0;
	if (shape->has_gap || size > max) {
		write_cut(shape, items, max, handle, ret);
	} else {
		write_items(shape, items, 0, items->count, ret);
		if (mark_len > 0)
			add_line(ret, mark, mark_len);
	}
	free(alike.at);
}
