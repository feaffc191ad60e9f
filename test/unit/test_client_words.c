/*
 * test_client_words.c - a daemon's remedies in the terms of the command line.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    opens a connection.
 */
#include "unit.h"

#include <string.h>

#include "client/inner.h"

UNIT_TEST(remedies_name_commands)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "resume it: POST /reckon/v1/sessions/ID/resume",
		  "resume it: reckon session resume SESSION" },
		{ "POST /reckon/v1/sessions/se_1/resume, and ask again",
		  "reckon session resume SESSION, and ask again" },
		{ "do without: POST /reckon/v1/sessions/ID/restore with `intact`",
		  "do without: reckon session restore SESSION --intact" },
		{ "try POST /reckon/v1/sessions/ID/restore with care.",
		  "try reckon session restore SESSION with care." },
		{ "(GET /reckon/v1/sessions).", "(reckon session ls)." },
		{ "GET /reckon/v1/keys, POST /reckon/v1/keys", "reckon key ls, reckon key create" },
		{ "send the header Authorization: Bearer rk_...",
		  "set RECKON_API_KEY, or give --key" },
		{ "larger limits.disk_bytes", "larger --disk" },
		{ "set `idle_timeout_s`", "set --idle" },
		{ "", "" },
		{ "ask again later", "ask again later" },
		{ "GETTING idle_timeout_so", "GETTING idle_timeout_so" },
		{ "GET it, or POST it", "GET it, or POST it" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[WORDS_SIZE];

		words_remedy(cases[i].text, words, sizeof(words));
		assert_string_equal(words, cases[i].words);
	}
}

UNIT_TEST(a_remedy_without_a_matching_command_is_dropped)
{
	static const char *const texts[] = {
		"list them: GET /reckon/v1/sessions/ID/contexts",
		"POST /reckon/v1/nothing/of/this",
		"DELETE /reckon/v1/sessions/ID/restore",
		"GET /reckon/v1/",
		"GET /reckon/v1/sessions/",
		"GET /reckon/v1/sessions//restore",
		"GET /elsewhere",
		"PUT .../files/PATH",
		"see /reckon/v1/ready",
		"send it over HTTP/1.1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char words[WORDS_SIZE] = "old";

		words_remedy(texts[i], words, sizeof(words));
		assert_string_equal(words, "");
	}
}

UNIT_TEST(messages_name_options_and_are_not_dropped)
{
	char words[WORDS_SIZE], small[8];

	words_message("limits.memory_bytes: 99 TiB is more than there is", words, sizeof(words));
	assert_string_equal(words, "--memory: 99 TiB is more than there is");
	words_message("no: GET /elsewhere", words, sizeof(words));
	assert_string_equal(words, "no: GET /elsewhere");
	words_message("0123456789", small, sizeof(small));
	assert_string_equal(small, "0123456");
}
