/*
 * inner.h - declarations shared by the parts of markdown.h.
 */
#pragma once

#include "cli/markdown/markdown.h"
#include "cli/term/text.h"

struct markdown_look {
	size_t width;
	markdown_image_fn *image;
	void *arg;
};

/* What was drawn of a paragraph that may continue. */
struct markdown_lines {
	size_t count;  /* lines in `ret` */
	size_t stable; /* of these, lines that later text cannot change */
};

/* Draws one block or a few. ERR_LIMIT, with nothing appended: it is too large to draw. */
int markdown_draw(const struct markdown_look *look, const char *text, size_t len,
		  struct markdown_lines *ret_lines, struct buf *ret, struct err *err);
/* Appends the source text, wrapped. */
int markdown_draw_plain(const struct markdown_look *look, const char *text, size_t len,
			struct buf *ret, struct err *err);
/* Appends a line of code. */
int markdown_draw_code(const char *text, size_t len, struct buf *ret, struct err *err);

/* ---- table.c ---- */

struct markdown_cell {
	size_t from, end; /* position in the text of all cells */
};

struct markdown_table {
	struct term_text text;
	struct markdown_cell *cells;
	size_t columns, rows; /* the first row is the header */
	size_t count;	      /* number of cells that were begun */
	bool is_right[MARKDOWN_COLUMNS_MAX];
};

/* Appends lines of at most `width` columns, each after `prefix`. */
int markdown_table_draw(const struct markdown_table *table, const char *prefix, size_t width,
			struct buf *ret, struct err *err);
