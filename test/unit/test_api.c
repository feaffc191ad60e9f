/*
 * test_api.c - the field table at run time: paths, queries and bodies in, images, bodies out.
 *
 * Runs in:  the unit suite.
 * Reads:    rows of the real table.
 * Never:    knows how a row is written down.
 */
#include "unit.h"

#include <string.h>

#include "api/calls.h"
#include "api/check.h"
#include "api/image.h"
#include "api/json_in.h"
#include "api/json_out.h"
#include "api/route.h"

static struct arena arena;

static int drop_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static void a_path_names_a_call(void **state)
{
	static const struct {
		enum http_verb verb;
		const char *path;
		enum api_id call; /* 0: none */
		unsigned verbs;
	} cases[] = {
		{ HTTP_VERB_GET, "/reckon/v1/health", API_HEALTH,
		  HTTP_VERB_GET | HTTP_VERB_HEAD },
		{ HTTP_VERB_HEAD, "/reckon/v1/health", API_HEALTH,
		  HTTP_VERB_GET | HTTP_VERB_HEAD },
		{ HTTP_VERB_POST, "/reckon/v1/health", 0, HTTP_VERB_GET | HTTP_VERB_HEAD },
		{ HTTP_VERB_DELETE, "/reckon/v1/drain", API_UNDRAIN,
		  HTTP_VERB_POST | HTTP_VERB_DELETE },
		{ HTTP_VERB_GET, "/metrics", API_METRICS, HTTP_VERB_GET | HTTP_VERB_HEAD },
		{ HTTP_VERB_GET, "/reckon/v1/metrics", 0, 0 },
		{ HTTP_VERB_GET, "/reckon/v1/health/", 0, 0 },
		{ HTTP_VERB_GET, "/reckon/v1/healt", 0, 0 },
		{ HTTP_VERB_GET, "/health", 0, 0 },
		{ HTTP_VERB_POST, "/reckon/v1/sessions/se_1/restart", API_RESTART, HTTP_VERB_POST },
		{ HTTP_VERB_POST, "/reckon/v1/sessions//restart", 0, 0 },
		{ HTTP_VERB_POST, "/reckon/v1/sessions/a/b/restart", 0, 0 },
		{ HTTP_VERB_DELETE, "/reckon/v1/sessions/a/contexts/b", API_CONTEXT_DELETE,
		  HTTP_VERB_DELETE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned verbs;
		const struct api_call *call = api_route(cases[i].verb, cases[i].path, &verbs);

		assert_ptr_equal(call, cases[i].call != 0 ? &api_calls[cases[i].call] : NULL);
		assert_int_equal(verbs, cases[i].verbs);
	}
}

static void what_is_no_id_names_nothing(void **state)
{
	struct api_context_delete_in in = { 0 };

	(void)state;
	api_take_path(&api_calls[API_CONTEXT_DELETE],
		      "/reckon/v1/sessions/se_1/contexts/%41", &arena, &in);
	assert_string_equal(in.session, "se_1");
	assert_string_equal(in.context, "-");
	api_take_path(&api_calls[API_CONTEXT_DELETE],
		      "/reckon/v1/sessions/0123456789012345678901234567890/contexts/"
		      "01234567890123456789012345678901",
		      &arena, &in);
	assert_int_equal(strlen(in.session), API_ID_MAX);
	assert_string_equal(in.context, "-");
}

/* ---- bodies and queries --------------------------------------------------------------------- */

static int take_complete(const char *body, struct api_complete_in *ret, struct err *err)
{
	*ret = (struct api_complete_in){ .session = "se_1" };
	if (api_take_body(&api_type_complete_in, body, strlen(body), &arena, ret, err) < 0)
		return (int)err->code;
	return api_check(&api_type_complete_in, ret, err);
}

static void a_body_becomes_a_struct(void **state)
{
	struct api_complete_in in;
	struct err err;

	(void)state;
	assert_ok(&err, take_complete("{\"code\":\"a\\u0000b\",\"cursor\":2.0}", &in, &err));
	assert_int_equal(in.code.len, 3);
	assert_memory_equal(in.code.data, "a\0b", 3);
	assert_true(in.has_cursor);
	assert_int_equal(in.cursor, 2);
	assert_null(in.context);
	assert_ok(&err, take_complete("{\"code\":\"\",\"context\":\"a b\"}", &in, &err));
	assert_false(in.has_cursor);
	assert_string_equal(in.context, "-");
}

static void a_wrong_body_is_refused_with_its_field(void **state)
{
	static const struct {
		const char *body, *says;
	} cases[] = {
		{ "", "code is missing" },
		{ "{}", "code is missing" },
		{ "[]", "the body must be a JSON object" },
		{ "{", "the body is not JSON" },
		{ "{\"code\":1}", "code must be a string" },
		{ "{\"code\":\"\",\"kode\":1}", "unknown field kode" },
		{ "{\"code\":\"\",\"session\":\"x\"}", "unknown field session" },
		{ "{\"code\":\"\",\"cursor\":-1}", "cursor must be a whole number" },
		{ "{\"code\":\"\",\"cursor\":1.5}", "cursor must be a whole number" },
		{ "{\"code\":\"\",\"cursor\":1e300}", "cursor must be a whole number" },
		{ "{\"code\":\"\",\"cursor\":9007199254740992}", "cursor must be from 0 to" },
		{ "{\"code\":\"\",\"context\":\"\"}", "context must have 1 to 63 characters" },
		{ "{\"code\":\"\",\"context\":null}", "context must be a string" },
	};
	struct api_complete_in in;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(take_complete(cases[i].body, &in, &err), ERR_INVALID);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static int take_env(const char *body, struct api_context_create_in *ret, struct err *err)
{
	*ret = (struct api_context_create_in){ .session = "se_1" };
	if (api_take_body(&api_type_context_create_in, body, strlen(body), &arena, ret, err) < 0)
		return (int)err->code;
	return api_check(&api_type_context_create_in, ret, err);
}

static void variables_have_names(void **state)
{
	static const char *const bad[] = {
		"{\"env\":{\"\":\"x\"}}",	"{\"env\":{\"1A\":\"x\"}}",
		"{\"env\":{\"A B\":\"x\"}}",	"{\"env\":{\"A=B\":\"x\"}}",
		"{\"env\":{\"A\":1}}",		"{\"env\":{\"A\":\"\\u0000\"}}",
		"{\"env\":[\"A=b\"]}",		"{\"cwd\":\"a\"}",
		"{\"cwd\":\"\"}",		"{\"language\":\"\"}",
	};
	struct api_context_create_in in;
	struct err err;

	(void)state;
	assert_ok(&err, take_env("{\"env\":{\"A\":\"b=c\",\"_1\":\"\"},\"cwd\":\"/x\"}", &in, &err));
	assert_int_equal(in.env.count, 2);
	assert_string_equal(((const char *const *)in.env.items)[0], "A=b=c");
	assert_string_equal(((const char *const *)in.env.items)[1], "_1=");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(take_env(bad[i], &in, &err), ERR_INVALID);
}

static int take_query(const char *query, struct api_variables_in *ret, struct err *err)
{
	*ret = (struct api_variables_in){ .session = "se_1" };
	return api_take_query(&api_type_variables_in, query, &arena, ret, err);
}

static void a_query_takes_what_the_table_names(void **state)
{
	static const char *const bad[] = { "wait=2",	"wait=",     "context=", "session=x",
					   "w%61it=1x", "limit=1",   "wait=%",	 "code=x" };
	struct api_variables_in in;
	struct err err;

	(void)state;
	assert_ok(&err, take_query("", &in, &err));
	assert_false(in.has_wait);
	assert_ok(&err, take_query("wait=false&context=ctx_1", &in, &err));
	assert_true(in.has_wait);
	assert_false(in.wait);
	assert_string_equal(in.context, "ctx_1");
	assert_ok(&err, take_query("context=a%20b&wait=1", &in, &err));
	assert_string_equal(in.context, "-");
	assert_true(in.wait);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(take_query(bad[i], &in, &err), ERR_INVALID);
}

/* ---- images --------------------------------------------------------------------------------- */

static int there_and_back(const struct api_type *type, const void *in, void *out, struct err *err)
{
	struct buf image = BUF_INIT(1u << 20), again = BUF_INIT(1u << 20);
	struct api_bytes rest;
	int code;

	assert_ok(err, api_image_write(type, in, &image, err));
	rest = (struct api_bytes){ arena_text(&arena, buf_text(&image), image.len), image.len };
	code = api_image_read(type, &rest, &arena, out, err);
	if (code == 0) {
		assert_int_equal(rest.len, 0);
		assert_ok(err, api_image_write(type, out, &again, err));
		assert_int_equal(again.len, image.len);
		assert_memory_equal(again.data, image.data, image.len);
		/* Each shorter one ends too soon. */
		for (size_t len = 0; len < image.len; len++) {
			rest = (struct api_bytes){ image.data, len };
			memset(out, 0, type->size);
			assert_int_equal(api_image_read(type, &rest, &arena, out, err),
					 ERR_PROTOCOL);
		}
		rest = (struct api_bytes){ image.data, image.len };
		memset(out, 0, type->size);
		rest.data = arena_text(&arena, image.data, image.len);
		assert_ok(err, api_image_read(type, &rest, &arena, out, err));
	}
	buf_done(&image);
	buf_done(&again);
	return code;
}

static void images_keep_every_kind(void **state)
{
	const char *env[] = { "A=1", "B=" };
	const struct api_context_create_in create = { .session = "se_1",
						      .language = "bash",
						      .env = { env, 2 } };
	const struct api_complete_in question = { .session = "se_1",
						  .code = { "a\0b", 3 },
						  .has_cursor = true,
						  .cursor = 1 };
	const struct api_dialect dialects[] = { { "native", API_DIALECT_STATE_UP, 3 },
						{ "e2b", API_DIALECT_STATE_DOWN, 0 } };
	const struct api_ready_out ready = { API_READY_OUT_STATUS_READY, { dialects, 2 } };
	struct api_context_create_in create_again = { 0 };
	struct api_complete_in question_again = { 0 };
	struct api_ready_out ready_again = { 0 };
	struct err err;

	(void)state;
	assert_ok(&err, there_and_back(&api_type_context_create_in, &create, &create_again, &err));
	assert_null(create_again.cwd);
	assert_string_equal(((const char *const *)create_again.env.items)[1], "B=");
	assert_ok(&err, there_and_back(&api_type_complete_in, &question, &question_again, &err));
	assert_memory_equal(question_again.code.data, "a\0b", 3);
	assert_int_equal(question_again.cursor, 1);
	assert_ok(&err, there_and_back(&api_type_ready_out, &ready, &ready_again, &err));
	assert_string_equal(((const struct api_dialect *)ready_again.dialects.items)[1].name, "e2b");
}

static void images_are_judged_by_the_table(void **state)
{
	static char long_key[130];
	struct api_caller caller = { .key = long_key };
	struct api_complete_in question = { .session = "se 1", .code = { "", 0 } };
	struct api_complete_in none = { .session = "se_1" };
	struct api_health health = { .status = (enum api_health_status)2, .version = "1" };
	struct api_context_create_in create = { .session = "se_1", .cwd = "relative" };
	union {
		struct api_caller caller;
		struct api_complete_in question;
		struct api_health health;
		struct api_context_create_in create;
	} out = { 0 };
	struct err err;

	(void)state;
	memset(long_key, 'k', 129);
	assert_int_equal(there_and_back(&api_type_caller, &caller, &out, &err), ERR_PROTOCOL);
	long_key[128] = '\0';
	memset(&out, 0, sizeof(out));
	assert_ok(&err, there_and_back(&api_type_caller, &caller, &out, &err));
	memset(&out, 0, sizeof(out));
	assert_int_equal(there_and_back(&api_type_complete_in, &question, &out, &err), ERR_PROTOCOL);
	memset(&out, 0, sizeof(out));
	assert_int_equal(there_and_back(&api_type_complete_in, &none, &out, &err), ERR_PROTOCOL);
	memset(&out, 0, sizeof(out));
	assert_int_equal(there_and_back(&api_type_health, &health, &out, &err), ERR_PROTOCOL);
	memset(&out, 0, sizeof(out));
	assert_int_equal(there_and_back(&api_type_context_create_in, &create, &out, &err),
			 ERR_PROTOCOL);
}

/* A count is believed when so many bytes have come. */
static void a_count_allocates_nothing(void **state)
{
	static const char image[] = "\x01\0\0\0\0\0\0\0"
				    "\xff\xff\xff\x7f";
	struct api_bytes rest = { image + 8, 4 };
	struct api_contexts out = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(api_image_read(&api_type_contexts, &rest, &arena, &out, &err),
			 ERR_PROTOCOL);
	assert_null(out.contexts.items);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answers_are_written(void **state)
{
	const struct api_context context = { "ctx_1", "se_1", "bash", "/x", "2026-01-01T00:00:00Z",
					     API_CONTEXT_KERNEL_LOST, 2 };
	const struct api_contexts contexts = { .contexts = { &context, 1 } };
	const struct api_complete_out whole = { { "{\"a\":1}", 7 } };
	const struct api_metrics_out metrics = { "a 1\n" };
	const struct api_restart_out nothing = { 0 };
	const struct {
		enum api_id call;
		const void *out;
		const char *text;
	} cases[] = {
		{ API_CONTEXT_LIST, &contexts,
		  "{\"contexts\":[{\"id\":\"ctx_1\",\"session\":\"se_1\",\"language\":\"bash\","
		  "\"cwd\":\"/x\",\"created_at\":\"2026-01-01T00:00:00Z\",\"kernel\":\"lost\","
		  "\"pending\":2}],\"next\":null}" },
		{ API_COMPLETE, &whole, "{\"a\":1}" },
		{ API_METRICS, &metrics, "a 1\n" },
		{ API_RESTART, &nothing, "{}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf body = BUF_INIT(4096);
		struct err err;

		assert_ok(&err,
			  api_write_body(&api_calls[cases[i].call], cases[i].out, &body, &err));
		assert_string_equal(buf_text(&body), cases[i].text);
		buf_done(&body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_path_names_a_call, drop_arena),
		cmocka_unit_test_teardown(what_is_no_id_names_nothing, drop_arena),
		cmocka_unit_test_teardown(a_body_becomes_a_struct, drop_arena),
		cmocka_unit_test_teardown(a_wrong_body_is_refused_with_its_field, drop_arena),
		cmocka_unit_test_teardown(variables_have_names, drop_arena),
		cmocka_unit_test_teardown(a_query_takes_what_the_table_names, drop_arena),
		cmocka_unit_test_teardown(images_keep_every_kind, drop_arena),
		cmocka_unit_test_teardown(images_are_judged_by_the_table, drop_arena),
		cmocka_unit_test_teardown(a_count_allocates_nothing, drop_arena),
		cmocka_unit_test_teardown(answers_are_written, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
