/*
 * test_base_text.c - helpers for text, with their edge cases.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    needs a file.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

UNIT_TEST(a_hex_digit_has_a_value)
{
	assert_int_equal(text_hex_digit('0'), 0);
	assert_int_equal(text_hex_digit('9'), 9);
	assert_int_equal(text_hex_digit('a'), 10);
	assert_int_equal(text_hex_digit('f'), 15);
	assert_int_equal(text_hex_digit('A'), -1);
	assert_int_equal(text_hex_digit('g'), -1);
	assert_int_equal(text_hex_digit('\0'), -1);
}

UNIT_TEST(a_run_of_one_character_ends_with_the_text)
{
	assert_int_equal(text_run("``x", 3, '`'), 2);
	assert_int_equal(text_run("```", 2, '`'), 2);
	assert_int_equal(text_run("x", 1, '`'), 0);
	assert_int_equal(text_run("", 0, '`'), 0);
}

UNIT_TEST(a_suffix_needs_text_before_it)
{
	assert_true(text_ends_with("a.md", ".md"));
	assert_false(text_ends_with(".md", ".md"));
	assert_false(text_ends_with("md", ".md"));
	assert_false(text_ends_with("a.mdx", ".md"));
}

UNIT_TEST(control_characters_are_detected)
{
	assert_true(text_is_plain(""));
	assert_true(text_is_plain("Gr\xc3\xbc\xc3\x9f ~"));
	assert_false(text_is_plain("a\nb"));
	assert_false(text_is_plain("\x1b[0m"));
	assert_false(text_is_plain("a\x7f"));
}

UNIT_TEST(base_names_parents_and_dots_of_paths_are_recognized)
{
	assert_string_equal(text_base_name("a/b/c"), "c");
	assert_string_equal(text_base_name("c"), "c");
	assert_string_equal(text_base_name("a/"), "");
	assert_true(text_is_within("/mnt/data", "/mnt/data"));
	assert_true(text_is_within("/mnt/data/a", "/mnt/data"));
	assert_false(text_is_within("/mnt/database", "/mnt/data"));
	assert_false(text_is_within("/mnt", "/mnt/data"));
	assert_true(text_is_dots("."));
	assert_true(text_is_dots(".."));
	assert_false(text_is_dots("..."));
	assert_false(text_is_dots(""));
}

UNIT_TEST(text_compare_sorts_an_array)
{
	const char *words[] = { "b", "c", "a" };

	qsort(words, 3, sizeof(*words), text_compare);
	assert_string_equal(words[0], "a");
	assert_string_equal(words[1], "b");
	assert_string_equal(words[2], "c");
}

UNIT_TEST(a_text_is_quoted_as_one_word_for_a_shell)
{
	cleanup_buf struct buf quoted = BUF_INIT(64), small = BUF_INIT(4);
	struct err err;

	assert_int_equal(text_quote_for_shell("", &quoted, &err), 0);
	assert_string_equal(buf_text(&quoted), "''");
	buf_clear(&quoted);
	assert_int_equal(text_quote_for_shell("it's $HOME", &quoted, &err), 0);
	assert_string_equal(buf_text(&quoted), "'it'\\''s $HOME'");
	assert_int_equal(text_quote_for_shell("abc", &small, &err), ERR_LIMIT);
}

UNIT_TEST(a_header_has_a_name_and_a_value_that_fits)
{
	static const char line[] = "Retry-After: \t 12 \r\n", nul[] = "A: b\0c";
	char value[3];

	assert_true(text_header_value(line, sizeof(line) - 1, "retry-after", value, sizeof(value)));
	assert_string_equal(value, "12");
	assert_false(text_header_value(line, sizeof(line) - 1, "retry-after", value, 2));
	assert_false(text_header_value(line, sizeof(line) - 1, "retry", value, sizeof(value)));
	assert_false(text_header_value("Retry", 5, "retry", value, sizeof(value)));
	assert_false(text_header_value(nul, sizeof(nul) - 1, "a", value, sizeof(value)));
}
