/*
 * test_lib_stream.c - captured output: limits, head and tail, decoding, the spool.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    needs a kernel.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "lib/record/stream.h"

struct place {
	char dir[64];
	struct store *store;
};

static int setup(void **state)
{
	struct place *place = test_malloc(sizeof(*place));
	struct err err;

	(void)close(unit_mkdir(place->dir));
	assert_ok(&err, store_open(place->dir, &place->store, &err));
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	store_close(place->store);
	unit_rmdir(place->dir);
	test_free(place);
	return 0;
}

static void text_of(const struct stream *stream, struct buf *ret)
{
	struct err err;

	buf_clear(ret);
	assert_ok(&err, stream_text(stream, ret, &err));
}

UNIT_TEST_WITH(test_lossless_up_to_the_limit, setup, teardown)
{
	const struct place *place = *state;
	cleanup_buf struct buf text = BUF_INIT(1000);
	struct stream stream;

	stream_init(&stream, place->store, 10);
	text_of(&stream, &text);
	assert_string_equal(buf_text(&text), "");
	assert_true(stream_take(&stream, "01234", 5));
	assert_true(stream_take(&stream, "56789", 5));
	assert_false(stream_is_cut(&stream));
	text_of(&stream, &text);
	assert_string_equal(buf_text(&text), "0123456789");
	assert_true(stream_take(&stream, "a", 1));
	assert_true(stream_is_cut(&stream));
	text_of(&stream, &text);
	assert_string_equal(buf_text(&text), "01234\n[\xe2\x80\xa6 1 bytes left out \xe2\x80\xa6]\n6789a");
	stream_done(&stream);
}

/* Head, tail and spool do not depend on how the bytes are split into writes. */
UNIT_TEST_WITH(test_any_chunks, setup, teardown)
{
	const struct place *place = *state;
	char all[1000];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)('a' + i % 26);
	for (size_t chunk = 1; chunk <= sizeof(all); chunk = chunk * 3 / 2 + 1) {
		cleanup_buf struct buf text = BUF_INIT(2000);
		char id[STORE_ID_SIZE];
		struct stream stream;
		uint64_t size = 0;
		struct err err;

		stream_init(&stream, place->store, 101);
		for (size_t at = 0; at < sizeof(all); at += chunk)
			assert_true(stream_take(&stream, all + at,
						chunk < sizeof(all) - at ? chunk
									 : sizeof(all) - at));
		text_of(&stream, &text);
		assert_memory_equal(text.data, all, 50);
		assert_memory_equal(text.data + text.len - 51, all + sizeof(all) - 51, 51);
		assert_non_null(strstr(text.data, " 899 bytes"));
		stream_finish_spool(&stream, id, &err);
		assert_memory_equal(id, "out_", 4);
		assert_ok(&err, store_stat(place->store, id, &size, &err));
		assert_int_equal(size, sizeof(all));
		stream_done(&stream);
	}
}

/* The spool stores STREAM_SPOOL_MAX bytes; with one more the caller must stop the program. */
UNIT_TEST_WITH(test_the_size_of_a_stream_is_limited, setup, teardown)
{
	static char piece[1u << 20];
	const struct place *place = *state;
	char id[STORE_ID_SIZE];
	struct stream stream;
	uint64_t size = 0;
	struct err err;

	stream_init(&stream, place->store, 100);
	for (size_t i = 0; i < STREAM_SPOOL_MAX / sizeof(piece); i++)
		assert_true(stream_take(&stream, piece, sizeof(piece)));
	assert_false(stream_take(&stream, piece, 1));
	stream_finish_spool(&stream, id, &err);
	assert_ok(&err, store_stat(place->store, id, &size, &err));
	assert_int_equal(size, STREAM_SPOOL_MAX);
	stream_done(&stream);
}

UNIT_TEST_WITH(test_cuts_between_characters, setup, teardown)
{
	const struct place *place = *state;
	cleanup_buf struct buf text = BUF_INIT(1000);
	struct stream stream;

	stream_init(&stream, place->store, 9);
	for (int i = 0; i < 20; i++)
		assert_true(stream_take(&stream, "\xe2\x82\xac", 3));
	text_of(&stream, &text);
	assert_true(utf8_is_valid(text.data, text.len));
	stream_done(&stream);
}

static void decode_in(struct stream *stream, const char *bytes, size_t len, size_t chunk,
		      struct buf *ret)
{
	struct err err;

	for (size_t at = 0; at < len; at += chunk)
		assert_ok(&err, stream_decode(stream, bytes + at,
					      chunk < len - at ? chunk : len - at, false, ret,
					      &err));
	assert_ok(&err, stream_decode(stream, "", 0, true, ret, &err));
}

UNIT_TEST_WITH(test_decode_is_the_same_in_any_chunks, setup, teardown)
{
	const struct place *place = *state;
	static const char bytes[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc3(\xe2\x82z\xed\xa0\x80"
				    "\xf0\x9f";
	cleanup_buf struct buf whole = BUF_INIT(1000);
	struct stream stream;

	stream_init(&stream, place->store, 1000);
	decode_in(&stream, bytes, sizeof(bytes) - 1, sizeof(bytes), &whole);
	assert_true(utf8_is_valid(whole.data, whole.len));
	stream_done(&stream);
	for (size_t chunk = 1; chunk < sizeof(bytes); chunk++) {
		cleanup_buf struct buf part = BUF_INIT(1000);

		stream_init(&stream, place->store, 1000);
		decode_in(&stream, bytes, sizeof(bytes) - 1, chunk, &part);
		assert_string_equal(part.data, whole.data);
		stream_done(&stream);
	}
}

UNIT_TEST_WITH(test_events_stop_at_the_limit, setup, teardown)
{
	const struct place *place = *state;
	cleanup_buf struct buf text = BUF_INIT(1000);
	struct stream stream;

	stream_init(&stream, place->store, 10);
	decode_in(&stream, "0123456789abcdef", 16, 3, &text);
	assert_string_equal(text.data, "0123456789");
	stream_done(&stream);
}

UNIT_TEST_WITH(test_a_store_that_fails, setup, teardown)
{
	const struct place *place = *state;
	cleanup_buf struct buf text = BUF_INIT(1000);
	char id[STORE_ID_SIZE], path[128], aside[128];
	struct stream stream;
	struct err err;

	(void)snprintf(path, sizeof(path), "%s/artifacts", place->dir);
	(void)snprintf(aside, sizeof(aside), "%s/aside", place->dir);
	stream_init(&stream, NULL, 4);
	stream.spool_failed = true;
	(void)err_set(&stream.spool_err, ERR_SYSTEM, "disk full");
	assert_true(stream_take(&stream, "0123", 4));
	stream.ring_at = 2;
	assert_int_equal(rename(path, aside), 0);
	stream_done(&stream);
	/* The stream still has its text; only the handle may be missing, with an error. */
	stream_init(&stream, place->store, 4);
	(void)stream_take(&stream, "0123456789", 10);
	text_of(&stream, &text);
	assert_non_null(strstr(text.data, "89"));
	stream_finish_spool(&stream, id, &err);
	if (id[0] == '\0')
		assert_int_not_equal(err.text[0], '\0');
	stream_done(&stream);
	assert_int_equal(rename(aside, path), 0);
}
