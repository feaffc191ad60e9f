/*
 * test_api_values.c - members that equal the default, lists of files, encoded errors.
 *
 * Runs in:  the unit suite.
 * Reads:    rows of the real table.
 * Never:    depends on how a row is defined.
 */
#include "unit.h"

#include <string.h>

#include "api/calls.h"
#include "api/check.h"
#include "api/json_in.h"
#include "api/json_out.h"

static struct arena arena;

static int drop_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static int take(enum api_id call, const char *body, void *ret, struct err *err)
{
	const struct api_type *type = api_calls[call].takes;

	memset(ret, 0, type->size);
	if (api_take_body(type, body, strlen(body), &arena, ret, err) < 0)
		return (int)err->code;
	if (call == API_EXECUTE)
		((struct api_execute_in *)ret)->session = "se_1";
	return api_check(type, ret, err);
}

/* Clients that are generated from the API document send members that equal the default. */
UNIT_TEST_WITH(a_member_that_equals_the_default_counts_as_absent, NULL, drop_arena)
{
	struct api_execute_in execute;
	struct api_execute_once_in once;
	struct api_file_list_in list = { .session = "se_1" };
	struct api_archive_get_in archive = { .session = "se_1" };
	struct err err;

	assert_ok(&err, take(API_EXECUTE,
			     "{\"code\":\"\",\"background\":true,\"on_disconnect\":\"continue\","
			     "\"disconnect_grace_s\":0}",
			     &execute, &err));
	assert_int_equal(execute.on_disconnect, 0);
	assert_false(execute.has_disconnect_grace_ms);
	assert_int_equal(take(API_EXECUTE,
			      "{\"code\":\"\",\"background\":true,\"on_disconnect\":\"cancel\"}",
			      &execute, &err),
			 ERR_INVALID);
	assert_ok(&err, take(API_EXECUTE_ONCE, "{\"code\":\"\",\"keep\":false}", &once, &err));
	assert_false(once.has_keep);
	assert_ok(&err, api_take_query(&api_type_file_list_in, "limit=0&recursive=1", &arena, &list,
				       &err));
	assert_false(list.has_limit || list.has_recursive);
	assert_ok(&err, api_take_query(&api_type_archive_get_in, "format=tar.gz", &arena, &archive,
				       &err));
	assert_int_equal(archive.format, 0);
	assert_ok(&err, api_take_query(&api_type_archive_get_in, "format=zip", &arena, &archive,
				       &err));
	assert_int_equal(archive.format, API_ARCHIVE_GET_IN_FORMAT_ZIP);
}

UNIT_TEST_WITH(a_question_with_files_and_limits_is_checked, NULL, drop_arena)
{
	static const char body[] =
		"{\"question\":\"1\",\"files\":[\"a.csv\",{\"path\":\"b\",\"base64\":\"AAEC\"},"
		"{\"path\":\"c\",\"text\":\"\"}],\"limits\":{\"budget\":0.25,\"steps\":2}}";
	static const struct {
		const char *body, *says;
	} bad[] = {
		{ "{\"question\":\"1\",\"files\":\"a\"}", "files must be a list" },
		{ "{\"question\":\"1\",\"files\":[1]}",
		  "files must be a list of objects or strings" },
		{ "{\"question\":\"1\",\"files\":[\"\"]}", "files.path must have 1 to 4095" },
		{ "{\"question\":\"1\",\"files\":[{}]}", "files.path is missing" },
		{ "{\"question\":\"1\",\"files\":[{\"path\":\"a\",\"mode\":1}]}",
		  "unknown field files.mode" },
		{ "{\"question\":\"1\",\"files\":[{\"path\":\"a\",\"base64\":\"A\"}]}",
		  "files.base64 must be a string in base64" },
		{ "{\"question\":\"1\",\"files\":[{\"path\":\"a\",\"base64\":\"\",\"text\":\"\"}]}",
		  "files.text and files.base64 cannot be used together" },
		{ "{\"question\":\"1\",\"limits\":{\"budget\":0}}",
		  "limits.budget must be an amount of money, from 1e-06 to 1000000" },
		{ "{\"question\":\"\"}", "question must have 1 to" },
		{ "{\"question\":\"1\",\"followed\":true}", "unknown field followed" },
		{ "{\"question\":\"1\",\"session\":\"se_1\",\"keep\":true}",
		  "session and keep cannot be used together" },
		{ "{\"question\":\"1\",\"on_disconnect\":\"continue\",\"disconnect_grace_s\":1}",
		  "disconnect_grace_s needs" },
	};
	struct api_run_create_in in;
	const struct api_run_file *file;
	struct err err;

	assert_ok(&err, take(API_RUN_CREATE, body, &in, &err));
	assert_int_equal(in.files.count, 3);
	file = in.files.items;
	assert_string_equal(file[0].path, "a.csv");
	assert_null(file[0].text.data);
	assert_int_equal(file[1].base64.len, 3);
	assert_memory_equal(file[1].base64.data, "\0\1\2", 3);
	assert_true(file[2].text.data != NULL && file[2].text.len == 0);
	assert_true(in.limits->has_budget_micro && in.limits->budget_micro == 250000);
	/* The default of on_disconnect is the value that disconnect_grace_s needs. */
	assert_ok(&err, take(API_RUN_CREATE, "{\"question\":\"1\",\"disconnect_grace_s\":1}", &in,
			     &err));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(take(API_RUN_CREATE, bad[i].body, &in, &err), ERR_INVALID);
		if (strstr(err.text, bad[i].says) == NULL)
			print_message("%s\n", err.text);
		assert_non_null(strstr(err.text, bad[i].says));
	}
}

UNIT_TEST_WITH(an_error_is_encoded_as_documented, NULL, drop_arena)
{
	const struct api_reached_quota quota = { "max_wall_s", 2500, 1000, true };
	const struct api_queue_place place = { 3, 1500 };
	const struct api_failure failure = { .error = API_ERR_QUOTA,
					     .message = "no",
					     .remedy = "wait",
					     .retry_s = 2,
					     .quota = &quota,
					     .queue = &place };
	struct buf body = BUF_INIT(4096);
	struct err err;

	assert_ok(&err, api_write_failure(&failure, &body, &err));
	assert_string_equal(buf_text(&body),
			    "{\"error\":{\"code\":\"quota_exceeded\",\"message\":\"no\",\"cause\":null,"
			    "\"remedy\":\"wait\",\"quota\":{\"name\":\"max_wall_s\",\"value\":2.5,"
			    "\"limit\":1},\"queue\":{\"position\":3,\"estimate_s\":1.5}}}");
	assert_int_equal(api_error_of(&failure)->status, 429);
	assert_string_equal(
		api_error_of(&(struct api_failure){ .error = UINT64_MAX })->name, "internal");
	buf_done(&body);
}
