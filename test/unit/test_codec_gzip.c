/*
 * test_codec_gzip.c - gzip: round trips in small pieces, several members, damaged data, a bomb.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    touches a file.
 */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "codec/gzip.h"

#define TEXT_MAX (1u << 20)

static void pack(const char *text, size_t len, size_t step, struct buf *ret)
{
	cleanup_gzip struct gzip *gzip = gzip_new();
	char piece[64];
	struct err err;
	size_t got;

	assert_non_null(gzip);
	for (size_t at = 0; at <= len; at += step) {
		const size_t some = len - at < step ? len - at : step;

		gzip_feed(gzip, text + at, some, at + step > len);
		while (gzip_read(gzip, piece, sizeof(piece), &got) > 0)
			assert_int_equal(buf_add(ret, piece, got, &err), 0);
	}
}

/* Decompresses `bytes` into `ret`; returns 0 or the code of the error. */
static int unpack(const char *bytes, size_t len, size_t step, struct buf *ret)
{
	cleanup_gunzip struct gunzip *gunzip = gunzip_new(bytes, len);
	char piece[4096];
	struct err err;
	size_t got;
	int code;

	assert_non_null(gunzip);
	while ((code = gunzip_read(gunzip, piece, step, &got, &err)) > 0)
		assert_int_equal(buf_add(ret, piece, got, &err), 0);
	return code;
}

UNIT_TEST(test_round_trip_with_pieces_of_any_size)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct err err;

	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(buf_addf(&text, &err, "%u,", i * i), 0);
	for (size_t step = 1; step < 5000; step = step * 7 + 1) {
		struct buf packed = BUF_INIT(TEXT_MAX), back = BUF_INIT(TEXT_MAX);

		pack(text.data, text.len, step, &packed);
		assert_true(packed.len < text.len);
		assert_int_equal(unpack(packed.data, packed.len, step < 4096 ? step : 4096, &back),
				 0);
		assert_int_equal(back.len, text.len);
		assert_memory_equal(back.data, text.data, text.len);
		buf_done(&packed);
		buf_done(&back);
	}
	buf_done(&text);
}

UNIT_TEST(test_empty_content_round_trips)
{
	struct buf packed = BUF_INIT(TEXT_MAX), back = BUF_INIT(TEXT_MAX);

	pack("", 0, 1, &packed);
	assert_true(packed.len > 0);
	assert_int_equal(unpack(packed.data, packed.len, 16, &back), 0);
	assert_int_equal(back.len, 0);
	assert_int_equal(unpack("", 0, 16, &back), ERR_INVALID);
	buf_done(&packed);
	buf_done(&back);
}

UNIT_TEST(test_several_members_are_concatenated)
{
	struct buf packed = BUF_INIT(TEXT_MAX), back = BUF_INIT(TEXT_MAX);
	struct err err;

	pack("one ", 4, 9, &packed);
	pack("two", 3, 9, &packed);
	assert_int_equal(unpack(packed.data, packed.len, 2, &back), 0);
	assert_string_equal(buf_text(&back), "one two");
	assert_int_equal(buf_adds(&packed, "not gzip", &err), 0);
	assert_int_equal(unpack(packed.data, packed.len, 4096, &back), ERR_INVALID);
	buf_done(&packed);
	buf_done(&back);
}

UNIT_TEST(test_truncated_or_damaged_data_is_refused)
{
	static const char text[] = "the quick brown fox jumps over the lazy dog, twice: the quick brown fox";
	struct buf packed = BUF_INIT(TEXT_MAX), back = BUF_INIT(TEXT_MAX);

	pack(text, sizeof(text), sizeof(text) + 1, &packed);
	for (size_t len = 0; len < packed.len; len++)
		assert_int_equal(unpack(packed.data, len, 4096, &back), ERR_INVALID);
	packed.data[packed.len - 1] ^= 1; /* the size in the trailer */
	assert_int_equal(unpack(packed.data, packed.len, 4096, &back), ERR_INVALID);
	packed.data[packed.len - 1] ^= 1;
	packed.data[packed.len - 6] ^= 1; /* the checksum in the trailer */
	assert_int_equal(unpack(packed.data, packed.len, 4096, &back), ERR_INVALID);
	/* The zlib format is not gzip. */
	assert_int_equal(unpack("\x78\x9c\x03\0\0\0\0\1", 8, 4096, &back), ERR_INVALID);
	buf_done(&packed);
	buf_done(&back);
}

/* A small input that expands to 16 MiB yields at most one piece per read. */
UNIT_TEST(test_a_bomb_fills_one_piece_at_a_time)
{
	static char zeros[1 << 16], piece[100];
	cleanup_gzip struct gzip *gzip = gzip_new();
	cleanup_gunzip struct gunzip *gunzip = NULL;
	struct buf packed = BUF_INIT(TEXT_MAX);
	struct err err;
	size_t got;

	for (unsigned i = 0; i < 256; i++) {
		gzip_feed(gzip, zeros, sizeof(zeros), i == 255);
		while (gzip_read(gzip, piece, sizeof(piece), &got) > 0)
			assert_int_equal(buf_add(&packed, piece, got, &err), 0);
	}
	assert_true(packed.len < sizeof(zeros) * 256 / 100);
	gunzip = gunzip_new(packed.data, packed.len);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(gunzip_read(gunzip, piece, sizeof(piece), &got, &err), 1);
		assert_int_equal(got, sizeof(piece));
	}
	buf_done(&packed);
}
