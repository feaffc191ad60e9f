/*
 * test_cli_term.c - the text of a box, as it is escaped for a terminal.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    prints the sequences it tests.
 */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/reveal.h"
#include "cli/term/term.h"

/* Sends `text` in pieces of `step` bytes. */
static void filter_in(struct buf *ret, const char *text, size_t len, size_t step, bool escape)
{
	struct term_filter filter = { .escape = escape };
	struct err err;

	buf_clear(ret);
	for (size_t at = 0; at < len; at += step) {
		const size_t n = len - at < step ? len - at : step;

		assert_ok(&err, term_filter_add(&filter, text + at, n, ret, &err));
	}
	assert_ok(&err, term_filter_end(&filter, ret, &err));
}

/* Expects the same output for pieces of every size. */
static void assert_shown(const char *text, size_t len, const char *want)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	for (size_t step = 1; step <= len; step++) {
		filter_in(&got, text, len, step, true);
		if (strcmp(buf_text(&got), want) != 0)
			fail_msg("in pieces of %zu: %zu bytes, not what was expected", step,
				 got.len);
	}
}

#define assert_shown_text(text, want) assert_shown(text, strlen(text), want)

UNIT_TEST(text_and_colours_pass)
{
	assert_shown_text("plain\ttext\r\n", "plain\ttext\r\n");
	assert_shown_text("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m");
	assert_shown_text("\x1b[38:2::255:0:0mrgb\x1b[m", "\x1b[38:2::255:0:0mrgb\x1b[m");
	assert_shown_text("Gr\xc3\xbc\xc3\x9f" "e \xe4\xb8\xad \xf0\x9f\x98\x80",
			  "Gr\xc3\xbc\xc3\x9f" "e \xe4\xb8\xad \xf0\x9f\x98\x80");
}

UNIT_TEST(colours_do_not_outlive_the_text)
{
	assert_shown_text("\x1b[31mred", "\x1b[31mred\x1b[0m");
	assert_shown_text("\x1b[31m\x1b[00m.", "\x1b[31m\x1b[00m.");
}

UNIT_TEST(control_sequences_are_escaped)
{
	assert_shown_text("\x1b]0;owned\x07", "\\x1b]0;owned\\x07");
	assert_shown_text("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H");
	assert_shown_text("\x1b[6n", "\\x1b[6n");
	assert_shown_text("\x1b[?25l", "\\x1b[?25l");
	assert_shown_text("\x1bP+q544e\x1b\\", "\\x1bP+q544e\\x1b\\");
	assert_shown_text("\x1b" "c", "\\x1b" "c");
	assert_shown_text("a\bb\x7f", "a\\x08b\\x7f");
	assert_shown_text("\x1b\x1b[31mx\x1b[0m", "\\x1b\x1b[31mx\x1b[0m");
	assert_shown("a\0b", 3, "a\\x00b");
}

/* A C1 control is one character with the effect of ESC and another. */
UNIT_TEST(eight_bit_controls_are_escaped)
{
	assert_shown_text("\xc2\x9b" "2J", "\\x9b2J");
	assert_shown_text("\xc2\x9d" "0;t\xc2\x9c", "\\x9d0;t\\x9c");
	assert_shown_text("\x9b" "2J", "\\x9b2J");
	assert_shown_text("\xc2\xa0", "\xc2\xa0");
}

UNIT_TEST(invalid_utf8_and_incomplete_sequences_are_escaped)
{
	assert_shown_text("a\xff" "b", "a\\xffb");
	assert_shown_text("\xe4\xb8", "\\xe4\\xb8");
	assert_shown_text("\x1b", "\\x1b");
	assert_shown_text("\x1b[31", "\\x1b[31");
}

UNIT_TEST(an_unterminated_colour_is_escaped)
{
	char text[300] = "\x1b[", want[310] = "\\x1b[";

	memset(text + 2, '1', 290);
	memset(want + 5, '1', 290);
	assert_shown_text(text, want);
}

UNIT_TEST(without_escaping_every_byte_passes)
{
	static const char bytes[] = "\x1b]0;t\x07\xff\0\xc2\x9b";
	cleanup_buf struct buf got = BUF_INIT(4096);

	filter_in(&got, bytes, sizeof(bytes), 1, false);
	assert_int_equal(got.len, sizeof(bytes));
	assert_memory_equal(got.data, bytes, sizeof(bytes));
}

