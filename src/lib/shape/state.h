/*
 * state.h - the private state of a shape; only for this folder.
 */
#pragma once

#include "lib/shape/shape.h"

#define SHAPE_MARK_MAX 256u

enum item_kind { ITEM_LINE, ITEM_MARK, ITEM_GAP };

struct item {
	enum item_kind kind;
	size_t at, len;		     /* in the arena, without newline */
	uint64_t hash;		     /* of the text, to find repetition */
	uint64_t first, last;	     /* lines of the source, from 1 */
	uint64_t raw_start, raw_end; /* bytes of the source */
};

struct items {
	struct item *at;
	size_t count, cap;
};

struct shape {
	struct buf arena;
	struct items items;
	uint64_t bytes_total, lines_total;
	uint64_t last_line;   /* counted in the whole stream */
	uint64_t whole_bytes; /* size of the stream; 0: bytes_total */
	bool is_lossy; /* cleaning omitted something */
	bool has_gap;
	uint64_t work;
};

void shape_add_item(struct items *items, const struct item *item);
/* Adds a mark in place of the items from `first` to `last`. */
void shape_add_mark(struct shape *shape, struct items *items, const struct item *first,
		    const struct item *last, const char *text);
/* Takes ownership of `items`. */
void shape_replace_items(struct shape *shape, struct items *items);
const char *shape_item_text(const struct shape *shape, const struct item *item);

/*
 * fold.c: exact repetition, always; similar lines, only when space is short (the caller frees the
 * array).
 */
void shape_fold_exact(struct shape *shape);
struct items shape_fold_alike(struct shape *shape);
