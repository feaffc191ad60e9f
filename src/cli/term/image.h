/*
 * image.h - draws pixels on a terminal: as kitty, sixel or iTerm2 graphics, or as symbols.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/image/fence.h"

enum term_image_mode {
	TERM_IMAGE_NONE,
	TERM_IMAGE_AUTO, /* only as an option; term_image_detect() returns another mode */
	TERM_IMAGE_KITTY,
	TERM_IMAGE_SIXEL,
	TERM_IMAGE_ITERM2,
	TERM_IMAGE_BLOCKS,
};

/* "auto", "kitty", …; ERR_INVALID for another word. */
int term_image_parse(const char *word, enum term_image_mode *ret, struct err *err);

/* Chooses by environment variables; sends no query to the terminal. */
enum term_image_mode term_image_detect(void);

struct term_image_place {
	enum term_image_mode mode;
	size_t columns, lines; /* of the terminal */
	size_t cell_width, cell_height; /* in pixels; 0: unknown */
	bool coloured;
};

/* Appends the bytes that draw the image, with a final newline. */
int term_image_draw(const struct image *image, const struct term_image_place *place,
		    struct buf *ret, struct err *err);
