/*
 * test_httpd_access_log.c - which values of traceparent are valid.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own.
 * Never:    needs a connection.
 */
#include "unit.h"

#include <string.h>

#include "httpd/server.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define ZEROS "00000000000000000000000000000000"

UNIT_TEST(only_a_valid_traceparent_is_accepted)
{
	static const struct {
		const char *text;
		bool is_good, is_sampled;
	} cases[] = {
		{ "00-" TRACE "-" SPAN "-01", true, true },
		{ "00-" TRACE "-" SPAN "-00", true, false },
		{ "00-" TRACE "-" SPAN "-03", true, true },
		{ "00-" TRACE "-" SPAN "-fe", true, false },
		{ "cc-" TRACE "-" SPAN "-01", true, true },
		{ "cc-" TRACE "-" SPAN "-01-what-the-future-brings", true, true },
		{ "cc-" TRACE "-" SPAN "-01.x", false, false },
		{ "00-" TRACE "-" SPAN "-01-", false, false },
		{ "00-" TRACE "-" SPAN "-0", false, false },
		{ "00-" TRACE "-" SPAN "-0g", false, false },
		{ "ff-" TRACE "-" SPAN "-01", false, false },
		{ "0-" TRACE "-" SPAN "-010", false, false },
		{ "00-" ZEROS "-" SPAN "-01", false, false },
		{ "00-" TRACE "-0000000000000000-01", false, false },
		{ "00-4BF92F3577b34da6a3ce929d0e0e4736-" SPAN "-01", false, false },
		{ "00-" TRACE SPAN "--01", false, false },
		{ "00 " TRACE " " SPAN " 01", false, false },
		{ "", false, false },
		{ "00-", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct access entry = { 0 };
		const bool found = access_parse_trace(cases[i].text, &entry);

		if (found != cases[i].is_good)
			fail_msg("%s: %d", cases[i].text, found);
		if (!found)
			continue;
		assert_string_equal(entry.about.trace, TRACE);
		assert_int_equal(entry.is_sampled, cases[i].is_sampled);
	}
}
