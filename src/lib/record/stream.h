/*
 * stream.h - one captured output stream: lossless up to a limit, head and tail beyond it.
 *
 * All bytes are counted. A stream that exceeds the limit goes to a spool in the store, from its
 * first byte, so that it can be read completely later. Text for users is decoded on the way: bytes
 * that are not UTF-8 become U+FFFD, also across the borders of reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "lib/store/store.h"

#define STREAM_SPOOL_MAX (256ull * 1024 * 1024)

struct stream {
	struct store *store;
	size_t limit;	/* bytes retained */
	uint64_t total; /* bytes written by the program */
	uint64_t newlines; /* among them */
	bool ends_line; /* the last one is a newline */
	struct buf retained; /* the first limit/2 bytes, then a ring of the last ones once full */
	size_t ring_at;	 /* oldest byte of the ring, from limit/2 */
	struct store_spool *spool;
	bool spool_failed;
	struct err spool_err;
	char part[4]; /* an incomplete character */
	size_t part_len;
	uint64_t shown; /* bytes returned as text by stream_decode() */
};

void stream_init(struct stream *stream, struct store *store, size_t limit);
void stream_done(struct stream *stream); /* drops a spool that was not finished */

/*
 * Takes the program's output. False once it exceeds STREAM_SPOOL_MAX, or memory is exhausted: then
 * the program must be stopped.
 */
bool stream_take(struct stream *stream, const char *bytes, size_t len);

/*
 * Appends the same bytes as valid UTF-8 to `ret` for an event; holds back an incomplete character
 * at the end, unless `is_last`. Appends nothing after `limit` bytes: the record has the end.
 */
int stream_decode(struct stream *stream, const char *bytes, size_t len, bool is_last,
		  struct buf *ret, struct err *err);

bool stream_is_cut(const struct stream *stream);

/* Appends head, a mark with the number of missing bytes, and tail; everything if it is not cut. */
int stream_text(const struct stream *stream, struct buf *ret, struct err *err);

/* For a cut stream: the position and size of the mark in the output of stream_text(). */
void stream_gap(const struct stream *stream, size_t *ret_at, size_t *ret_size);

uint64_t stream_lines(const struct stream *stream); /* that the program wrote */

/* Ends the spool of a cut stream; *ret_id is "" if there is none, then `err` may have the
 * reason. */
void stream_finish_spool(struct stream *stream, char ret_id[STORE_ID_SIZE], struct err *err);
