/*
 * picture.h - draws a PNG of a box on stdout's terminal.
 */
#pragma once

#include "cli/term/image.h"

/* Appends the bytes that draw the image; the sandboxed decoder decodes it. */
int term_picture_draw(const struct buf *png, enum term_image_mode mode, bool coloured,
		      struct buf *ret, struct err *err);
