/*
 * test_agent_provider.c - settled turns, classified errors and headers of requests.
 *
 * Runs in:  the unit suite.
 * Reads:    JSON of its own.
 * Never:    opens a connection.
 */
#include "unit.h"

#include <string.h>

#include "agent/formats/provider.h"

UNIT_TEST(arguments_become_json_objects)
{
	static const char *const cases[][2] = {
		{ "{\"code\": \"x\"}", "{\"code\":\"x\"}" },
		{ "", "{}" },
		{ "print(1)", "{\"code\":\"print(1)\"}" },
		{ "{\"code\": \"x", "{\"code\":\"{\\\"code\\\": \\\"x\"}" },
		{ "[1]", "{\"code\":\"[1]\"}" },
		{ "{\"a\":1,\"a\":2}", "{\"code\":\"{\\\"a\\\":1,\\\"a\\\":2}\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model_turn turn;
		struct err err;

		model_turn_init(&turn, MODEL_ROLE_MODEL);
		model_call_add(model_turn_call(&turn, 5), cases[i][0], strlen(cases[i][0]));
		assert_ok(&err, model_turn_settle(&turn, "code", 3, &err));
		assert_string_equal(buf_text(&turn.calls[0].args), cases[i][1]);
		assert_string_equal(turn.calls[0].id, "call_3_0");
		model_turn_done(&turn);
	}
}

UNIT_TEST(oversized_arguments_and_excess_calls_are_dropped)
{
	static char piece[65536];
	struct model_turn turn;
	struct err err;

	model_turn_init(&turn, MODEL_ROLE_MODEL);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < 32; i++)
		model_call_add(model_turn_call(&turn, 0), piece, sizeof(piece));
	for (int64_t i = 1; i < MODEL_CALLS_MAX; i++)
		assert_non_null(model_turn_call(&turn, i));
	assert_null(model_turn_call(&turn, 100));
	assert_true(turn.calls[0].too_long);
	assert_ok(&err, model_turn_settle(&turn, "code", 1, &err));
	assert_string_equal(buf_text(&turn.calls[0].args), "{}");
	model_turn_done(&turn);
}

UNIT_TEST(errors_of_all_providers_are_classified)
{
	static const struct {
		unsigned status;
		const char *json;
		enum fault_kind kind;
		uint64_t retry_ms;
		const char *text;
	} cases[] = {
		{ 429, "{\"error\":{\"message\":\"m\",\"code\":\"insufficient_quota\"}}",
		  FAULT_QUOTA, 0, "m" },
		{ 429, "{\"error\":{\"message\":\"m\",\"code\":\"rate_limit_exceeded\"}}",
		  FAULT_BUSY, 0, "m" },
		{ 400, "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}",
		  FAULT_CONTEXT, 0, "m" },
		{ 529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}",
		  FAULT_BUSY, 0, "m" },
		{ 401, "{\"error\":{\"message\":\"m\"}}", FAULT_KEY, 0, "m" },
		{ 402, "{\"error\":\"no credit\"}", FAULT_QUOTA, 0, "no credit" },
		{ 429, "[{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\","
		       "\"details\":[{\"retryDelay\":\"34.4s\"}]}}]",
		  FAULT_BUSY, 34400, "m" },
		{ 429, "{\"error\":{\"details\":[{\"retryDelay\":\"86399s\"}],\"message\":\"m\"}}",
		  FAULT_BUSY, 86399000, "m" },
		{ 429, "{\"error\":{\"details\":[{\"retryDelay\":\"86400s\"}],\"message\":\"m\"}}",
		  FAULT_BUSY, 0, "m" },
		{ 0, "{\"error\":{\"code\":502,\"message\":\"m\"}}", FAULT_BUSY, 0, "m" },
		{ 0, "{\"error\":{\"message\":\"m\"}}", FAULT_REQUEST, 0, "m" },
		{ 502, "<html>bad</html>", FAULT_BUSY, 0, "<html>bad</html>" },
		{ 404, "", FAULT_REQUEST, 0, "" },
		{ 400, "{}", FAULT_REQUEST, 0, "it does not say why" },
		{ 429, "{\"error\":{\"details\":[{\"retryDelay\":\"1e99s\"}],\"message\":\"m\"}}",
		  FAULT_BUSY, 0, "m" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault;

		if (cases[i].status == 0) {
			struct json_value *json;
			struct err err;

			assert_ok(&err, json_read_parse(cases[i].json, strlen(cases[i].json), 4096,
							&json, &err));
			fault_judge(0, json, &fault);
			json_read_free(json);
		} else {
			fault_read(cases[i].status, cases[i].json, strlen(cases[i].json), &fault);
		}
		assert_int_equal(fault.kind, cases[i].kind);
		assert_int_equal(fault.retry_ms, cases[i].retry_ms);
		assert_string_equal(fault.text, cases[i].text);
	}
}

UNIT_TEST(a_key_cannot_inject_a_header)
{
	struct provider_request request;
	struct err err;

	provider_request_init(&request);
	assert_err(&err, ERR_INVALID, provider_header(&request, &err, "A: %s", "k\r\nEvil: 1"));
	assert_int_equal(request.header_count, 0);
	request.base_url = "http://h/v1//";
	assert_ok(&err, provider_url(&request, "/x", &err));
	assert_string_equal(request.url.data, "http://h/v1/x");
	provider_request_done(&request);
}

UNIT_TEST(the_text_of_a_fault_masks_the_key)
{
	struct fault fault;

	fault_set(&fault, FAULT_KEY, "sk-secret is wrong: sk-secretsk-secret (sk-sec");
	fault_hide(&fault, "sk-secret");
	assert_string_equal(fault.text, "*** is wrong: ****** (");
	fault_set(&fault, FAULT_KEY, "a**b");
	fault_hide(&fault, "**");
	assert_string_equal(fault.text, "a**b");
	fault_hide(&fault, "");
	assert_string_equal(fault.text, "a**b");
}
