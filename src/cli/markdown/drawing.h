/* drawing.h - a block that is being drawn: what its parts need of each other. */
#pragma once

#include <md4c.h>

#include "cli/markdown/inner.h"

/* A list, an item or a quote that is open. */
struct markdown_level {
	MD_BLOCKTYPE type;
	bool is_tight;	  /* of a list */
	unsigned number;  /* of an ordered list's next item; 0: it has bullets */
	bool has_content; /* something was drawn in it */
	bool is_marked;	  /* of an item: its bullet was drawn */
	char bullet[24];
	unsigned columns; /* that what is in it is indented */
};

struct markdown_link {
	size_t from, len; /* in `links` */
};

struct markdown_drawing {
	const struct markdown_look *look;
	struct buf *ret;
	struct err err;
	struct markdown_level levels[MARKDOWN_DEPTH_MAX + 1]; /* the first is the document */
	size_t depth;		       /* of levels that are open, also of those too deep */
	struct term_text text;	       /* of the block that is open */
	unsigned heading;	       /* its level, or 0 */
	unsigned bold, italic, strike, code, image; /* how many are open */
	struct buf links;	       /* addresses of links and images that are open, or to draw */
	size_t address[16];	       /* where those of links begin in `links` */
	size_t address_from[16];       /* where the link's text begins */
	unsigned address_count;
	struct markdown_link images[MARKDOWN_IMAGES_MAX];
	size_t image_count;
	struct markdown_table *table; /* NULL: none is open */
	bool in_code;
	struct markdown_lines lines;
};

/* ---- line.c ---- */

#define MARKDOWN_PREFIX_MAX 256u /* a bullet at each depth */

/* The innermost level that is open. */
struct markdown_level *markdown_top(struct markdown_drawing *drawing);
/* Columns for text. */
size_t markdown_room(const struct markdown_drawing *drawing);
/* What stands before a line; the first one of an item has its bullet. Its columns as the result. */
unsigned markdown_write_prefix(struct markdown_drawing *drawing,
			       char prefix[MARKDOWN_PREFIX_MAX]);
/* A part of the text as a line, behind what stands before it. */
int markdown_put_line(struct markdown_drawing *drawing, size_t from, size_t end, unsigned styles);

/* ---- span.c: callbacks of md4c ---- */

int markdown_enter_span(MD_SPANTYPE type, void *detail, void *arg);
int markdown_leave_span(MD_SPANTYPE type, void *detail, void *arg);
int markdown_take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *arg);
