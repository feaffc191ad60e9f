/*
 * test_lib_repeat_detector.c - whether an execution repeats an earlier failure.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    needs a session.
 */
#include "unit.h"

#include <string.h>

#include "lib/record/repeat_detector.h"

/* A syntax of the table; "javascript" has features that no language of the table has. */
static const struct language_syntax *syntax(const char *name)
{
	static const struct language_syntax javascript = { .comment = "//",
							   .has_block_comments = true,
							   .ignores_operator_space = true };

	return strcmp(name, "javascript") == 0 ? &javascript : &language_find(name)->syntax;
}

static uint64_t code(const char *language, const char *text)
{
	return repeat_detector_code_fingerprint(syntax(language), text, strlen(text));
}

UNIT_TEST(code_fingerprints_ignore_spaces_comments_and_quotes)
{
	static const struct {
		const char *language, *one, *other;
		bool is_same;
	} cases[] = {
		{ "python", "x = 1", "x=1  # one\n\n", true },
		{ "python", "print('a')", "print( \"a\" )", true },
		{ "python", "# first\nf(x)\n", "f (x)\n# last", true },
		{ "python", "if x:\n\tf()", "if x:\n        f()", true },
		{ "python", "s = '#1'", "s = '#2'", false },
		{ "python", "if x:\n    f()\n    g()", "if x:\n    f()\ng()", false },
		{ "python", "print('a b')", "print('a  b')", false },
		{ "python", "x = = 1", "x == 1", false },
		{ "python", "print('it\\'s')", "print(\"it\\'s\")", false },
		{ "python", "returnx", "return x", false },
		{ "python", "s = '''a\n# b'''", "s = '''a\n'''", false },
		{ "bash", "x = 1", "x=1", false },
		{ "bash", "ls   -l # all", "ls -l", true },
		{ "bash", "echo $#", "echo $", false },
		{ "bash", "echo 'a'", "echo \"a\"", false },
		{ "javascript", "f(1) // one", "f(1) /* two */", true },
		{ "python", "a // b", "a // c", false },
		{ "python", "", " # nothing\n", true },
		{ "python", "s = 'open", "s = 'open ", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if ((code(cases[i].language, cases[i].one) ==
		     code(cases[i].language, cases[i].other)) != cases[i].is_same)
			fail_msg("case %zu: %s | %s", i, cases[i].one, cases[i].other);
}

UNIT_TEST(error_fingerprints_ignore_numbers_and_temporary_names)
{
	static const struct {
		const char *one, *other;
		bool is_same;
	} cases[] = {
		{ "index 5 is out of bounds", "index 17 is out of bounds", true },
		{ "<Frame at 0x7f3a>", "<Frame at 0x55deadbeef>", true },
		{ "no file '/tmp/tmpab12/x.csv'", "no file '/tmp/tmpzz/x.csv'", true },
		{ "at 12:00:01.5", "at 13:59:59", true },
		{ "job 9f86d081-4b1c failed", "job 00aa1122-ffee failed", true },
		{ "3.14", "2", true },
		{ "'salse'", "'sales'", false },
		{ "no file '/data/x.csv'", "no file '/data/y.csv'", false },
		{ "feedback1", "feedback2", true },
		{ "abcdef12", "defaced", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if ((repeat_detector_error_fingerprint(syntax("python"), "E", cases[i].one, "f()", 1) ==
		     repeat_detector_error_fingerprint(syntax("python"), "E", cases[i].other, "f()", 2)) != cases[i].is_same)
			fail_msg("case %zu: %s | %s", i, cases[i].one, cases[i].other);
	assert_int_equal(repeat_detector_error_fingerprint(syntax("python"), "E", "v", " f(x) # one", 1),
			 repeat_detector_error_fingerprint(syntax("python"), "E", "v", "\tf( x )", 1));
	assert_int_not_equal(repeat_detector_error_fingerprint(syntax("python"), "E", "v", "f()", 1),
			     repeat_detector_error_fingerprint(syntax("python"), "E", "v", "g()", 1));
	/* Without a source line the fingerprint depends on the code. */
	assert_int_not_equal(repeat_detector_error_fingerprint(syntax("python"), "E", "v", "", 1),
			     repeat_detector_error_fingerprint(syntax("python"), "E", "v", "", 2));
}

static void fails(struct repeat_detector *detector, uint64_t sequence, uint64_t code_number,
		  uint64_t error, uint64_t files, struct repeat_detector_repeat *ret)
{
	const struct repeat_detector_failure failure = { .sequence = sequence, .code = code_number,
					       .error = error, .files_before = files,
					       .files_after = files };

	repeat_detector_note_failure(detector, &failure, ret);
}

UNIT_TEST(failures_are_counted)
{
	struct repeat_detector detector = { 0 };
	struct repeat_detector_repeat repeat;
	char line[REPEAT_LINE_SIZE];

	fails(&detector, 1, 10, 20, 0, &repeat);
	assert_int_equal(repeat.count, 0);
	fails(&detector, 2, 10, 20, 0, &repeat);
	assert_int_equal(repeat.count, 2);
	fails(&detector, 5, 10, 20, 0, &repeat);
	repeat_detector_describe(&repeat, line);
	assert_string_equal(line, "seen 3 times in this session (executions 1, 2, 5): same error, "
				  "code unchanged; files unchanged since");
	fails(&detector, 6, 11, 20, 1, &repeat);
	repeat_detector_describe(&repeat, line);
	assert_string_equal(line, "seen 4 times in this session (executions 1, 2, 5, 6): same error, "
				  "code changed; files changed since");
	fails(&detector, 7, 11, 21, 1, &repeat);
	repeat_detector_describe(&repeat, line);
	assert_string_equal(line, "seen 2 times in this session (executions 6, 7): another error, "
				  "code unchanged; files unchanged since");
	fails(&detector, 8, 12, 22, 1, &repeat);
	assert_int_equal(repeat.count, 0);
	for (uint64_t i = 9; i < 40; i++)
		fails(&detector, i, 10, 20, 1, &repeat);
	repeat_detector_describe(&repeat, line);
	assert_string_equal(line, "seen 34 times in this session (executions 1, …, 33, 34, 35, 36, 37, "
				  "38, 39): same error, code unchanged; files unchanged since");
}

UNIT_TEST(the_oldest_failures_are_forgotten)
{
	struct repeat_detector detector = { 0 };
	struct repeat_detector_repeat repeat;

	for (uint64_t i = 1; i <= REPEAT_FAILURES_MAX; i++)
		fails(&detector, i, i, i, 0, &repeat);
	fails(&detector, 100, 1, 1, 0, &repeat);
	assert_int_equal(repeat.count, 2);
	fails(&detector, 101, 1000, 1000, 0, &repeat);
	assert_int_equal(repeat.count, 0);
	fails(&detector, 102, 1, 1, 0, &repeat);
	assert_int_equal(repeat.count, 3);
	fails(&detector, 103, 2, 2, 0, &repeat);
	assert_int_equal(repeat.count, 0);
}

UNIT_TEST(consecutive_successes_are_counted)
{
	struct repeat_detector detector = { 0 };
	struct repeat_detector_repeat repeat;

	assert_int_equal(repeat_detector_note_success(&detector, 0, 0), 1);
	assert_int_equal(repeat_detector_note_success(&detector, 0, 0), 2);
	assert_int_equal(repeat_detector_note_success(&detector, 0, 1), 1);
	assert_int_equal(repeat_detector_note_success(&detector, 0, 1), 2);
	fails(&detector, 5, 0, 0, 0, &repeat);
	assert_int_equal(repeat_detector_note_success(&detector, 0, 1), 1);
}