UNIT_TEST(a_message_stays_one_line)
{
	static const char text[] = "a\nreckon: forged\r\t\x1b[31m\xc2\x85\xff\xc3\xbc";
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_ok(&err, term_escape_line(text, strlen(text), &got, &err));
	assert_string_equal(got.data,
			    "a\\nreckon: forged\\x0d\\x09\\x1b[31m\\x85\\xff\xc3\xbc");
}

static void assert_revealed(const char *text, size_t len, const char *want)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_ok(&err, reveal_line(text, len, false, &got, &err));
	assert_string_equal(buf_text(&got), want);
}

UNIT_TEST(hidden_characters_in_code_are_revealed)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "x = 'Gr\xc3\xbc\xc3\x9f" "e \xe4\xb8\xad \xf0\x9f\x98\x80'",
		  "x = 'Gr\xc3\xbc\xc3\x9f" "e \xe4\xb8\xad \xf0\x9f\x98\x80'" },
		{ "\t\tx\ty\r", "        x\\ty\\r" },
		{ "1 \x1b[8m; rm()\x1b[0m", "1 \\x1b[8m; rm()\\x1b[0m" },
		{ "a\b\x7f\xff\xe4\xb8", "a\\x08\\x7f\\xff\\xe4\\xb8" },
		{ "\xc2\x9b" "8m \xc2\x85", "\\x9b" "8m \\x85" },
		{ "\xc2\xa0\xc2\xad", "\\xa0\\xad" },
		/* Every control of direction: U+200E/F, U+202A-E, U+2066-9, U+061C. */
		{ "\xe2\x80\x8e\xe2\x80\x8f", "\\u200e\\u200f" },
		{ "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae",
		  "\\u202a\\u202b\\u202c\\u202d\\u202e" },
		{ "\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9",
		  "\\u2066\\u2067\\u2068\\u2069" },
		{ "\xd8\x9c", "\\u061c" },
		/* Of no width, or blank: U+200B-D, U+2060, U+FEFF, U+3164, U+2800, U+2003. */
		{ "\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d\xe2\x81\xa0\xef\xbb\xbf",
		  "\\u200b\\u200c\\u200d\\u2060\\ufeff" },
		{ "\xe3\x85\xa4\xe2\xa0\x80\xe2\x80\x83", "\\u3164\\u2800\\u2003" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
		/* Variation selectors, tags, private use, noncharacters. */
		{ "\xef\xb8\x80\xef\xb8\x8f\xf3\xa0\x84\x80", "\\ufe00\\ufe0f\\U000e0100" },
		{ "\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "\\U000e0001\\U000e007f" },
		{ "\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf", "\\ue000\\uffff\\U0010ffff" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_revealed(cases[i].text, strlen(cases[i].text), cases[i].want);
	assert_revealed("a\0b", 3, "a\\x00b");
}

/* A binary search must find every character of a range, and not its neighbours. */
UNIT_TEST(every_hidden_character_is_in_the_table)
{
	static const struct {
		uint32_t first, last;
	} runs[] = { { 0x0, 0x1f }, { 0x7f, 0xa0 }, { 0x2000, 0x200f }, { 0x2028, 0x202f },
		     { 0x205f, 0x206f }, { 0xfe00, 0xfe0f }, { 0xe0000, 0xe0fff } };

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		for (uint32_t c = runs[i].first; c <= runs[i].last; c++)
			assert_true(reveal_is_hidden(c));
	for (uint32_t c = 0x20; c < 0x7f; c++)
		assert_false(reveal_is_hidden(c));
	assert_false(reveal_is_hidden(0xa1));
	assert_false(reveal_is_hidden(0x1f600));
	assert_false(reveal_is_hidden(0x2010));
	assert_false(reveal_is_hidden(0x3000));
}

UNIT_TEST(an_escape_differs_from_the_same_text)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_ok(&err, reveal_line("\\x1b\x1b", 5, true, &got, &err));
	assert_string_equal(got.data, "\\x1b\x1b[7m\\x1b\x1b[0m");
}

UNIT_TEST(a_message_line_reveals_hidden_characters_prose_does_not)
{
	static const char text[] = "fdp\xe2\x80\xaegpj.exe\xe2\x80\x8b";
	cleanup_buf struct buf got = BUF_INIT(4096), prose = BUF_INIT(4096);
	struct err err;

	assert_ok(&err, term_escape_line(text, strlen(text), &got, &err));
	assert_string_equal(got.data, "fdp\\u202egpj.exe\\u200b");
	assert_ok(&err, term_escape_prose(text, strlen(text), &prose, &err));
	assert_string_equal(prose.data, text);
}
