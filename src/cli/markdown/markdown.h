/*
 * markdown.h - an answer in Markdown, drawn at a terminal while it is written.
 *
 *   markdown.c        the stream: what of it is complete, and can be drawn
 *   draw.c   blocks, as md4c finds them
 *   span.c   what stands in them
 *   table.c  tables that fit
 *
 * Blocks are drawn when they are complete: paragraphs line by line while they come, as far as what
 * follows cannot change them, lists item by item, code line by line. What is drawn does not depend
 * on the pieces in which the text came. All of it is hostile: it is escaped, nesting and size are
 * bounded, and what is too much is shown as it is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define MARKDOWN_BLOCK_MAX ((size_t)32 * 1024) /* more is drawn in parts */
#define MARKDOWN_DEPTH_MAX 8u		       /* of lists and quotes that are indented */
#define MARKDOWN_IMAGES_MAX 8u		       /* of one block */
#define MARKDOWN_COLUMNS_MAX 64u
#define MARKDOWN_CELLS_MAX 4096u

struct markdown;

/* Appends a picture of what `path` names, in whole lines; nothing when it cannot be had. */
typedef void markdown_image_fn(const char *path, size_t len, struct buf *ret, void *arg);

/* `image` may be NULL. Never NULL. */
struct markdown *markdown_new(markdown_image_fn *image, void *arg);
void markdown_free(struct markdown *markdown); /* NULL is fine */

/* For what is drawn from here on; at least 20 are taken for granted. */
void markdown_set_width(struct markdown *markdown, size_t columns);

/* Appends whole lines, what can be drawn of it by now. */
int markdown_add(struct markdown *markdown, const char *text, size_t len, struct buf *ret,
		 struct err *err);
/*
 * Appends what the block that comes would look like if it ended here, without what was drawn of it
 * and without the end of its last line: to be shown, and wiped before anything else is. Nothing
 * when that is more than `lines_max` lines.
 */
int markdown_preview(const struct markdown *markdown, size_t lines_max, struct buf *ret,
		     struct err *err);
/* The text is over: appends the rest; then another one may begin. */
int markdown_end(struct markdown *markdown, struct buf *ret, struct err *err);
