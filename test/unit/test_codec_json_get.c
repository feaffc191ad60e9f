/*
 * test_codec_json_get.c - members that exist, are missing, or have another type.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    tests how JSON is parsed.
 */
#include "unit.h"

#include <string.h>

#include "codec/json_get.h"

static struct json_value *document;

static int parse(void **state)
{
	static const char text[] = "{\"word\": \"yes\", \"empty\": \"\", \"cut\": \"a\\u0000b\", "
				   "\"number\": 7, \"debt\": -1, \"half\": 0.5, \"none\": null, "
				   "\"object\": {}}";
	struct err err;

	(void)state;
	return json_read_parse(text, strlen(text), sizeof(text), &document, &err);
}

static int release(void **state)
{
	(void)state;
	json_read_free(document);
	return 0;
}

UNIT_TEST(a_member_that_is_not_a_string_has_no_text)
{
	assert_string_equal(json_get_text(document, "word"), "yes");
	assert_string_equal(json_get_text(document, "empty"), "");
	assert_null(json_get_text(document, "number"));
	assert_null(json_get_text(document, "missing"));
	assert_null(json_get_text(NULL, "word"));
	assert_string_equal(json_get_str(document, "word"), "yes");
	assert_string_equal(json_get_str(document, "none"), "");
	assert_string_equal(json_get_str(NULL, "word"), "");
}

UNIT_TEST(a_string_with_a_nul_byte_is_not_a_c_string)
{
	assert_string_equal(json_get_c_text(document, "word"), "yes");
	assert_null(json_get_c_text(document, "cut"));
	assert_null(json_get_c_text(document, "missing"));
}

UNIT_TEST(a_string_member_is_compared)
{
	assert_true(json_get_is(document, "word", "yes"));
	assert_false(json_get_is(document, "word", "no"));
	assert_true(json_get_is(document, "empty", ""));
	assert_false(json_get_is(document, "missing", ""));
}

UNIT_TEST(a_member_that_is_not_a_natural_number_counts_0)
{
	assert_int_equal(json_get_count(document, "number"), 7);
	assert_int_equal(json_get_count(document, "debt"), 0);
	assert_int_equal(json_get_count(document, "half"), 0);
	assert_int_equal(json_get_count(document, "word"), 0);
	assert_int_equal(json_get_count(document, "missing"), 0);
}

UNIT_TEST(a_null_member_counts_as_missing)
{
	assert_true(json_get_has(document, "empty"));
	assert_false(json_get_has(document, "none"));
	assert_false(json_get_has(document, "missing"));
	assert_true(json_get_has_object(document, "object"));
	assert_false(json_get_has_object(document, "word"));
}

int main(void)
{
	return unit_run(parse, release);
}
