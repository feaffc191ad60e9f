/*
 * line.h - cleans one line of output: blobs, excessive length, progress bars. Pure; for shape.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends the line (valid UTF-8, no control characters) to `ret`: base64 and hex of at least
 * SHAPE_BLOB_MIN characters, and data URIs, become "[base64, 1,234 bytes]"; the middle of a line
 * longer than SHAPE_LINE_MAX characters is replaced by its length. Returns true if anything was
 * replaced.
 */
bool shape_line_add(const char *line, size_t len, struct buf *ret);

/* Whether the line is only base64, as in a block of lines of one width; the last line may be short,
 * and is only checked for its letters. */
bool shape_line_is_base64(const char *line, size_t len, bool is_last);

/* Whether the line is a progress bar; *ret_label: hash of the bar's name. */
bool shape_line_is_bar(const char *line, size_t len, uint64_t *ret_label);

uint64_t shape_line_hash(const char *line, size_t len);
/* The same hash for lines that differ only in numbers and white space. */
uint64_t shape_line_skeleton(const char *line, size_t len);
