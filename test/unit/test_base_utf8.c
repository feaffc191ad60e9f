/*
 * test_base_utf8.c - the bounds of table 3-7 of the Unicode standard.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    takes its expectations from the code under test.
 */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

static const char *const valid[] = {
	"",		    "a",		"\x7f",		    "\xc2\x80",
	"\xdf\xbf",	    "\xe0\xa0\x80",	"\xe0\xbf\xbf",	    "\xed\x9f\xbf",
	"\xee\x80\x80",	    "\xef\xbf\xbf",	"\xf0\x90\x80\x80", "\xf0\xbf\xbf\xbf",
	"\xf4\x8f\xbf\xbf", "\xef\xbb\xbf text", "Gr\xc3\xbc\xc3\x9f \xe4\xb8\xad\xe6\x96\x87",
	"\xf0\x9f\x98\x80",
};

static const struct {
	const char *bytes;
	const char *why;
} invalid[] = {
	{ "\x80", "lone continuation" },
	{ "a\xbf" "b", "continuation after ASCII" },
	{ "\xc0\x80", "overlong NUL" },
	{ "\xc0\xaf", "overlong slash, two bytes" },
	{ "\xc1\xbf", "overlong 0x7f" },
	{ "\xe0\x80\xaf", "overlong slash, three bytes" },
	{ "\xe0\x9f\xbf", "overlong 0x7ff" },
	{ "\xf0\x80\x80\xaf", "overlong slash, four bytes" },
	{ "\xf0\x8f\xbf\xbf", "overlong 0xffff" },
	{ "\xed\xa0\x80", "first surrogate" },
	{ "\xed\xbf\xbf", "last surrogate" },
	{ "\xed\xa0\xbd\xed\xb8\x80", "surrogate pair" },
	{ "\xf4\x90\x80\x80", "above U+10FFFF" },
	{ "\xf5\x80\x80\x80", "lead above the range" },
	{ "\xf8\x88\x80\x80\x80", "five bytes" },
	{ "\xfe", "0xfe" },
	{ "\xff", "0xff" },
	{ "\xc3", "cut after one of two" },
	{ "\xe4\xb8", "cut after two of three" },
	{ "\xf0\x9f\x98", "cut after three of four" },
	{ "\xc3(", "continuation is ASCII" },
	{ "\xe4\xb8(", "third byte is ASCII" },
	{ "\xf0\x9f\x98(", "fourth byte is ASCII" },
	{ "\xe4(\xad", "second byte is ASCII" },
};

UNIT_TEST(valid_texts_are_accepted)
{
	for (size_t i = 0; i < ARRAY_LEN(valid); i++)
		if (!utf8_is_valid(valid[i], strlen(valid[i])))
			fail_msg("row %zu was refused", i);
	assert_true(utf8_is_valid("a\0b", 3));
}

UNIT_TEST(invalid_texts_are_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(invalid); i++)
		if (utf8_is_valid(invalid[i].bytes, strlen(invalid[i].bytes)))
			fail_msg("accepted: %s", invalid[i].why);
}

/* Encodes every code point and checks that exactly the scalar values are sequences. */
UNIT_TEST(exactly_the_scalar_values_are_valid)
{
	for (uint32_t c = 0; c <= 0x1fffff; c++) {
		bool scalar = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
		size_t len, want;
		char text[4];

		if (c < 0x80) {
			text[0] = (char)c;
			len = 1;
		} else if (c < 0x800) {
			text[0] = (char)(0xc0 | (c >> 6));
			text[1] = (char)(0x80 | (c & 0x3f));
			len = 2;
		} else if (c < 0x10000) {
			text[0] = (char)(0xe0 | (c >> 12));
			text[1] = (char)(0x80 | ((c >> 6) & 0x3f));
			text[2] = (char)(0x80 | (c & 0x3f));
			len = 3;
		} else {
			text[0] = (char)(0xf0 | (c >> 18));
			text[1] = (char)(0x80 | ((c >> 12) & 0x3f));
			text[2] = (char)(0x80 | ((c >> 6) & 0x3f));
			text[3] = (char)(0x80 | (c & 0x3f));
			len = 4;
		}
		want = scalar ? len : 0;
		if (utf8_sequence(text, len) != want)
			fail_msg("U+%04X", c);
		if (len > 1 && utf8_sequence(text, len - 1) != 0)
			fail_msg("U+%04X cut short", c);
	}
}

UNIT_TEST(a_sequence_needs_all_its_bytes)
{
	assert_int_equal(utf8_sequence("", 0), 0);
	assert_int_equal(utf8_sequence("abc", 0), 0);
	assert_int_equal(utf8_sequence("abc", 3), 1);
	assert_int_equal(utf8_sequence("\xc3\xbc", 1), 0);
	assert_int_equal(utf8_sequence("\xc3\xbc", 2), 2);
}

UNIT_TEST(an_incomplete_tail_is_measured)
{
	static const struct {
		const char *text;
		size_t tail;
	} rows[] = {
		{ "", 0 },
		{ "abc", 0 },
		{ "ab\xc3", 1 },
		{ "ab\xc3\xbc", 0 },
		{ "ab\xe4", 1 },
		{ "ab\xe4\xb8", 2 },
		{ "ab\xe4\xb8\xad", 0 },
		{ "\xf0", 1 },
		{ "\xf0\x9f", 2 },
		{ "\xf0\x9f\x98", 3 },
		{ "\xf0\x9f\x98\x80", 0 },
		/* No further byte can complete these, so they are not an incomplete tail. */
		{ "\x80", 0 },
		{ "\x80\x80\x80\x80", 0 },
		{ "a\xc0", 0 },
		{ "a\xff", 0 },
		{ "a\xf5", 0 },
		{ "\xe0\x9f", 0 },
		{ "\xed\xa0", 0 },
		{ "\xf4\x90", 0 },
		{ "\xf0\x8f\xbf", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (utf8_incomplete_tail(rows[i].text, strlen(rows[i].text)) != rows[i].tail)
			fail_msg("row %zu: %zu", i,
				 utf8_incomplete_tail(rows[i].text, strlen(rows[i].text)));
}

/* Wherever a stream is cut: if the tail moves to the second part, both parts are valid. */
UNIT_TEST(both_parts_are_valid_if_the_incomplete_tail_is_withheld)
{
	static const char text[] = "a\xc3\xbc\xe4\xb8\xad\xf0\x9f\x98\x80z";

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		size_t tail = utf8_incomplete_tail(text, cut);

		assert_true(utf8_is_valid(text, cut - tail));
		assert_true(utf8_is_valid(text + cut - tail, sizeof(text) - 1 - (cut - tail)));
	}
}
