/*
 * fold.c - folds repeated lines and blocks of lines, so that they are written once.
 *
 * Runs in:  libreckon.
 * Reads:    lines of a hostile program, as items.
 * Never:    compares a line more than a few times for each period, so that hostile input is not
 *           slow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/shape/line.h"
#include "lib/shape/state.h"
#include "lib/record/text.h"

#define EXACT_MIN 4u	 /* repetitions of a block before it is folded */
#define ALIKE_MIN 13u	 /* the same for blocks that differ in numbers */
#define ALIKE_SHOWN 3u /* blocks that are still written at each end */

/* State of one pass over the items. */
struct folding {
	struct shape *shape;
	const struct item *items;
	size_t count;
	/* hashes that ignore numbers, by item; NULL: the text has to be the same */
	const uint64_t *likeness;
	/*
	 * For each period, up to which item the repetition was checked, so that each is compared
	 * once.
	 */
	size_t end[SHAPE_PERIOD_MAX + 1];
};

static bool is_same(struct folding *folding, size_t a, size_t b)
{
	const struct item *one = &folding->items[a], *other = &folding->items[b];

	folding->shape->work++;
	if (one->kind == ITEM_GAP || other->kind == ITEM_GAP)
		return false;
	if (folding->likeness != NULL)
		return folding->likeness[a] == folding->likeness[b];
	if (one->hash != other->hash || one->len != other->len)
		return false;
	folding->shape->work += one->len;
	return memcmp(shape_item_text(folding->shape, one), shape_item_text(folding->shape, other),
		      one->len) == 0;
}

/* How often the block of `period` items at `at` occurs in a row. */
static size_t count_blocks(struct folding *folding, size_t at, size_t period)
{
	size_t *end = &folding->end[period];

	if (*end < at)
		*end = at;
	/*
	 * Items before `end` are known to repeat one period later; continue the comparison from
	 * there.
	 */
	while (*end + period < folding->count && is_same(folding, *end, *end + period))
		(*end)++;
	return 1 + (*end - at) / period;
}

/* The shortest period that repeats at `at`; 0: none. */
static size_t find_period(struct folding *folding, size_t at, size_t blocks_min, size_t *ret_blocks)
{
	for (size_t period = 1; period <= SHAPE_PERIOD_MAX && at + period < folding->count;
	     period++) {
		*ret_blocks = count_blocks(folding, at, period);
		if (*ret_blocks >= blocks_min)
			return period;
	}
	return 0;
}

static void exact_mark(const struct item *first, size_t period, size_t more,
		       char ret[SHAPE_MARK_MAX])
{
	char number[TEXT_COUNT_SIZE];

	text_count(more, number);
	if (period > 1)
		(void)snprintf(ret, SHAPE_MARK_MAX,
			       "\xe2\x80\xa6 the %zu lines above %s more times", period, number);
	else
		(void)snprintf(ret, SHAPE_MARK_MAX, "\xe2\x80\xa6 the %sline above %s more times",
			       first->len == 0 ? "empty " : "", number);
}

void shape_fold_exact(struct shape *shape)
{
	struct folding folding = { .shape = shape,
				   .items = shape->items.at,
				   .count = shape->items.count };
	struct items ret = { 0 };
	char mark[SHAPE_MARK_MAX];

	for (size_t i = 0; i < folding.count;) {
		size_t blocks, period = find_period(&folding, i, EXACT_MIN, &blocks);
		const struct item *first = &folding.items[i];

		for (size_t k = 0; k < period || k == 0; k++)
			shape_add_item(&ret, first + k);
		if (period == 0) {
			i++;
			continue;
		}
		exact_mark(first, period, blocks - 1, mark);
		shape_add_mark(shape, &ret, first + period, first + period * blocks - 1, mark);
		i += period * blocks;
	}
	shape_replace_items(shape, &ret);
}

static void add_alike(struct shape *shape, const struct item *first, size_t period, size_t blocks,
		      struct items *ret)
{
	const size_t shown = ALIKE_SHOWN * period, left = (blocks - 2 * ALIKE_SHOWN) * period;
	char mark[SHAPE_MARK_MAX], from[TEXT_COUNT_SIZE], to[TEXT_COUNT_SIZE];

	text_count(first[shown].first, from);
	text_count(first[shown + left - 1].last, to);
	(void)snprintf(mark, sizeof(mark), "\xe2\x80\xa6 lines %s to %s are like these, with other "
		       "numbers \xe2\x80\xa6", from, to);
	for (size_t k = 0; k < shown; k++)
		shape_add_item(ret, first + k);
	shape_add_mark(shape, ret, first + shown, first + shown + left - 1, mark);
	for (size_t k = 0; k < shown; k++)
		shape_add_item(ret, first + shown + left + k);
}

struct items shape_fold_alike(struct shape *shape)
{
	const size_t count = shape->items.count;
	cleanup_free uint64_t *likeness = mem_new0(count + 1, sizeof(*likeness));
	struct folding folding = { .shape = shape, .items = shape->items.at, .count = count,
				   .likeness = likeness };
	struct items ret = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct item *item = &shape->items.at[i];

		shape->work += item->len;
		likeness[i] = shape_line_skeleton(shape_item_text(shape, item), item->len);
	}
	for (size_t i = 0; i < count;) {
		size_t blocks, period = find_period(&folding, i, ALIKE_MIN, &blocks);

		if (period == 0) {
			shape_add_item(&ret, &shape->items.at[i++]);
			continue;
		}
		add_alike(shape, &shape->items.at[i], period, blocks, &ret);
		i += period * blocks;
	}
	return ret;
}
