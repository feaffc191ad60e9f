/*
 * test_agent_reading.c - a model's requests to read an output: `reckon output` and tool arguments.
 *
 * Runs in:  the unit suite.
 * Reads:    command lines and arguments of its own.
 * Never:    opens an output.
 */
#include "unit.h"

#include <string.h>

#include "agent/conversation/reading.h"

UNIT_TEST(a_line_with_reckon_output_is_not_code)
{
	static const char *const are[] = {
		"reckon output out_1", " !reckon output out_1 --lines 1:2\n", "%reckon output x",
		"$ reckon output x", "reckon output", "reckon output\tx",
	};
	static const char *const are_none[] = {
		"", "reckon", "reckon outputs x", "print(1)", "reckon output x\nprint(1)",
		"# reckon output x", "print('reckon output x')", "x = reckon output",
	};

	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		assert_true(reading_is(are[i], strlen(are[i])));
	for (size_t i = 0; i < sizeof(are_none) / sizeof(are_none[0]); i++)
		assert_false(reading_is(are_none[i], strlen(are_none[i])));
	assert_false(reading_is("reckon output \0x", 16));
}

UNIT_TEST(options_of_reckon_output_are_parsed)
{
	static const struct {
		const char *words, *handle, *needle;
		enum agent_unit unit;
		uint64_t first, last;
	} cases[] = {
		{ "reckon output out_1", "out_1", "", AGENT_UNIT_LINES, 1, UINT64_MAX },
		{ "!reckon output out_1 --lines 151:2855", "out_1", "", AGENT_UNIT_LINES, 151, 2855 },
		{ "reckon output --lines=5: result_3", "result_3", "", AGENT_UNIT_LINES, 5, UINT64_MAX },
		{ "reckon output a --lines 7", "a", "", AGENT_UNIT_LINES, 7, 7 },
		{ "reckon output a --head 20", "a", "", AGENT_UNIT_HEAD, 1, 20 },
		{ "reckon output a --tail 20", "a", "", AGENT_UNIT_TAIL, 1, 20 },
		{ "reckon output a --range 16384-32767", "a", "", AGENT_UNIT_BYTES, 16384, 32767 },
		{ "reckon output a --range 0-", "a", "", AGENT_UNIT_BYTES, 0, UINT64_MAX },
		{ "reckon output a --grep 'two words' --lines 1:9", "a", "two words",
		  AGENT_UNIT_LINES, 1, 9 },
		{ "reckon output a --grep \"it's\"", "a", "it's", AGENT_UNIT_LINES, 1, UINT64_MAX },
	};
	static const char *const wrong[] = {
		"reckon output", "reckon output ../etc/passwd", "reckon output a --lines",
		"reckon output a --lines 9:1", "reckon output a --lines 0:1",
		"reckon output a --lines x", "reckon output a --head 0", "reckon output a --all",
		"reckon output a --grep ''", "reckon output a -o file", "reckon output a --lines 1:2x",
		"reckon output a --lines 99999999999999999999",
	};
	struct reading reading;
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *words = cases[i].words;

		assert_ok(&err, reading_of_words(words, strlen(words), &reading, &err));
		assert_string_equal(reading.handle, cases[i].handle);
		assert_string_equal(reading.needle, cases[i].needle);
		assert_int_equal(reading.part.unit, cases[i].unit);
		assert_true(reading.part.last == cases[i].last);
		if (cases[i].unit == AGENT_UNIT_LINES || cases[i].unit == AGENT_UNIT_BYTES)
			assert_true(reading.part.first == cases[i].first);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_err(&err, ERR_INVALID,
			   reading_of_words(wrong[i], strlen(wrong[i]), &reading, &err));
}

static int of_json(const char *json, struct reading *ret, struct err *err)
{
	struct json_value *value = NULL;
	int rc;

	assert_ok(err, json_read_parse(json, strlen(json), 4096, &value, err));
	rc = reading_of_arguments(value, ret, err);
	json_read_free(value);
	return rc;
}

UNIT_TEST(arguments_of_the_reading_tool_are_parsed)
{
	struct page_choice choice;
	struct reading reading;
	struct err err;

	assert_ok(&err, of_json("{\"handle\":\"out_1\",\"lines\":\"3:4\",\"grep\":\"x\"}", &reading,
				&err));
	reading_choice(&reading, &choice);
	assert_true(choice.has_lines && choice.first == 3 && choice.last == 4);
	assert_string_equal(choice.needle, "x");
	assert_ok(&err, of_json("{\"handle\":\"out_1\",\"lines\":\"\"}", &reading, &err));
	assert_ok(&err, of_json("{\"handle\":\"reckon output out_1 --tail 3\"}", &reading, &err));
	reading_choice(&reading, &choice);
	assert_int_equal(choice.tail, 3);
	assert_err(&err, ERR_INVALID, of_json("{}", &reading, &err));
	assert_err(&err, ERR_INVALID, of_json("{\"handle\":5}", &reading, &err));
	assert_err(&err, ERR_INVALID, of_json("{\"handle\":\"a\",\"lines\":\"b\"}", &reading, &err));
}
