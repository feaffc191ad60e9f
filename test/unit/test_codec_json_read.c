/*
 * test_codec_json_read.c - the reader refuses JSON that two parsers could read differently.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    depends on the wording of a message.
 */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "codec/json_read.h"

static int compact(const char *text, struct buf *ret, enum json_kind *ret_kind, struct err *err)
{
	return json_read_compact(text, strlen(text), 1u << 20, ret, ret_kind, err);
}

UNIT_TEST(compaction_preserves_numbers_and_escapes)
{
	static const struct {
		const char *in, *out;
		enum json_kind kind;
	} cases[] = {
		{ " { \"a b\" : [ 1 , 2.50 ,\n\t-0 ] } ", "{\"a b\":[1,2.50,-0]}", JSON_KIND_OBJECT },
		{ "123456789012345678901234567890", "123456789012345678901234567890",
		  JSON_KIND_NUMBER },
		{ "\"\\\" : \\\\\"", "\"\\\" : \\\\\"", JSON_KIND_STRING },
		{ "\"\\u0000\"", "\"\\u0000\"", JSON_KIND_STRING },
		{ "[ ]", "[]", JSON_KIND_ARRAY },
		{ " true", "true", JSON_KIND_BOOL },
		{ "null\r\n", "null", JSON_KIND_NULL },
	};
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup_buf struct buf out = BUF_INIT(256);
		enum json_kind kind = JSON_KIND_NULL;

		assert_ok(&err, compact(cases[i].in, &out, &kind, &err));
		assert_string_equal(buf_text(&out), cases[i].out);
		assert_int_equal(kind, cases[i].kind);
	}
}

UNIT_TEST(invalid_or_ambiguous_json_is_refused)
{
	static const char *const bad[] = {
		"",	    " ",	  "{",		"[1,]",	  "{\"a\":1,\"a\":2}", "{'a':1}",
		"01",	    "NaN",	  "Infinity",	"1 2",	  "\"\xff\"",	       "\"\\ud800\"",
		"\"a\nb\"", "[1] trailing", "{\"a\"}",	"\"open", "// no\n1",	       ("\xef\xbb\xbf" "1"),
		"{\"a\\u0000b\":1}",
	};
	cleanup_buf struct buf out = BUF_INIT(256);
	enum json_kind kind;
	struct err err;

	assert_ok(&err, buf_adds(&out, "kept", &err));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_err(&err, ERR_INVALID, compact(bad[i], &out, &kind, &err));
		assert_string_equal(buf_text(&out), "kept");
	}
	/* A NUL byte does not end the text. */
	assert_err(&err, ERR_INVALID, json_read_compact("1\0", 2, 16, &out, &kind, &err));
	assert_err(&err, ERR_INVALID, json_read_compact("[1]\0{", 5, 16, &out, &kind, &err));
	assert_string_equal(buf_text(&out), "kept");
}

static void nest(char *text, size_t levels)
{
	memset(text, '[', levels);
	memset(text + levels, ']', levels);
	text[2 * levels] = '\0';
}

UNIT_TEST(limits_are_exact)
{
	cleanup_buf struct buf out = BUF_INIT(1u << 20);
	cleanup_buf struct buf many = BUF_INIT(1u << 23);
	struct json_value *document = NULL;
	enum json_kind kind;
	char text[512];
	struct err err;

	nest(text, JSON_READ_COMPACT_DEPTH_MAX);
	assert_ok(&err, compact(text, &out, &kind, &err));
	nest(text, JSON_READ_COMPACT_DEPTH_MAX + 1);
	assert_err(&err, ERR_INVALID, compact(text, &out, &kind, &err));
	nest(text, JSON_READ_DEPTH_MAX);
	assert_ok(&err, json_read_parse(text, strlen(text), 512, &document, &err));
	json_read_free(document);
	nest(text, JSON_READ_DEPTH_MAX + 1);
	assert_err(&err, ERR_INVALID, json_read_parse(text, strlen(text), 512, &document, &err));
	/* Brackets in a string do not count as nesting. */
	assert_ok(&err, compact("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"",
				&out, &kind, &err));

	assert_ok(&err, json_read_compact("[1]", 3, 3, &out, &kind, &err));
	assert_err(&err, ERR_LIMIT, json_read_compact("[1] ", 4, 3, &out, &kind, &err));

	assert_ok(&err, buf_adds(&many, "[1", &err));
	while (many.len < 2u * JSON_READ_VALUES_MAX + 16)
		assert_ok(&err, buf_adds(&many, ",1", &err));
	assert_ok(&err, buf_adds(&many, "]", &err));
	assert_err(&err, ERR_LIMIT,
		   json_read_compact(many.data, many.len, many.len, &out, &kind, &err));
}

