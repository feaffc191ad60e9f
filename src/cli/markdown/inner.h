/* inner.h - what the parts of markdown.h share. */
#pragma once

#include "cli/markdown/markdown.h"
#include "cli/term/text.h"

struct markdown_look {
	size_t width;
	markdown_image_fn *image;
	void *arg;
};

/* What was drawn of a paragraph that may go on. */
struct markdown_lines {
	size_t count;  /* lines in `ret` */
	size_t stable; /* of them that no text behind it can change */
};

/* A whole block, or a few. ERR_LIMIT, and nothing appended, for more than is drawn. */
int markdown_draw(const struct markdown_look *look, const char *text, size_t len,
		  struct markdown_lines *ret_lines, struct buf *ret, struct err *err);
/* As it is written, wrapped. */
int markdown_draw_plain(const struct markdown_look *look, const char *text, size_t len,
			struct buf *ret, struct err *err);
/* A line of code. */
int markdown_draw_code(const char *text, size_t len, struct buf *ret, struct err *err);

/* ---- table.c ---- */

struct markdown_cell {
	size_t from, end; /* in the text of all cells */
};

struct markdown_table {
	struct term_text text;
	struct markdown_cell *cells;
	size_t columns, rows; /* the first row is the head */
	size_t count;	      /* of cells that were begun */
	bool is_right[MARKDOWN_COLUMNS_MAX];
};

/* Lines of at most `width` columns, each behind `prefix`. */
int markdown_table_draw(const struct markdown_table *table, const char *prefix, size_t width,
			struct buf *ret, struct err *err);
