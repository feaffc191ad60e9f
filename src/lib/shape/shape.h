/*
 * shape.h - shortens a stream or a result for a model: settles, folds, cuts, counts. Pure.
 *
 * There are three steps. Cleaning: escape sequences are removed, \r and \b are applied, blobs and
 * the middle of long lines are replaced by their size, and progress bars are reduced to their last
 * state. Folding: repeated lines or blocks of lines are written once, with a count. Cutting, only
 * if space is short: lines that differ only in numbers are folded, then only the beginning and end
 * are kept. Every item records which lines of the source it stands for, so that a mark can name the
 * omitted lines, and they can be fetched.
 *
 * Time and memory only depend on the length of the source (shape_work() counts).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SHAPE_LINE_MAX 2000u		 /* characters in one line */
#define SHAPE_BLOB_MIN 512u /* characters of base64 or hex from which a blob is replaced */
#define SHAPE_PIECE_MAX (1024u * 1024u) /* bytes read from each end */
#define SHAPE_PIECE_LINES 100000u	 /* likewise */
#define SHAPE_PERIOD_MAX 8u		 /* lines in a repeated block */

/*
 * The text to shorten. If its middle was dropped earlier (`gap_bytes` > 0), `gap_size` bytes at
 * `gap_at` of `text` stand for it, and `lines_total` counts the whole.
 */
struct shape_source {
	const char *text; /* any bytes; must remain valid until shape_free() */
	size_t len;
	size_t gap_at, gap_size;
	uint64_t gap_bytes;
	uint64_t lines_total;
	/* For a part of a stream; 0 for the whole stream. */
	uint64_t lines_before;
	uint64_t whole_bytes; /* size of the stream to which a handle leads */
};

struct shape;

struct shape *shape_new(const struct shape_source *source); /* never NULL */
void shape_free(struct shape *shape);			      /* NULL is fine */

/* The number of bytes that shape_write() appends if the space is unlimited. */
size_t shape_size(const struct shape *shape);

/* Of the source, including what was dropped earlier. */
uint64_t shape_bytes_total(const struct shape *shape);
uint64_t shape_lines_total(const struct shape *shape);

/*
 * Whether the output of shape_write() for `max` omits something. A folded repetition is not an
 * omission: it is written once, with its count.
 */
bool shape_is_lossy(const struct shape *shape, size_t max);

/*
 * Appends at most `max` bytes of valid UTF-8, without control characters except newline and tab.
 * Each line ends with a newline unless there is no space for it. `handle` (or NULL) is what a mark
 * names for reading the omitted lines.
 */
void shape_write(struct shape *shape, size_t max, const char *handle, struct buf *ret);

/* The steps taken so far: bytes read and lines compared. For tests of its complexity. */
uint64_t shape_work(const struct shape *shape);
