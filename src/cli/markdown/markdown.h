/*
 * markdown.h - draws streamed Markdown on a terminal.
 *
 *   markdown.c  the stream: finds blocks that can be drawn
 *   draw.c      draws blocks, as md4c parses them
 *   span.c      text, emphasis, links and images in them
 *   table.c     tables that fit the terminal
 *
 * Blocks are drawn when they are complete. Paragraphs are drawn line by line, as soon as later text
 * cannot change a line; lists item by item; code line by line. The result does not depend on how
 * the text was split into pieces. The text is hostile: it is escaped, nesting and size are limited,
 * and text beyond the limits is printed as its source.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define MARKDOWN_BLOCK_MAX ((size_t)32 * 1024) /* larger blocks are drawn in parts */
#define MARKDOWN_DEPTH_MAX 8u		       /* lists and quotes that are indented */
#define MARKDOWN_IMAGES_MAX 8u		       /* in one block */
#define MARKDOWN_COLUMNS_MAX 64u
#define MARKDOWN_CELLS_MAX 4096u

struct markdown;

/* Appends a drawing of the image `path`, in whole lines; nothing if it is not available. */
typedef void markdown_image_fn(const char *path, size_t len, struct buf *ret, void *arg);

/* `image` may be NULL. Never returns NULL. */
struct markdown *markdown_new(markdown_image_fn *image, void *arg);
void markdown_free(struct markdown *markdown); /* NULL is fine */

/* Sets the width for what is drawn from now on; at least 20. */
void markdown_set_width(struct markdown *markdown, size_t columns);

/* Adds text; appends the whole lines that can be drawn now. */
int markdown_add(struct markdown *markdown, const char *text, size_t len, struct buf *ret,
		 struct err *err);
/*
 * Appends the incomplete block as if it ended here, without the lines already drawn and without a
 * final newline. The caller has to clear it before it prints anything else. Appends nothing if it
 * has more than `lines_max` lines.
 */
int markdown_preview(const struct markdown *markdown, size_t lines_max, struct buf *ret,
		     struct err *err);
/* Ends the text: appends the rest. A new text may follow. */
int markdown_end(struct markdown *markdown, struct buf *ret, struct err *err);
