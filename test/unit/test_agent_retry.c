/*
 * test_agent_retry.c - how long the agent waits before it repeats a request.
 *
 * Runs in:  the unit suite.
 * Reads:    headers of its own.
 * Never:    waits.
 */
#include "unit.h"


#include "agent/loop/retry.h"

#define NOW 1795305600 /* Sun, 22 Nov 2026 00:00:00 GMT */

UNIT_TEST(retry_after_headers_are_parsed)
{
	static const struct {
		const char *value;
		bool is_ms;
		uint64_t want;
	} cases[] = {
		{ "5", false, 5000 },
		{ "0.25", false, 250 },
		{ "1500", true, 1500 },
		{ "Sun, 22 Nov 2026 00:00:30 GMT", false, 30000 },
		{ "Sat, 21 Nov 2026 23:59:30 GMT", false, 0 },
		{ "0", false, 0 },
		{ "-3", false, 0 },
		{ "nan", false, 0 },
		{ "inf", false, 0 },
		{ "1e300", false, 0 },
		{ "soon", false, 0 },
		{ "", false, 0 },
		{ "5 s", false, 0 },
		{ "Sun, 22 Nov 2026 00:00:30 GMT", true, 0 },
		{ "Sun, 22 Nov 9999 00:00:30 GMT", false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(retry_after_read(cases[i].value, cases[i].is_ms, NOW),
				 cases[i].want);
}

UNIT_TEST(without_a_header_the_delay_doubles_up_to_a_limit)
{
	static const uint64_t full[] = { 500, 1000, 2000, 4000, 8000, 8000 };

	for (unsigned i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
		assert_int_equal(retry_delay_ms(i + 1, 0, 0), full[i]);
		assert_in_range(retry_delay_ms(i + 1, 0, 255), full[i] * 3 / 4, full[i] - 1);
	}
	assert_int_equal(retry_delay_ms(1000000, 0, 0), 8000);
}

UNIT_TEST(a_header_of_more_than_a_minute_is_too_long)
{
	assert_int_equal(retry_delay_ms(1, 60000, 255), 60000);
	assert_int_equal(retry_delay_ms(9, 1, 255), 1);
	assert_true(retry_delay_ms(1, 60001, 0) == UINT64_MAX);
}

UNIT_TEST(a_header_of_more_than_a_day_is_not_parsed)
{
	assert_int_equal(retry_after_read("86400", false, NOW), 86400000);
	assert_int_equal(retry_after_read("86401", false, NOW), 0);
	assert_int_equal(retry_after_read("86400000", true, NOW), 86400000);
	assert_int_equal(retry_after_read("86400001", true, NOW), 0);
}
