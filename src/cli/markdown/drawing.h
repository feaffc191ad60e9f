/*
 * drawing.h - the state of a block that is being drawn.
 */
#pragma once

#include <md4c.h>

#include "cli/markdown/inner.h"

/* An open list, item or quote. */
struct markdown_level {
	MD_BLOCKTYPE type;
	bool is_tight;	  /* of a list */
	unsigned number;  /* number of an ordered list's next item; 0: bullets */
	bool has_content; /* something was drawn in it */
	bool is_marked;	  /* of an item: its bullet was drawn */
	char bullet[24];
	unsigned columns; /* indentation of its content */
};

struct markdown_link {
	size_t from, len; /* position in `links` */
};

struct markdown_drawing {
	const struct markdown_look *look;
	struct buf *ret;
	struct err err;
	struct markdown_level levels[MARKDOWN_DEPTH_MAX + 1]; /* levels[0] is the document */
	size_t depth; /* number of open levels, including those too deep for `levels` */
	struct term_text text;	       /* of the open block */
	unsigned heading;	       /* the heading's level, or 0 */
	unsigned bold, italic, strike, code, image; /* number of open spans */
	struct buf links;	       /* addresses of open links, and of images to draw */
	size_t address[16];	       /* where the addresses of open links begin in `links` */
	size_t address_from[16];       /* where the link's text begins */
	unsigned address_count;
	struct markdown_link images[MARKDOWN_IMAGES_MAX];
	size_t image_count;
	struct markdown_table *table; /* NULL: no table is open */
	bool in_code;
	struct markdown_lines lines;
};

/* ---- line.c ---- */

#define MARKDOWN_PREFIX_MAX 256u /* room for a bullet at each depth */

/* The innermost open level. */
struct markdown_level *markdown_top(struct markdown_drawing *drawing);
/* Columns available for text. */
size_t markdown_room(const struct markdown_drawing *drawing);
/*
 * Writes the indentation of a line, with an item's bullet on its first line; returns its columns.
 */
unsigned markdown_write_prefix(struct markdown_drawing *drawing,
			       char prefix[MARKDOWN_PREFIX_MAX]);
/* Writes a part of the text as a line, after its indentation. */
int markdown_put_line(struct markdown_drawing *drawing, size_t from, size_t end, unsigned styles);

/* ---- span.c: callbacks of md4c ---- */

int markdown_enter_span(MD_SPANTYPE type, void *detail, void *arg);
int markdown_leave_span(MD_SPANTYPE type, void *detail, void *arg);
int markdown_take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *arg);
