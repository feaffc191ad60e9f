/*
 * picture.h - a PNG of a box on the terminal that is stdout.
 */
#pragma once

#include "cli/term/image.h"

/* Appends what draws it; decoded behind its fence. */
int term_picture_draw(const struct buf *png, enum term_image_mode mode, bool coloured,
		      struct buf *ret, struct err *err);
