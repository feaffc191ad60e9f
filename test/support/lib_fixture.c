/*
 * lib_fixture.c - an engine with a fake warden, a session, and accessors for records.
 *
 * Runs in:  unit tests of src/lib.
 * Reads:    records of the libreckon under test.
 * Never:    starts a real warden.
 */
#include "support/lib_fixture.h"

#include <string.h>
#include <unistd.h>

#include "lib/engine.h"

void fixture_open_engine(struct fixture *fixture, const struct fake_config *config)
{
	reckon_engine_options options = { .size = sizeof(options) };
	struct err err;
	int fd;

	memset(fixture, 0, sizeof(*fixture));
	fake_warden_start(&fixture->fake, config);
	fd = unit_mkdir(fixture->state);
	(void)close(fd);
	options.state_dir = fixture->state;
	assert_ok(&err, engine_open_on(&options, fixture->fake.client_fd, &fixture->engine, &err));
}

void fixture_open(struct fixture *fixture, const struct fake_config *config,
		  const reckon_session_options *options)
{
	reckon_error err;

	fixture_open_engine(fixture, config);
	if (reckon_session_open(fixture->engine, options, &fixture->session, &err) < 0)
		fail_msg("open: %s", err.message);
}

void fixture_close(struct fixture *fixture)
{
	reckon_session_close(fixture->session);
	reckon_engine_close(fixture->engine);
	fake_warden_stop(&fixture->fake);
	unit_rmdir(fixture->state);
}

struct result fixture_run(struct fixture *fixture, const char *code,
			  const reckon_execute_options *options)
{
	struct result result = { NULL, NULL };
	reckon_error error;
	const char *json;
	struct err err;

	if (reckon_execute(fixture->session, code, strlen(code), options, &result.execution,
			   &error) < 0)
		fail_msg("execute: %s", error.message);
	json = reckon_execution_record(result.execution);
	assert_null(strchr(json, '\n'));
	assert_ok(&err, json_read_parse(json, strlen(json), strlen(json), &result.record, &err));
	assert_string_equal(json_read_text(json_read_member(result.record, "status"), NULL),
			    reckon_execution_status(result.execution));
	/* A record has an error if and only if its status is not "ok". */
	assert_int_equal(json_read_kind(json_read_member(result.record, "error")) ==
				 JSON_KIND_NULL,
			 strcmp(reckon_execution_status(result.execution), "ok") == 0);
	return result;
}

void result_done(struct result *result)
{
	reckon_execution_free(result->execution);
	json_read_free(result->record);
}

const struct json_value *result_member(const struct result *result, const char *key)
{
	return json_read_member(result->record, key);
}

const char *result_status(const struct result *result)
{
	return reckon_execution_status(result->execution);
}

const char *result_text(const struct result *result, const char *key)
{
	const char *text = json_read_text(result_member(result, key), NULL);

	return text != NULL ? text : "(none)";
}

const char *result_error(const struct result *result)
{
	const char *name = json_read_text(json_read_member(result_member(result, "error"), "name"),
					  NULL);

	return name != NULL ? name : "";
}

const char *result_error_value(const struct result *result)
{
	const char *value = json_read_text(
		json_read_member(result_member(result, "error"), "value"), NULL);

	return value != NULL ? value : "";
}

bool result_has_diagnostic(const struct result *result, const char *code)
{
	const struct json_value *all = result_member(result, "diagnostics");

	for (size_t i = 0; i < json_read_count(all); i++) {
		const char *have = json_read_text(json_read_member(json_read_at(all, i), "code"),
						  NULL);

		if (have != NULL && strcmp(have, code) == 0)
			return true;
	}
	return false;
}

void fixture_assert_lost(struct fixture *fixture, const char *why)
{
	reckon_execution *execution;
	reckon_error err;
	char *json;

	assert_int_equal(reckon_execute(fixture->session, "out x", 5, NULL, &execution, &err),
			 RECKON_ELOST);
	if (strstr(err.message, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.message, why);
	assert_int_not_equal(err.remedy[0], '\0');
	assert_int_equal(reckon_variables(fixture->session, &json, &err), RECKON_ELOST);
}

void fixture_assert_kernel_lost(struct fixture *fixture, const char *why)
{
	reckon_error err;
	char *json;

	assert_int_equal(reckon_session_check(fixture->session, &err), RECKON_EKERNEL_LOST);
	if (strstr(err.message, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.message, why);
	assert_int_not_equal(err.remedy[0], '\0');
	assert_int_equal(reckon_variables(fixture->session, &json, &err), RECKON_EKERNEL_LOST);
	{
		cleanup_result struct result fresh = fixture_run(fixture, "out fresh", NULL);

		assert_string_equal(result_status(&fresh), "ok");
		assert_string_equal(result_text(&fresh, "stdout"), "fresh\n");
		assert_true(result_has_diagnostic(&fresh, "kernel_lost"));
	}
	{
		cleanup_result struct result after = fixture_run(fixture, "out after", NULL);

		assert_false(result_has_diagnostic(&after, "kernel_lost"));
	}
	assert_int_equal(reckon_session_check(fixture->session, &err), RECKON_OK);
}
