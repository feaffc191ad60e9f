/*
 * shape.h - a stream or a result as a model should see it: settled, folded, cut, counted. Pure.
 *
 * Three steps. Cleaning: escapes gone, lines as they were left by \r and \b, blobs and over-long
 * lines replaced by their size, bars reduced to their last state. Folding: a line or a block of
 * lines that repeats is shown once, with a count. Cutting, only where the room asks for it: lines
 * that differ in numbers alone are folded, then head and tail are kept. Every line knows the lines
 * of the source that it stands for, so that what is left out can be named and fetched.
 *
 * Time and memory grow with the length of the source and nothing else (shape_work() counts).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SHAPE_LINE_MAX 2000u		 /* characters of one line */
#define SHAPE_BLOB_MIN 512u		 /* characters of base64 or hex that are not shown */
#define SHAPE_PIECE_MAX (1024u * 1024u) /* looked at from each end */
#define SHAPE_PIECE_LINES 100000u	 /* likewise */
#define SHAPE_PERIOD_MAX 8u		 /* lines of a block that repeats */

/*
 * What is to be shown. When its middle was dropped before (`gap_bytes` > 0), `text` holds
 * `gap_size` bytes at `gap_at` that stand for it, and `lines_total` counts the whole.
 */
struct shape_source {
	const char *text; /* any bytes; lent until shape_free() */
	size_t len;
	size_t gap_at, gap_size;
	uint64_t gap_bytes;
	uint64_t lines_total;
	/* Of a part of a stream; 0 when it is the whole of it. */
	uint64_t lines_before;
	uint64_t whole_bytes; /* of the stream, to which a handle leads */
};

struct shape;

struct shape *shape_new(const struct shape_source *source); /* never NULL */
void shape_free(struct shape *shape);			      /* NULL is fine */

/* Bytes that shape_write() appends when there is room for all. */
size_t shape_size(const struct shape *shape);

/* Of the source, what was dropped from it before included. */
uint64_t shape_bytes_total(const struct shape *shape);
uint64_t shape_lines_total(const struct shape *shape);

/*
 * Whether something of the source could not be told from what shape_write() gives for `max`. A
 * folded repeat can: it is there once, with its count.
 */
bool shape_is_lossy(const struct shape *shape, size_t max);

/*
 * Appends at most `max` bytes, valid UTF-8 without control characters but newline and tab; each
 * line ends with a newline unless the room is too small even for that. `handle` (or NULL) is what
 * a mark tells as the way to the lines left out.
 */
void shape_write(struct shape *shape, size_t max, const char *handle, struct buf *ret);

/* Steps taken so far: bytes looked at and lines compared. For tests of its growth. */
uint64_t shape_work(const struct shape *shape);
