/*
 * test_agent_commands.c - calls of the shell tool in the formats that models write.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    runs a command.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/conversation/commands.h"
#include "base/cleanup.h"

/* Returns the number of commands, or a negative error code if the call is invalid. */
static int read_call(const char *json, struct commands *ret)
{
	struct json_value *arguments = NULL;
	struct err err;
	int rc;

	*ret = (struct commands){ 0 };
	assert_int_equal(json_read_parse(json, strlen(json), 1 << 20, &arguments, &err), 0);
	rc = commands_read(arguments, ret, &err);
	json_read_free(arguments);
	return rc < 0 ? rc : (int)ret->count;
}

UNIT_TEST(a_call_is_parsed_into_commands_and_limits)
{
	static const struct {
		const char *json;
		int count;
	} calls[] = {
		{ "{\"commands\":[\"ls\",\"pwd\"]}", 2 }, { "{\"command\":\"ls\"}", 1 },
		{ "{\"cmd\":[\"ls\"]}", 1 },		    { "{\"code\":\"ls\"}", 1 },
		{ "{\"action\":{\"commands\":[\"a\"]}}", 1 }, { "{}", ERR_INVALID },
		{ "{\"commands\":[]}", ERR_INVALID },	    { "{\"commands\":[1]}", ERR_INVALID },
		{ "{\"commands\":[\"\"]}", ERR_INVALID },   { "{\"commands\":{}}", ERR_INVALID },
		{ "[]", ERR_INVALID },			    { "{\"commands\":null}", ERR_INVALID },
	};
	struct commands commands;

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		assert_int_equal(read_call(calls[i].json, &commands), calls[i].count);
		commands_done(&commands);
	}
	assert_int_equal(read_call("{\"commands\":[\"ls\"],\"timeout_ms\":5,"
				   "\"max_output_length\":-1}", &commands), 1);
	assert_int_equal(commands.timeout_ms, 5);
	assert_int_equal(commands.output_max, 0);
	commands_done(&commands);
	for (size_t over = 0; over < 2; over++) {
		char json[80];

		(void)snprintf(json, sizeof(json), "{\"command\":\"ls\",\"max_output_length\":%zu}",
			       ((size_t)1 << 20) - 1 + over * 2);
		assert_int_equal(read_call(json, &commands), 1);
		assert_int_equal(commands.output_max, (1 << 20) - 1 + over);
		commands_done(&commands);
	}
	assert_int_equal(read_call("{\"command\":\"ls\",\"timeout_ms\":9000000000000000000,"
				   "\"max_output_length\":9000000000000000000}", &commands), 1);
	assert_int_equal(commands.timeout_ms, 24 * 3600 * 1000);
	assert_int_equal(commands.output_max, 1 << 20);
	commands_done(&commands);
}

UNIT_TEST(the_number_of_commands_in_a_call_is_limited)
{
	cleanup_buf struct buf json = BUF_INIT(1 << 20);
	struct commands commands;
	struct err err;

	for (unsigned count = AGENT_COMMANDS_MAX; count <= AGENT_COMMANDS_MAX + 1; count++) {
		buf_clear(&json);
		assert_int_equal(buf_adds(&json, "{\"commands\":[\"a\"", &err), 0);
		for (unsigned i = 1; i < count; i++)
			assert_int_equal(buf_adds(&json, ",\"a\"", &err), 0);
		assert_int_equal(buf_adds(&json, "]}", &err), 0);
		assert_int_equal(read_call(buf_text(&json), &commands),
				 count == AGENT_COMMANDS_MAX ? (int)count : ERR_INVALID);
		commands_done(&commands);
	}
}

UNIT_TEST(only_the_first_command_describes_the_whole_call)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct commands commands;
	struct err err;

	assert_int_equal(read_call("{\"commands\":[\"a \\\"b\\\"\",\"c\\nd\"],\"timeout_ms\":7}",
				   &commands), 2);
	assert_int_equal(commands_join(&commands, &text, &err), 0);
	assert_string_equal(buf_text(&text), "a \"b\"\nc\nd\n");
	buf_clear(&text);
	assert_int_equal(commands_describe(&commands, 0, &text, &err), 0);
	assert_string_equal(buf_text(&text),
			    "{\"index\":0,\"count\":2,\"commands\":[\"a \\\"b\\\"\",\"c\\nd\"],"
			    "\"timeout_ms\":7,\"max_output_length\":null}");
	buf_clear(&text);
	assert_int_equal(commands_describe(&commands, 1, &text, &err), 0);
	assert_string_equal(buf_text(&text), "{\"index\":1,\"count\":2}");
	commands_done(&commands);
}
