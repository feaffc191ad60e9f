/*
 * test_agent_repeat.c - the detection of a model that repeats itself.
 *
 * Runs in:  the unit suite.
 * Reads:    code and outputs of its own.
 * Never:    runs either.
 */
#include "unit.h"

#include <string.h>

#include "agent/conversation/repeat.h"
#include "base/cleanup.h"
#include "wire/agent.h"

UNIT_TEST(only_equal_code_with_equal_output_is_a_repeat)
{
	struct repeats repeats = { 0 };

	assert_true(repeat_hash("a\nb\n", 4) == repeat_hash("a  \r\n\n  \nb", 10));
	assert_true(repeat_hash("a\nb\n", 4) != repeat_hash("a\n  b\n", 6));
	assert_true(repeat_hash("ab", 2) != repeat_hash("a\nb", 3));
	assert_int_equal(repeat_note(&repeats, 1, 1, false), 1);
	assert_int_equal(repeat_note(&repeats, 1, 2, false), 1);
	assert_int_equal(repeat_note(&repeats, 1, 1, false), 2);
	assert_int_equal(repeat_note(&repeats, 2, 1, false), 1);
	assert_int_equal(repeat_note(&repeats, 1, 1, false), 3);
	/* Code without output may have changed something: only consecutive runs are repeats. */
	assert_int_equal(repeat_note(&repeats, 5, 0, true), 1);
	assert_int_equal(repeat_note(&repeats, 5, 0, true), 2);
	assert_int_equal(repeat_note(&repeats, 1, 1, false), 4);
	assert_int_equal(repeat_note(&repeats, 5, 0, true), 1);
	/* New entries replace only the oldest ones. */
	for (uint64_t i = 0; i < 3 * REPEAT_ENTRIES; i++)
		assert_int_equal(repeat_note(&repeats, 100 + i, 7, false), 1);
	assert_int_equal(repeat_note(&repeats, 1, 1, false), 1);
	assert_int_equal(repeat_note(&repeats, 100 + 3 * REPEAT_ENTRIES - 1, 7, false), 2);
}

static void add(struct buf *buf, const char *text)
{
	struct err err;

	buf_clear(buf);
	assert_ok(&err, buf_adds(buf, text, &err));
}

UNIT_TEST(only_the_second_and_third_occurrence_have_a_message)
{
	cleanup_buf struct buf now = BUF_INIT(4096), before = BUF_INIT(4096),
			       message = BUF_INIT(4096);
	struct repeat_failure failure = { AGENT_SAME_CODE | AGENT_SAME_ERROR, &now, &before };
	struct err err;

	for (enum repeat_kind kind = REPEAT_FAILURE; kind <= REPEAT_EMPTY; kind++) {
		cleanup_buf struct buf second = BUF_INIT(4096);

		buf_clear(&message);
		assert_ok(&err, repeat_tell(kind, 0, &failure, &message, &err));
		assert_ok(&err, repeat_tell(kind, 1, &failure, &message, &err));
		assert_int_equal(message.len, 0);
		assert_ok(&err, repeat_tell(kind, 2, &failure, &second, &err));
		assert_ok(&err, repeat_tell(kind, 3, &failure, &message, &err));
		assert_true(second.len > 0 && message.len > 0);
		assert_null(strstr(second.data, "change since"));
		assert_non_null(strstr(message.data, kind == REPEAT_EMPTY ? "Nothing changed"
									  : "What did not change"));
		buf_clear(&message);
		assert_ok(&err, repeat_tell(kind, 4, &failure, &message, &err));
		assert_int_equal(message.len, 0);
	}
	/* If the code changed, the message lists the lines that did not. */
	failure.same = AGENT_SAME_ERROR | AGENT_SAME_FILES;
	add(&before, "a = 1\n\nb = x['y']\nprint(b)\n");
	add(&now, "a = 2\nb = x['y']  \nprint( b )\n");
	buf_clear(&message);
	assert_ok(&err, repeat_tell(REPEAT_FAILURE, 3, &failure, &message, &err));
	assert_string_equal(message.data,
			    "\nWhat did not change since this failed before: the error, the files. "
			    "If it fails so once more, this question ends."
			    "\nThese lines are as they were:\n  b = x['y']");
}

UNIT_TEST(the_line_with_the_error_is_found)
{
	static const char *const cases[][2] = {
		{ "hello\nKeyError: 'b'\n<cell 1>, line 3\n", "KeyError: 'b'" },
		{ "json.decoder.JSONDecodeError: Expecting value\n", "json.decoder.JSONDecodeError: "
								     "Expecting value" },
		{ "KeyboardInterrupt", "KeyboardInterrupt" },
		{ "the KeyError is here\n", "" },
		{ "Error handling is hard", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *line;
		const size_t len = repeat_error_line(cases[i][0], strlen(cases[i][0]), &line);

		assert_int_equal(len, strlen(cases[i][1]));
		assert_memory_equal(line, cases[i][1], len);
	}
}
