/*
 * test_client_answer.c - an error response of a server becomes an error of the client.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    opens a connection.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "client/inner.h"

static int refuse(unsigned status, const char *type, const char *body, struct client *client,
		  struct err *err)
{
	struct transfer transfer = { .client = client };
	int code;

	(void)snprintf(client->name, sizeof(client->name), "http://x");
	transfer.answer.status = status;
	(void)snprintf(transfer.type, sizeof(transfer.type), "%s", type);
	transfer.refusal = BUF_INIT(64 * 1024);
	(void)buf_adds(&transfer.refusal, body, err);
	code = answer_refused(&transfer, err);
	buf_done(&transfer.refusal);
	return code;
}

UNIT_TEST(a_typed_error_keeps_code_cause_and_remedy)
{
	struct client client = { 0 };
	struct err err;

	assert_err(&err, ERR_LOST,
		   refuse(410, "application/json",
			  "{\"error\":{\"code\":\"session_lost\",\"message\":\"it is lost\","
			  "\"cause\":\"a crash\",\"remedy\":\"make another\"}}",
			  &client, &err));
	assert_string_equal(err.text, "it is lost: a crash");
	assert_string_equal(err.remedy, "make another");
	assert_string_equal(client.last.code, "session_lost");
	assert_int_equal(client.last.status, 410);
}

UNIT_TEST(statuses_become_error_codes)
{
	static const struct {
		unsigned status;
		enum err_code code;
	} cases[] = {
		{ 400, ERR_INVALID }, { 401, ERR_DENIED },  { 403, ERR_DENIED },
		{ 404, ERR_NOT_FOUND }, { 409, ERR_INVALID }, { 413, ERR_INVALID },
		{ 429, ERR_LIMIT },   { 500, ERR_SYSTEM },  { 503, ERR_UNAVAILABLE },
		{ 504, ERR_TIMEOUT }, { 507, ERR_LIMIT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct client client = { 0 };
		struct err err;

		assert_err(&err, cases[i].code,
			   refuse(cases[i].status, "application/json",
				  "{\"error\":{\"code\":\"x\",\"message\":\"m\",\"cause\":null,"
				  "\"remedy\":null}}",
				  &client, &err));
		assert_string_equal(err.text, "m");
	}
}

UNIT_TEST(a_response_of_another_server_is_reported_as_such)
{
	static const char *const bodies[] = { "<html>", "", "{}", "{\"error\":\"no\"}",
					      "{\"error\":{\"code\":\"x\"}}", "[1]" };
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct client client = { 0 };
		struct err err;

		assert_err(&err, ERR_PROTOCOL, refuse(404, "text/html", bodies[i], &client, &err));
		assert_string_equal(err.text, "http://x answered 404 with text/html, which is not an "
					      "answer of Reckon's");
		assert_string_equal(client.last.code, "");
	}
}

UNIT_TEST(a_key_in_an_error_response_is_not_shown)
{
	struct client client = { .key = "rk_secret" };
	struct err err;

	assert_err(&err, ERR_DENIED,
		   refuse(401, "application/json",
			  "{\"error\":{\"code\":\"unauthorized\",\"message\":\"rk_secret is wrong\","
			  "\"cause\":\"rk_secret\",\"remedy\":\"not rk_secretrk_secret\"}}",
			  &client, &err));
	assert_null(strstr(err.text, "rk_secret"));
	assert_null(strstr(err.remedy, "rk_secret"));
}
