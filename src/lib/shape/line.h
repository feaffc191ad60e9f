/* line.h - one line of output: blobs, excess, the state of a bar. Pure; for shape.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends the line (valid UTF-8, no control characters) to `ret`: base64 and hex of
 * SHAPE_BLOB_MIN characters and more, and data URIs, become "[base64, 1,234 bytes]"; of what is
 * longer than SHAPE_LINE_MAX characters the middle is counted. True when it was changed.
 */
bool shape_line_add(const char *line, size_t len, struct buf *ret);

/* Whether the line is nothing but base64, as in a block of lines of one width; the last one may be
 * short, and is only looked at for its letters. */
bool shape_line_is_base64(const char *line, size_t len, bool is_last);

/* Whether it shows the state of a progress bar; *ret_label: hash of what names the bar. */
bool shape_line_is_bar(const char *line, size_t len, uint64_t *ret_label);

uint64_t shape_line_hash(const char *line, size_t len);
/* The same for lines that differ in nothing but numbers and white space. */
uint64_t shape_line_skeleton(const char *line, size_t len);
