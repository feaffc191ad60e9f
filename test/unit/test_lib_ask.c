/*
 * test_lib_ask.c - variables, completion, inspection, completeness of cells.
 *
 * Runs in:  the unit suite, against a fake warden and kernel.
 * Reads:    JSON answers.
 * Never:    needs a box.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/session/session.h"
#include "support/lib_fixture.h"

static const struct fake_config plain;

static struct json_value *parse(char *json)
{
	struct json_value *value;
	struct err err;

	assert_ok(&err, json_read_parse(json, strlen(json), strlen(json), &value, &err));
	free(json);
	return value;
}

UNIT_TEST(test_variables)
{
	struct fixture fixture;
	struct json_value *all;
	const struct json_value *df;
	int64_t size = 0;
	reckon_error err;
	char *json;

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(reckon_variables(fixture.session, &json, &err), 0);
	all = parse(json);
	assert_int_equal(json_read_count(all), 2);
	df = json_read_at(all, 0);
	assert_string_equal(json_read_text(json_read_member(df, "name"), NULL), "df");
	assert_string_equal(json_read_text(json_read_member(df, "preview"), NULL), "a \"b\"");
	assert_true(json_read_int(json_read_member(df, "size"), &size));
	assert_int_equal(size, 48);
	/* "1e9" is not decimal digits, so the size is null: a kernel cannot break the JSON. */
	assert_int_equal(json_read_kind(json_read_member(json_read_at(all, 1), "size")),
			 JSON_KIND_NULL);
	json_read_free(all);
	fixture_close(&fixture);
}

UNIT_TEST(test_complete)
{
	struct fixture fixture;
	struct json_value *answer;
	reckon_error err;
	char *json;

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(reckon_complete(fixture.session, "pr", 2, 2, &json, &err), 0);
	answer = parse(json);
	assert_int_equal(json_read_count(json_read_member(answer, "matches")), 2);
	json_read_free(answer);
	assert_int_equal(reckon_complete(fixture.session, "pr", 2, 3, &json, &err),
			 RECKON_EINVALID);
	fixture_close(&fixture);
}

/* Callers cut their code at these offsets, so offsets outside of it become the cursor. */
UNIT_TEST(test_offsets_lie_within_the_code)
{
	struct fixture fixture;
	struct json_value *answer;
	int64_t start = -1, end = -1;
	reckon_error err;
	char *json;

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(reckon_complete(fixture.session, "beyond", 6, 4, &json, &err), 0);
	answer = parse(json);
	assert_true(json_read_int(json_read_member(answer, "cursor_start"), &start));
	assert_true(json_read_int(json_read_member(answer, "cursor_end"), &end));
	assert_int_equal(start, 4);
	assert_int_equal(end, 4);
	json_read_free(answer);
	fixture_close(&fixture);
}

UNIT_TEST(test_inspect)
{
	struct fixture fixture;
	struct json_value *answer;
	bool found = false;
	reckon_error err;
	char *json;

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(reckon_inspect(fixture.session, "pr", 2, 2, 1, &json, &err), 0);
	answer = parse(json);
	assert_true(json_read_bool(json_read_member(answer, "found"), &found) && found);
	assert_int_equal(json_read_count(json_read_member(answer, "data")), 1);
	assert_string_equal(json_read_text(json_read_member(json_read_member(answer, "data"),
							    "text/plain"), NULL),
			    "what \xef\xbf\xbd it is");
	json_read_free(answer);
	assert_int_equal(reckon_inspect(fixture.session, "nothing", 7, 0, 0, &json, &err), 0);
	answer = parse(json);
	assert_true(json_read_bool(json_read_member(answer, "found"), &found) && !found);
	assert_int_equal(json_read_count(json_read_member(answer, "data")), 0);
	json_read_free(answer);
	assert_int_equal(reckon_inspect(fixture.session, "pr", 2, 3, 0, &json, &err),
			 RECKON_EINVALID);
	assert_int_equal(reckon_inspect(fixture.session, "pr", 2, 2, 7, &json, &err),
			 RECKON_EINVALID);
	fixture_close(&fixture);
}

/* The fake kernel would answer, but libreckon requests only what the language's row lists. */
UNIT_TEST(test_what_a_language_lacks_is_not_requested)
{
	const struct language *lacking = NULL;
	struct language without = *language_default();
	struct fixture fixture;
	struct json_value *answer;
	bool found = true;
	reckon_error err;
	char *json;

	for (size_t i = 0; language_at(i) != NULL; i++)
		if ((language_at(i)->features & LANGUAGE_INSPECTS) == 0)
			lacking = language_at(i);
	assert_non_null(lacking);
	fixture_open(&fixture, &plain, &(reckon_session_options){
		.size = sizeof(reckon_session_options), .language = lacking->name });
	assert_int_equal(reckon_inspect(fixture.session, "pr", 2, 2, 0, &json, &err), 0);
	answer = parse(json);
	assert_true(json_read_bool(json_read_member(answer, "found"), &found) && !found);
	json_read_free(answer);
	without.features = 0;
	fixture.session->language = &without;
	assert_int_equal(reckon_variables(fixture.session, &json, &err), 0);
	assert_string_equal(json, "[]");
	free(json);
	assert_int_equal(reckon_complete(fixture.session, "pr", 2, 2, &json, &err), 0);
	assert_string_equal(json, "{\"cursor_start\":2,\"cursor_end\":2,\"matches\":[]}");
	free(json);
	assert_int_equal(reckon_is_complete(fixture.session, "complete", 8, &json, &err), 0);
	assert_string_equal(json, "{\"status\":\"unknown\",\"indent\":\"\"}");
	free(json);
	fixture_close(&fixture);
}

static void assert_whole(reckon_session *session, const char *code, const char *status)
{
	struct json_value *answer;
	reckon_error err;
	char *json;

	assert_int_equal(reckon_is_complete(session, code, strlen(code), &json, &err), 0);
	answer = parse(json);
	assert_string_equal(json_read_text(json_read_member(answer, "status"), NULL), status);
	assert_string_equal(json_read_text(json_read_member(answer, "indent"), NULL), "  \t");
	json_read_free(answer);
}

/* The fake kernel answers with the code itself: any other status becomes "unknown". */
UNIT_TEST(test_is_complete)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	assert_whole(fixture.session, "complete", "complete");
	assert_whole(fixture.session, "incomplete", "incomplete");
	assert_whole(fixture.session, "invalid", "invalid");
	assert_whole(fixture.session, "\x1b[2J", "unknown");
	fixture_close(&fixture);
}

UNIT_TEST(test_no_answer_loses_the_kernel)
{
	struct fixture fixture;
	reckon_error err;
	char *json;

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(reckon_complete(fixture.session, "hang", 4, 4, &json, &err),
			 RECKON_EKERNEL_LOST);
	fixture_assert_kernel_lost(&fixture, "no answer");
	fixture_close(&fixture);
}
