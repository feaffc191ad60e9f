/*
 * test_codec_base64.c - the test vectors of RFC 4648, and texts that a decoder must refuse.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    accepts two texts for the same bytes.
 */
#include "unit.h"

#include <string.h>

#include "codec/base64.h"

UNIT_TEST(test_vectors_of_the_rfc_are_encoded_and_decoded)
{
	static const char *const cases[][2] = {
		{ "", "" },	      { "f", "Zg==" },	     { "fo", "Zm8=" },	    { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
	};
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup_buf struct buf text = BUF_INIT(64);
		cleanup_buf struct buf bytes = BUF_INIT(64);

		assert_ok(&err, base64_encode(cases[i][0], strlen(cases[i][0]), &text, &err));
		assert_string_equal(buf_text(&text), cases[i][1]);
		assert_ok(&err, base64_decode(text.data, text.len, &bytes, &err));
		assert_string_equal(buf_text(&bytes), cases[i][0]);
	}
}

UNIT_TEST(every_byte_value_is_encoded_and_decoded)
{
	cleanup_buf struct buf text = BUF_INIT(1024);
	cleanup_buf struct buf bytes = BUF_INIT(1024);
	unsigned char all[256];
	struct err err;

	for (unsigned i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	assert_ok(&err, base64_encode(all, 256, &text, &err));
	assert_int_equal(text.len, 344);
	assert_ok(&err, base64_decode(text.data, text.len, &bytes, &err));
	assert_int_equal(bytes.len, 256);
	assert_memory_equal(bytes.data, all, 256);
}

UNIT_TEST(noncanonical_and_invalid_texts_are_refused)
{
	static const char *const bad[] = { "Zg",   "Zg=",  "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==",
					   "Zm 9", "Zm-_", "Zg=v", "\nZm9v" };
	cleanup_buf struct buf bytes = BUF_INIT(64);
	struct err err;

	assert_ok(&err, buf_adds(&bytes, "kept", &err));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_err(&err, ERR_INVALID, base64_decode(bad[i], strlen(bad[i]), &bytes, &err));
		assert_string_equal(buf_text(&bytes), "kept");
		assert_int_equal(bytes.len, 4);
	}
	assert_err(&err, ERR_INVALID, base64_decode("Zm\0v", 4, &bytes, &err));
}

UNIT_TEST(encoding_stops_at_the_limit_of_the_buffer)
{
	cleanup_buf struct buf text = BUF_INIT(7);
	struct err err;

	assert_ok(&err, base64_encode("abc", 3, &text, &err));
	assert_err(&err, ERR_LIMIT, base64_encode("a", 1, &text, &err));
	assert_string_equal(buf_text(&text), "YWJj");
}

/* The size is exact for each number of padding characters. */
UNIT_TEST(a_buffer_of_the_exact_size_is_enough)
{
	static const char *const texts[] = { "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=" };
	struct err err;

	for (size_t size = 1; size < sizeof(texts) / sizeof(texts[0]); size++) {
		cleanup_buf struct buf exact = BUF_INIT(size);
		cleanup_buf struct buf less = BUF_INIT(size - 1);

		assert_ok(&err, base64_decode(texts[size], strlen(texts[size]), &exact, &err));
		assert_int_equal(exact.len, size);
		assert_err(&err, ERR_LIMIT,
			   base64_decode(texts[size], strlen(texts[size]), &less, &err));
	}
}
