/*
 * test_codec_json_write.c - the writer makes valid JSON from any bytes, and reports misuse.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    accepts output other than the exact bytes, or what the strict reader parses.
 */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

UNIT_TEST(members_are_in_order_and_compact)
{
	cleanup_buf struct buf out = BUF_INIT(1024);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &out);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "a", "x");
	json_write_member_string(&writer, "none", NULL);
	json_write_key(&writer, "list");
	json_write_array_begin(&writer);
	json_write_int(&writer, INT64_MIN);
	json_write_uint(&writer, UINT64_MAX);
	json_write_bool(&writer, true);
	json_write_array_begin(&writer);
	json_write_array_end(&writer);
	json_write_raw(&writer, "{\"r\":1}", 7);
	json_write_base64(&writer, "ab", 2);
	json_write_array_end(&writer);
	json_write_member_bool(&writer, "no", false);
	json_write_object_end(&writer);
	assert_ok(&err, json_write_finish(&writer, &err));
	assert_string_equal(buf_text(&out), "{\"a\":\"x\",\"none\":null,\"list\":[-9223372036854775808,"
			    "18446744073709551615,true,[],{\"r\":1},\"YWI=\"],\"no\":false}");
}

UNIT_TEST(seconds_have_no_trailing_zeros)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = { { 0, "0" },	  { 1500000999, "1.5" }, { 30000000000, "30" },
		      { 12345678, "0.012345" }, { 999, "0" },	 { 100000000000, "100" } };
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup_buf struct buf out = BUF_INIT(64);
		struct json_writer writer;

		json_write_init(&writer, &out);
		json_write_seconds(&writer, cases[i].ns);
		assert_ok(&err, json_write_finish(&writer, &err));
		assert_string_equal(buf_text(&out), cases[i].text);
	}
}

UNIT_TEST(text_is_escaped_and_repaired_to_utf8)
{
	static const char raw[] = "\"\\/\n\r\t\b\0\x1f\x7f\xc3\xa9\xff\xed\xa0\x80\xe2\x82";
	cleanup_buf struct buf out = BUF_INIT(256);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &out);
	json_write_text(&writer, raw, sizeof(raw) - 1);
	assert_ok(&err, json_write_finish(&writer, &err));
	assert_string_equal(buf_text(&out),
			    "\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\\u007f\xc3\xa9"
			    "\xef\xbf\xbd" /* ff */
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" /* a surrogate */
			    "\xef\xbf\xbd\xef\xbf\xbd\"" /* a sequence cut short */);
}

/* Every pair of bytes and every single byte as a string: the strict reader accepts the result. */
UNIT_TEST(any_bytes_make_valid_json)
{
	struct err err;

	for (unsigned pair = 0; pair < 65536; pair++) {
		const char raw[2] = { (char)(pair >> 8), (char)pair };
		cleanup_buf struct buf out = BUF_INIT(256);
		struct json_value *document;
		struct json_writer writer;

		json_write_init(&writer, &out);
		json_write_array_begin(&writer);
		json_write_text(&writer, raw, 2);
		json_write_text(&writer, raw, 1);
		json_write_array_end(&writer);
		assert_ok(&err, json_write_finish(&writer, &err));
		assert_null(memchr(out.data, '\n', out.len));
		assert_ok(&err, json_read_parse(out.data, out.len, 256, &document, &err));
		assert_int_equal(json_read_count(document), 2);
		json_read_free(document);
	}
}

UNIT_TEST(misuse_is_an_error_not_bad_json)
{
	cleanup_buf struct buf out = BUF_INIT(1024);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &out);
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err)); /* nothing */

	json_write_init(&writer, &out);
	json_write_object_begin(&writer);
	json_write_null(&writer); /* no key */
	json_write_object_end(&writer);
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));

	json_write_init(&writer, &out);
	json_write_object_begin(&writer);
	json_write_array_end(&writer);
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));

	json_write_init(&writer, &out);
	json_write_object_begin(&writer);
	json_write_key(&writer, "k");
	json_write_object_end(&writer); /* no value */
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));

	json_write_init(&writer, &out);
	json_write_array_begin(&writer);
	json_write_key(&writer, "k"); /* not in an array */
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));

	json_write_init(&writer, &out);
	json_write_null(&writer);
	json_write_null(&writer); /* two values */
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));

	json_write_init(&writer, &out);
	json_write_array_begin(&writer); /* never ended */
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));
}

UNIT_TEST(depth_and_size_limits_are_exact)
{
	cleanup_buf struct buf out = BUF_INIT(1024);
	cleanup_buf struct buf small = BUF_INIT(8);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &out);
	for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++)
		json_write_array_begin(&writer);
	for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++)
		json_write_array_end(&writer);
	assert_ok(&err, json_write_finish(&writer, &err));

	buf_clear(&out);
	json_write_init(&writer, &out);
	for (int i = 0; i <= JSON_WRITE_DEPTH_MAX; i++)
		json_write_array_begin(&writer);
	assert_err(&err, ERR_INVALID, json_write_finish(&writer, &err));

	json_write_init(&writer, &small);
	json_write_string(&writer, "123456");
	assert_ok(&err, json_write_finish(&writer, &err));
	buf_clear(&small);
	json_write_init(&writer, &small);
	json_write_string(&writer, "1234567");
	assert_err(&err, ERR_LIMIT, json_write_finish(&writer, &err));
}
