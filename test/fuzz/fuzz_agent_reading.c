/*
 * fuzz_agent_reading.c - a model's request to read an output is valid or refused.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes, as a cell and as the tool's arguments.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conversation/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* wire/agent.h must accept the frame that goes to the parent process. */
static void expect_sendable(const struct reading *reading)
{
	const struct kernel_item items[] = {
		{ AGENT_TAG_HANDLE, (uint32_t)strlen(reading->handle), reading->handle },
		{ AGENT_TAG_PART, sizeof(reading->part), (const char *)&reading->part },
		{ AGENT_TAG_TEXT, (uint32_t)strlen(reading->needle), reading->needle },
	};
	struct err err;

	if (agent_check(AGENT_PAGE, items, reading->needle[0] != '\0' ? 3 : 2, &err) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct json_value *arguments = NULL;
	struct reading reading;
	struct err err;

	if (reading_is(text, size) && reading_of_words(text, size, &reading, &err) == 0)
		expect_sendable(&reading);
	if (json_read_parse(text, size, 1u << 20, &arguments, &err) < 0)
		return 0;
	if (reading_of_arguments(arguments, &reading, &err) == 0)
		expect_sendable(&reading);
	json_read_free(arguments);
	return 0;
}
