/*
 * stream.c - one captured output stream.
 *
 * Runs in:  libreckon.
 * Reads:    bytes of hostile programs.
 * Never:    holds more than its limit in memory.
 */
#include "lib/record/stream.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define MARK_SIZE 64

static const char replacement[] = "\xef\xbf\xbd";

void stream_init(struct stream *stream, struct store *store, size_t limit)
{
	memset(stream, 0, sizeof(*stream));
	stream->store = store;
	stream->limit = limit > 2 ? limit : 2;
	stream->retained = BUF_INIT(stream->limit);
}

void stream_done(struct stream *stream)
{
	store_spool_abandon(stream->spool);
	stream->spool = NULL;
	buf_done(&stream->retained);
}

bool stream_is_cut(const struct stream *stream)
{
	return stream->total > stream->limit;
}

static size_t head_size(const struct stream *stream)
{
	return stream->limit / 2;
}

static void spool_add(struct stream *stream, const char *bytes, size_t len)
{
	if (stream->spool_failed || len == 0)
		return;
	if (store_spool_append(stream->spool, bytes, len, &stream->spool_err) == 0)
		return;
	/* A full disk of the host must not end the program; the record says what is missing. */
	store_spool_abandon(stream->spool);
	stream->spool = NULL;
	stream->spool_failed = true;
}

/* The stream is about to exceed its limit. Nothing is lost so far, so the spool is complete. */
static void spool_begin(struct stream *stream)
{
	if (store_spool_open(stream->store, STREAM_SPOOL_MAX, &stream->spool,
			     &stream->spool_err) < 0)
		stream->spool_failed = true;
	spool_add(stream, stream->retained.data, stream->retained.len);
	stream->ring_at = head_size(stream);
}

static void ring_add(struct stream *stream, const char *bytes, size_t len)
{
	const size_t start = head_size(stream), size = stream->limit - start;

	if (len > size) {
		bytes += len - size;
		len = size;
	}
	while (len > 0) {
		size_t room = stream->limit - stream->ring_at;
		size_t n = len < room ? len : room;

		memcpy(stream->retained.data + stream->ring_at, bytes, n);
		stream->ring_at += n;
		if (stream->ring_at == stream->limit)
			stream->ring_at = start;
		bytes += n;
		len -= n;
	}
}

static void count_newlines(struct stream *stream, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		stream->newlines += bytes[i] == '\n';
	if (len > 0)
		stream->ends_line = bytes[len - 1] == '\n';
}

bool stream_take(struct stream *stream, const char *bytes, size_t len)
{
	size_t room = stream->limit - stream->retained.len;
	struct err err;

	count_newlines(stream, bytes, len);
	if (stream->total + len > stream->limit && !stream_is_cut(stream)) {
		const size_t first = len < room ? len : room;

		if (buf_add(&stream->retained, bytes, first, &err) < 0)
			return false;
		stream->total += first;
		bytes += first;
		len -= first;
		spool_begin(stream);
	}
	if (stream->total + len <= stream->limit) {
		if (buf_add(&stream->retained, bytes, len, &err) < 0)
			return false;
	} else {
		uint64_t spoolable = stream->total < STREAM_SPOOL_MAX
					     ? STREAM_SPOOL_MAX - stream->total
					     : 0;

		spool_add(stream, bytes, len < spoolable ? len : (size_t)spoolable);
		ring_add(stream, bytes, len);
	}
	stream->total += len;
	return stream->total <= STREAM_SPOOL_MAX;
}

/* Appends valid UTF-8 without an incomplete character at the end, whose size is *ret_left. */
static int decode(const char *bytes, size_t len, bool is_last, struct buf *ret, size_t *ret_left,
		  struct err *err)
{
	const size_t tail = is_last ? 0 : utf8_incomplete_tail(bytes, len);
	size_t good = 0, end = len - tail;