UNIT_TEST(values_are_found_and_typed)
{
	static const char text[] = "{\"s\":\"a\\u0000b\",\"i\":-7,\"d\":1.5,\"t\":true,\"n\":null,"
				   "\"l\":[10,20]}";
	struct json_value *document = NULL;
	const struct json_value *value = NULL;
	const char *key = NULL;
	double real = 0;
	int64_t number = 0;
	bool flag = false;
	size_t len = 0;
	struct err err;

	assert_ok(&err, json_read_parse(text, sizeof(text) - 1, 4096, &document, &err));
	assert_int_equal(json_read_count(document), 6);
	assert_memory_equal(json_read_text(json_read_member(document, "s"), &len), "a\0b", 4);
	assert_int_equal(len, 3);
	assert_true(json_read_int(json_read_member(document, "i"), &number));
	assert_int_equal(number, -7);
	assert_true(json_read_double(json_read_member(document, "d"), &real));
	assert_true(real == 1.5);
	assert_true(json_read_bool(json_read_member(document, "t"), &flag));
	assert_true(flag);
	assert_int_equal(json_read_kind(json_read_member(document, "n")), JSON_KIND_NULL);
	value = json_read_member(document, "l");
	assert_int_equal(json_read_count(value), 2);
	assert_true(json_read_int(json_read_at(value, 1), &number));
	assert_int_equal(number, 20);
	assert_null(json_read_at(value, 2));
	assert_true(json_read_member_at(document, 1, &key, &value));
	assert_string_equal(key, "i");
	assert_false(json_read_member_at(document, 6, &key, &value));
	/* Missing members and other types yield NULL, false or 0, not a crash. */
	assert_null(json_read_member(document, "missing"));
	assert_null(json_read_member(json_read_member(document, "missing"), "x"));
	assert_null(json_read_text(json_read_member(document, "i"), NULL));
	assert_false(json_read_int(json_read_member(document, "s"), &number));
	assert_int_equal(json_read_count(NULL), 0);
	json_read_free(document);
	json_read_free(NULL);
}

UNIT_TEST(values_are_written_back)
{
	static const char text[] = "{\"b\":[1,null,\"\\u00fc\"],\"a\":{\"x\":true},"
				   "\"n\":[0.006,-0.1,1e300,5.0,0.30000000000000004,[],{}]}";
	cleanup_buf struct buf out = BUF_INIT(256), small = BUF_INIT(4);
	struct json_value *document;
	struct err err;

	assert_ok(&err, json_read_parse(text, sizeof(text) - 1, 4096, &document, &err));
	assert_ok(&err, json_read_dump(document, &out, &err));
	assert_string_equal(buf_text(&out), "{\"b\":[1,null,\"ü\"],\"a\":{\"x\":true},"
					   "\"n\":[0.006,-0.1,1e300,5.0,0.30000000000000004,[],{}]}");
	assert_ok(&err, json_read_dump(json_read_at(json_read_member(document, "b"), 0), &out, &err));
	assert_int_equal(buf_text(&out)[out.len - 1], '1');
	assert_err(&err, ERR_LIMIT, json_read_dump(document, &small, &err));
	assert_int_equal(small.len, 0);
	assert_err(&err, ERR_INVALID, json_read_dump(NULL, &out, &err));
	json_read_free(document);
}
