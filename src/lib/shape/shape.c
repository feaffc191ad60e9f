/*
 * shape.c - shortens a stream or a result for a model: folds repetition, cuts, counts.
 *
 * Runs in:  libreckon.
 * Reads:    output of a hostile program.
 * Never:    takes more than a fixed number of steps for each byte, or appends more than the limit.
 *
 * A source is at most two pieces with a gap between them, because its middle was dropped earlier or
 * it is too long. The pieces become items in one array, and the gap is one item. An item is a line,
 * or a mark in place of lines; each pass replaces runs of items by fewer items.
 */
#include "lib/shape/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/shape/line.h"
#include "lib/shape/state.h"
#include "lib/record/text.h"

#define ARENA_MAX ((size_t)64 * 1024 * 1024)
#define BASE64_LINES_MIN 8u
#define BAR_RUN_MIN 3u
#define BAR_LABELS 8u

/* ---- pieces ----------------------------------------------------------------------------- */

/* The part of a source before or after the gap. */
struct piece {
	const char *text;
	size_t len;
	uint64_t line;	/* number of its first line */
	uint64_t start; /* position of its first byte */
};

static size_t count_newlines(const char *text, size_t len)
{
	size_t count = 0;

	for (const char *at = text; (at = memchr(at, '\n', len - (size_t)(at - text))) != NULL;
	     at++)
		count++;
	return count;
}

/* The number of lines, including a last one without a newline. */
static size_t count_lines(const char *text, size_t len)
{
	return count_newlines(text, len) + (len > 0 && text[len - 1] != '\n' ? 1 : 0);
}

/* The length of the beginning that fits into one piece. */
static size_t head_length(const char *text, size_t len)
{
	size_t max = len < SHAPE_PIECE_MAX ? len : SHAPE_PIECE_MAX, lines = 0;

	for (size_t i = 0; i < max; i++)
		if (text[i] == '\n' && ++lines == SHAPE_PIECE_LINES)
			return i + 1;
	return text_boundary_down(text, len, max);
}

static size_t tail_length(const char *text, size_t len)
{
	size_t max = len < SHAPE_PIECE_MAX ? len : SHAPE_PIECE_MAX, lines = 0;

	for (size_t i = 1; i < max; i++)
		if (text[len - 1 - i] == '\n' && ++lines == SHAPE_PIECE_LINES)
			return i;
	return len - text_boundary_up(text, len, len - max);
}

/*
 * Adds the lines of a piece as items; settling keeps every newline, so both versions have the same
 * lines.
 */
static void add_piece(struct shape *shape, const struct piece *piece)
{
	cleanup_buf struct buf settled = BUF_INIT(piece->len * 3 + 1);
	const char *raw = piece->text, *raw_end = piece->text + piece->len;
	const char *line, *end;
	struct item item = { .kind = ITEM_LINE, .first = piece->line };

	text_settled(piece->text, piece->len, &settled);
	shape->work += piece->len;
	line = buf_text(&settled);
	end = line + settled.len;
	while (raw < raw_end) {
		const char *raw_next = memchr(raw, '\n', (size_t)(raw_end - raw));
		const char *next = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
		size_t len = (size_t)((next != NULL ? next : end) - line);

		raw_next = raw_next != NULL ? raw_next + 1 : raw_end;
		item.at = shape->arena.len;
		shape->is_lossy |= shape_line_add(line, len, &shape->arena);
		item.len = shape->arena.len - item.at;
		item.hash = shape_line_hash(buf_text(&shape->arena) + item.at, item.len);
		item.last = item.first;
		item.raw_start = piece->start + (uint64_t)(raw - piece->text);
		item.raw_end = piece->start + (uint64_t)(raw_next - piece->text);
		shape_add_item(&shape->items, &item);
		item.first++;
		raw = raw_next;
		line = next != NULL ? next + 1 : end;
	}
}

static void add_gap(struct shape *shape, const struct piece *before, const struct piece *after,
		    bool is_whole_line)
{
	/* If the tail seems to begin inside a line, that line counts as part of the gap. */
	const struct item gap = { .kind = ITEM_GAP,
				  .first = before->line + count_newlines(before->text, before->len),
				  .last = after->line - (is_whole_line ? 1 : 0),
				  .raw_start = before->start + before->len,
				  .raw_end = after->start };

	shape->has_gap = true;
	shape_add_item(&shape->items, &gap);
}

static void take_source(struct shape *shape, const struct shape_source *source)
{
	const char *text = source->text != NULL ? source->text : "";
	const bool had_gap = source->gap_bytes > 0;
	const size_t split = had_gap ? source->gap_at : source->len;
	const size_t rest = had_gap ? source->gap_at + source->gap_size : 0;
	struct piece before = { .text = text, .line = source->lines_before + 1 };
	struct piece after = { .text = text };

	shape->whole_bytes = source->whole_bytes;
	shape->bytes_total = source->len - (had_gap ? source->gap_size : 0) + source->gap_bytes;
	shape->lines_total = had_gap ? source->lines_total : count_lines(text, source->len);
	shape->last_line = source->lines_before + shape->lines_total;
	before.len = head_length(text, split);
	if (!had_gap && before.len == source->len) {
		add_piece(shape, &before);
		return;
	}
	after.len = tail_length(text + rest, source->len - rest);
	/* If the two pieces meet, there is no gap: do not read the middle twice. */
	if (!had_gap && before.len + after.len > source->len)
		after.len = source->len - before.len;
	after.text = text + source->len - after.len;
	after.start = shape->bytes_total - after.len;
	after.line = count_lines(after.text, after.len);
	after.line = shape->lines_total >= after.line ? shape->lines_total - after.line + 1 : 1;
	after.line += source->lines_before;
	add_piece(shape, &before);
	if (before.start + before.len < after.start)
		add_gap(shape, &before, &after, !had_gap && after.text[-1] == '\n');
	add_piece(shape, &after);
}