	*ret_left = tail;
	for (size_t at = 0; at < end;) {
		size_t n = utf8_sequence(bytes + at, end - at);

		if (n > 0) {
			at += n;
			continue;
		}
		if (buf_add(ret, bytes + good, at - good, err) < 0 ||
		    buf_adds(ret, replacement, err) < 0)
			return (int)err->code;
		good = ++at;
	}
	return buf_add(ret, bytes + good, end - good, err);
}

int stream_decode(struct stream *stream, const char *bytes, size_t len, bool is_last,
		  struct buf *ret, struct err *err)
{
	char joined[8];
	size_t left;

	if (stream->shown >= stream->limit)
		return 0;
	if (len > stream->limit - stream->shown)
		len = (size_t)(stream->limit - stream->shown);
	stream->shown += len;
	is_last = is_last || stream->shown == stream->limit;
	/* Complete the character that the last call left out, a byte at a time. */
	while (stream->part_len > 0 && len > 0) {
		memcpy(joined, stream->part, stream->part_len);
		joined[stream->part_len] = *bytes;
		if (decode(joined, stream->part_len + 1, false, ret, &left, err) < 0)
			return (int)err->code;
		memcpy(stream->part, joined + stream->part_len + 1 - left, left);
		stream->part_len = left;
		bytes++;
		len--;
	}
	if (len > 0) {
		if (decode(bytes, len, false, ret, &left, err) < 0)
			return (int)err->code;
		memcpy(stream->part, bytes + len - left, left);
		stream->part_len = left;
	}
	if (is_last && stream->part_len > 0) {
		len = stream->part_len;
		stream->part_len = 0;
		return decode(stream->part, len, true, ret, &left, err);
	}
	return 0;
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static int add_tail(const struct stream *stream, struct buf *ret, struct err *err)
{
	const size_t start = head_size(stream), at = stream->ring_at;
	size_t skip = 0;

	/* The ring may begin within a character. */
	while (skip < 3 && at + skip < stream->limit &&
	       is_continuation(stream->retained.data[at + skip]))
		skip++;
	if (buf_add(ret, stream->retained.data + at + skip, stream->limit - at - skip, err) < 0)
		return (int)err->code;
	return buf_add(ret, stream->retained.data + start, at - start, err);
}

static size_t mark_text(const struct stream *stream, char ret[MARK_SIZE])
{
	return (size_t)snprintf(ret, MARK_SIZE, "\n[… %llu bytes left out …]\n",
				(unsigned long long)(stream->total - stream->limit));
}

void stream_gap(const struct stream *stream, size_t *ret_at, size_t *ret_size)
{
	char mark[MARK_SIZE];
	size_t head = head_size(stream);

	*ret_at = head - utf8_incomplete_tail(stream->retained.data, head);
	*ret_size = mark_text(stream, mark);
}

uint64_t stream_lines(const struct stream *stream)
{
	return stream->newlines + (stream->total > 0 && !stream->ends_line ? 1 : 0);
}

int stream_text(const struct stream *stream, struct buf *ret, struct err *err)
{
	char mark[MARK_SIZE];
	size_t head, mark_len;

	if (!stream_is_cut(stream))
		return buf_add(ret, buf_text(&stream->retained), stream->retained.len, err);
	stream_gap(stream, &head, &mark_len);
	(void)mark_text(stream, mark);
	if (buf_add(ret, stream->retained.data, head, err) < 0 ||
	    buf_add(ret, mark, mark_len, err) < 0)
		return (int)err->code;
	return add_tail(stream, ret, err);
}

void stream_finish_spool(struct stream *stream, char ret_id[STORE_ID_SIZE], struct err *err)
{
	struct store_object object;

	ret_id[0] = '\0';
	err_clear(err);
	if (stream->spool_failed) {
		*err = stream->spool_err;
		return;
	}
	if (stream->spool == NULL)
		return;
	if (store_spool_finish(stream->spool, &object, err) == 0)
		memcpy(ret_id, object.id, sizeof(object.id));
	stream->spool = NULL;
}
