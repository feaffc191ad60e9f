/*
 * test_base_ini_text.c - lines that are passed to inih, and problems of lines that are not.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    calls inih: the tests of its callers cover how it parses a line.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/ini_text.h"

#define TEXT(bytes) bytes, sizeof(bytes) - 1

static struct ini_problems problems;

static struct ini_text text_of(const char *bytes, size_t len)
{
	memset(&problems, 0, sizeof(problems));
	return (struct ini_text){ .at = bytes, .end = bytes + len, .problems = &problems };
}

static void next_is(struct ini_text *text, const char *line)
{
	char got[32];

	assert_ptr_equal(ini_text_next(got, sizeof(got), text), got);
	assert_string_equal(got, line);
}

static void problem_is(unsigned index, unsigned line, const char *why)
{
	assert_true(index < problems.count);
	assert_int_equal(problems.list[index].line, line);
	assert_string_equal(problems.list[index].text, why);
}

UNIT_TEST(valid_lines_are_passed_on)
{
	struct ini_text text = text_of(TEXT("[a]\r\n\nkey = 1\nlast = 2"));
	char got[32];

	next_is(&text, "[a]\r\n");
	next_is(&text, "\n");
	next_is(&text, "key = 1\n");
	assert_int_equal(text.line, 3);
	next_is(&text, "last = 2\n");
	assert_null(ini_text_next(got, sizeof(got), &text));
	assert_null(ini_text_next(got, sizeof(got), &text));
	assert_int_equal(problems.count, 0);
}

UNIT_TEST(an_empty_text_has_no_lines)
{
	struct ini_text text = text_of(NULL, 0);
	char got[32];

	assert_null(ini_text_next(got, sizeof(got), &text));
	assert_int_equal(text.line, 0);
}

UNIT_TEST(lines_that_inih_would_misread_are_problems)
{
	struct ini_text text = text_of(TEXT("a = 1\0 2\n"
					    "longer than the room that inih has = 1\n"
					    "  b = 2\n"
					    "\tc = 3\n"
					    " \t\r\n"
					    "d = 4\n"));

	for (unsigned i = 0; i < 5; i++)
		next_is(&text, "\n");
	next_is(&text, "d = 4\n");
	assert_int_equal(problems.count, 4);
	problem_is(0, 1, "the line has a NUL byte");
	problem_is(1, 2, "the line is too long");
	problem_is(2, 3, "the line begins with a space");
	problem_is(3, 4, "the line begins with a space");
}

/* A line that fills inih's buffer with its newline and NUL fits; one byte more does not. */
UNIT_TEST(the_longest_line_fits)
{
	static const char bytes[] = "123456\n1234567\n";
	struct ini_text text = text_of(TEXT(bytes));
	char got[8];

	assert_non_null(ini_text_next(got, sizeof(got), &text));
	assert_string_equal(got, "123456\n");
	assert_int_equal(problems.count, 0);
	assert_non_null(ini_text_next(got, sizeof(got), &text));
	assert_string_equal(got, "\n");
	problem_is(0, 2, "the line is too long");
}

static void note_section(void *arg, const char *line, size_t len)
{
	(void)snprintf(arg, 64, "%.*s", (int)len, line);
}

UNIT_TEST(a_caller_may_handle_sections_itself)
{
	char section[64] = "";
	struct ini_text text = text_of(TEXT("[a section whose name is longer than 32]\nb = 1\n"));

	text.on_section = note_section;
	text.arg = section;
	next_is(&text, "\n");
	assert_string_equal(section, "[a section whose name is longer than 32]");
	next_is(&text, "b = 1\n");
	assert_int_equal(problems.count, 0);
}

UNIT_TEST(a_second_problem_of_a_line_is_not_added)
{
	struct ini_text text = text_of(TEXT(""));

	ini_text_complain(&text, 3, "first");
	ini_text_complain(&text, 3, "second");
	ini_text_complain(&text, 4, "third");
	ini_text_complain(&text, 0, "of the whole");
	ini_text_complain(&text, 0, "of the whole, too");
	assert_int_equal(problems.count, 4);
	problem_is(1, 4, "third");
	problem_is(3, 0, "of the whole, too");
}

UNIT_TEST(problems_beyond_the_limit_are_counted)
{
	struct ini_text text = text_of(TEXT(""));

	for (unsigned i = 1; i <= INI_PROBLEMS_MAX + 5; i++)
		ini_text_complain(&text, i, "wrong");
	assert_int_equal(problems.count, INI_PROBLEMS_MAX + 5);
	problem_is(INI_PROBLEMS_MAX - 1, INI_PROBLEMS_MAX, "wrong");
}

UNIT_TEST(the_end_names_the_first_problem)
{
	struct ini_text text = text_of(TEXT(""));
	struct err err;

	assert_int_equal(ini_text_end(&text, 0, &err), 0);
	assert_int_equal(ini_text_end(&text, 7, &err), ERR_INVALID);
	assert_string_equal(err.text, "line 7: this is neither [section] nor key = value");
	ini_text_complain(&text, 9, "wrong");
	/* Line 7 has its problem already: a second one is not added. */
	assert_int_equal(ini_text_end(&text, 7, &err), ERR_INVALID);
	assert_int_equal(problems.count, 2);
	assert_string_equal(err.text, "line 7: this is neither [section] nor key = value");
}

UNIT_TEST(a_problem_without_a_line_is_reported)
{
	struct ini_text text = text_of(TEXT(""));
	struct err err;

	assert_int_equal(ini_text_end(&text, -2, &err), ERR_INVALID);
	problem_is(0, 0, "this is neither [section] nor key = value");
}