/* ---- blocks of base64, bars ------------------------------------------------------------- */

static bool is_base64_item(struct shape *shape, const struct item *item, bool is_last)
{
	shape->work += item->len;
	return item->kind == ITEM_LINE &&
	       shape_line_is_base64(shape_item_text(shape, item), item->len, is_last);
}

/* The end of a run of base64 lines of one width from `at` on, including a shorter last one. */
static size_t base64_run(struct shape *shape, size_t at)
{
	const struct items *items = &shape->items;
	size_t end = at, width = items->at[at].len;

	while (end < items->count && items->at[end].len == width &&
	       is_base64_item(shape, &items->at[end], false))
		end++;
	if (end - at < BASE64_LINES_MIN)
		return end - at;
	if (end < items->count && items->at[end].len < width &&
	    is_base64_item(shape, &items->at[end], true))
		end++;
	return end - at;
}

static void fold_base64(struct shape *shape)
{
	struct items ret = { 0 };
	char mark[SHAPE_MARK_MAX], bytes[TEXT_COUNT_SIZE], lines[TEXT_COUNT_SIZE];

	for (size_t i = 0; i < shape->items.count;) {
		size_t run = base64_run(shape, i);
		const struct item *first = &shape->items.at[i], *last;

		if (run < BASE64_LINES_MIN) {
			for (size_t end = i + (run > 0 ? run : 1); i < end; i++)
				shape_add_item(&ret, &shape->items.at[i]);
			continue;
		}
		last = first + run - 1;
		text_count(last->raw_end - first->raw_start, bytes);
		text_count(run, lines);
		(void)snprintf(mark, sizeof(mark), "[base64, %s bytes in %s lines]", bytes, lines);
		shape_add_mark(shape, &ret, first, last, mark);
		shape->is_lossy = true;
		i += run;
	}
	shape_replace_items(shape, &ret);
}

static bool is_bar(struct shape *shape, const struct item *item, uint64_t *ret_label)
{
	shape->work += item->len;
	return item->kind == ITEM_LINE &&
	       shape_line_is_bar(shape_item_text(shape, item), item->len, ret_label);
}

/* Adds the remains of a run of bars that were printed line by line: the last state of each bar. */
static void add_bars(struct shape *shape, const struct item *run, size_t count, struct items *ret)
{
	cleanup_free bool *is_shown = mem_new0(count, sizeof(*is_shown));
	uint64_t seen[BAR_LABELS], label = 0;
	size_t labels = 0, shown = 0;
	char mark[SHAPE_MARK_MAX], number[TEXT_COUNT_SIZE];

	for (size_t i = count; i-- > 0;) {
		bool is_old = false;

		(void)is_bar(shape, &run[i], &label);
		for (size_t k = 0; k < labels; k++)
			is_old |= seen[k] == label;
		if (!is_old && labels < BAR_LABELS)
			seen[labels++] = label;
		is_shown[i] = !is_old;
		shown += !is_old;
	}
	if (shown < count) {
		text_count(count - shown, number);
		(void)snprintf(mark, sizeof(mark), "\xe2\x80\xa6 %s earlier states of the %s below",
			       number, shown > 1 ? "bars" : "bar");
		shape_add_mark(shape, ret, &run[0], &run[count - 1], mark);
		shape->is_lossy = true;
	}
	for (size_t i = 0; i < count; i++)
		if (is_shown[i])
			shape_add_item(ret, &run[i]);
}

static void fold_bars(struct shape *shape)
{
	struct items ret = { 0 };

	for (size_t i = 0; i < shape->items.count;) {
		size_t run = 0;
		uint64_t label;

		while (i + run < shape->items.count &&
		       is_bar(shape, &shape->items.at[i + run], &label))
			run++;
		if (run >= BAR_RUN_MIN)
			add_bars(shape, &shape->items.at[i], run, &ret);
		else
			for (size_t k = 0; k < run || k == 0; k++)
				shape_add_item(&ret, &shape->items.at[i + k]);
		i += run > 0 ? run : 1;
	}
	shape_replace_items(shape, &ret);
}

/* ---- the interface ---------------------------------------------------------------------- */

struct shape *shape_new(const struct shape_source *source)
{
	struct shape *shape = mem_new0(1, sizeof(*shape));

	shape->arena = BUF_INIT(ARENA_MAX);
	take_source(shape, source);
	fold_base64(shape);
	fold_bars(shape);
	shape_fold_exact(shape);
	return shape;
}

void shape_free(struct shape *shape)
{
	if (shape == NULL)
		return;
	buf_done(&shape->arena);
	free(shape->items.at);
	free(shape);
}

uint64_t shape_bytes_total(const struct shape *shape)
{
	return shape->bytes_total;
}

uint64_t shape_lines_total(const struct shape *shape)
{
	return shape->lines_total;
}

uint64_t shape_work(const struct shape *shape)
{
	return shape->work;
}
