/*
 * test_api.c - the field table at run time: reads paths, queries, bodies; writes images, bodies.
 *
 * Runs in:  the unit suite.
 * Reads:    rows of the real table.
 * Never:    depends on how a row is defined.
 */
#include "unit.h"

#include <stdio.h>
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

#define FILE_VERBS (HTTP_VERB_GET | HTTP_VERB_HEAD | HTTP_VERB_PUT | HTTP_VERB_DELETE)

UNIT_TEST_WITH(a_path_selects_a_call, NULL, drop_arena)
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
		/* The rest is the file's path; of two rows that match, the method selects one. */
		{ HTTP_VERB_GET, "/reckon/v1/sessions/a/files/b/c", API_FILE_GET, FILE_VERBS },
		{ HTTP_VERB_GET, "/reckon/v1/sessions/a/files/move", API_FILE_GET,
		  FILE_VERBS | HTTP_VERB_POST },
		{ HTTP_VERB_POST, "/reckon/v1/sessions/a/files/move", API_FILE_MOVE,
		  FILE_VERBS | HTTP_VERB_POST },
		{ HTTP_VERB_GET, "/reckon/v1/sessions/a/files/", 0, 0 },
		{ HTTP_VERB_GET, "/reckon/v1/sessions/a/files", API_FILE_LIST,
		  HTTP_VERB_GET | HTTP_VERB_HEAD },
		/* A stream of events does not support HEAD; an empty path selects no call. */
		{ HTTP_VERB_HEAD, "/reckon/v1/agent/run_1/events", 0, HTTP_VERB_GET },
		{ HTTP_VERB_GET, "", 0, 0 },
		{ HTTP_VERB_GET, "/reckon/v1/openapi.json", API_OPENAPI,
		  HTTP_VERB_GET | HTTP_VERB_HEAD },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned verbs;
		const struct api_call *call = api_route(cases[i].verb, cases[i].path, &verbs);

		assert_ptr_equal(call, cases[i].call != 0 ? &api_calls[cases[i].call] : NULL);
		assert_int_equal(verbs, cases[i].verbs);
	}
}

UNIT_TEST_WITH(an_invalid_id_becomes_a_dash, NULL, drop_arena)
{
	struct api_context_delete_in in = { 0 };
	struct err err;

	assert_ok(&err, api_take_path(&api_calls[API_CONTEXT_DELETE],
		      "/reckon/v1/sessions/se_1/contexts/%41", &arena, &in, &err));
	assert_string_equal(in.session, "se_1");
	assert_string_equal(in.context, "-");
	assert_ok(&err, api_take_path(&api_calls[API_CONTEXT_DELETE],
		      "/reckon/v1/sessions/0123456789012345678901234567890/contexts/"
		      "01234567890123456789012345678901",
		      &arena, &in, &err));
	assert_int_equal(strlen(in.session), 31);
	assert_string_equal(in.context, "-");
}

UNIT_TEST_WITH(the_path_of_a_file_is_decoded_once, NULL, drop_arena)
{
	struct api_file_get_in in = { 0 };
	struct err err;

	assert_ok(&err, api_take_path(&api_calls[API_FILE_GET],
				      "/reckon/v1/sessions/se_1/files/a%20b/%252F", &arena, &in,
				      &err));
	assert_string_equal(in.session, "se_1");
	assert_string_equal(in.path, "a b/%2F");
	assert_int_equal(api_take_path(&api_calls[API_FILE_GET],
				       "/reckon/v1/sessions/se_1/files/a%00b", &arena, &in, &err),
			 ERR_INVALID);
	assert_non_null(strstr(err.text, "malformed"));
}

/* ---- bodies and queries --------------------------------------------------------------------- */

static int take_complete(const char *body, struct api_complete_in *ret, struct err *err)
{
	*ret = (struct api_complete_in){ .session = "se_1" };
	if (api_take_body(&api_type_complete_in, body, strlen(body), &arena, ret, err) < 0)
		return (int)err->code;
	return api_check(&api_type_complete_in, ret, err);
}

UNIT_TEST_WITH(a_body_becomes_a_struct, NULL, drop_arena)
{
	struct api_complete_in in;
	struct err err;

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

UNIT_TEST_WITH(a_wrong_body_is_refused_and_the_error_names_the_field, NULL, drop_arena)
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(take_complete(cases[i].body, &in, &err), ERR_INVALID);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

/* The id of a context may have 63 characters; 64 are an error. */
UNIT_TEST(an_id_that_is_too_long_is_refused)
{
	struct api_complete_in in;
	struct err err;

	for (int over = 0; over < 2; over++) {
		char body[128];

		(void)snprintf(body, sizeof(body), "{\"code\":\"\",\"context\":\"%0*d\"}",
			       (int)API_NAMED_MAX + over, 0);
		assert_int_equal(take_complete(body, &in, &err), over == 0 ? 0 : ERR_INVALID);
	}
	assert_non_null(strstr(err.text, "context must have 1 to 63 characters"));
}

static int take_env(const char *body, struct api_context_create_in *ret, struct err *err)
{
	*ret = (struct api_context_create_in){ .session = "se_1" };
	if (api_take_body(&api_type_context_create_in, body, strlen(body), &arena, ret, err) < 0)
		return (int)err->code;
	return api_check(&api_type_context_create_in, ret, err);
}

UNIT_TEST_WITH(fields_of_a_new_context_are_checked, NULL, drop_arena)
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

UNIT_TEST_WITH(a_query_accepts_only_fields_of_the_table, NULL, drop_arena)
{
	static const char *const bad[] = { "wait=2",	"wait=",     "context=", "session=x",
					   "w%61it=1x", "limit=1",   "wait=%",	 "code=x" };
	struct api_variables_in in;
	struct err err;

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

static int take(enum api_id call, const char *body, void *ret, struct err *err)
{
	const struct api_type *type = api_calls[call].takes;

	memset(ret, 0, type->size);
	if (api_take_body(type, body, strlen(body), &arena, ret, err) < 0)
		return (int)err->code;
	/* In a request, the path sets these. */
	if (call == API_EXECUTE)
		((struct api_execute_in *)ret)->session = "se_1";
	if (call == API_SESSION_CHANGE)
		((struct api_session_change_in *)ret)->session = "se_1";
	return api_check(type, ret, err);
}

UNIT_TEST_WITH(all_fields_of_a_new_session_are_parsed, NULL, drop_arena)
{
	static const char body[] =
		"{\"name\":\"my.box\",\"limits\":{\"wall_s\":1.5,\"files\":7.0},"
		"\"policy\":{\"network\":\"none\",\"isolate_cpu\":[\"speculation\"]},"
		"\"metadata\":{ \"a\" : [1, 2] },\"idle_timeout_s\":1,"
		"\"expires_at\":\"2026-01-01T00:00:00+01:00\"}";
	struct api_session_create_in in;
	struct err err;

	assert_ok(&err, take(API_SESSION_CREATE, body, &in, &err));
	assert_string_equal(in.name, "my.box");
	assert_true(in.limits->has_wall_ms && in.limits->wall_ms == 1500);
	assert_true(in.limits->has_files && in.limits->files == 7);
	assert_false(in.limits->has_cpu_ms);
	assert_int_equal(in.policy->network, API_POLICY_NETWORK_NONE);
	assert_int_equal(in.policy->isolate_cpu, API_POLICY_ISOLATE_CPU_SPECULATION);
	assert_string_equal(in.metadata.data, "{\"a\":[1,2]}");
	assert_true(in.has_idle_timeout_ms && in.idle_timeout_ms == 1000);
	assert_false(in.has_expires_in_ms);
	assert_true(in.expires_at_ms == 1767222000000);
}

/* null is accepted only where the table allows it; the field is then present and 0. */
UNIT_TEST_WITH(null_may_mean_never, NULL, drop_arena)
{
	struct api_session_change_in change;
	struct api_session_create_in create;
	struct err err;

	assert_ok(&err, take(API_SESSION_CHANGE, "{\"expires_at\":null}", &change, &err));
	assert_true(change.has_expires_at_ms && change.expires_at_ms == 0);
	assert_int_equal(take(API_SESSION_CREATE, "{\"expires_at\":null}", &create, &err),
			 ERR_INVALID);
	assert_int_equal(take(API_SESSION_CHANGE, "{\"idle_timeout_s\":null}", &change, &err),
			 ERR_INVALID);
}

UNIT_TEST_WITH(an_error_names_the_wrong_member, NULL, drop_arena)
{
	static const struct {
		enum api_id call;
		const char *body, *says;
	} cases[] = {
		{ API_SESSION_CREATE, "{\"limits\":{\"wall_s\":0}}",
		  "limits.wall_s must be from 0.001 to 86400" },
		{ API_SESSION_CREATE, "{\"limits\":{\"walls\":1}}", "unknown field limits.walls" },
		{ API_SESSION_CREATE, "{\"limits\":{\"processes\":0}}",
		  "limits.processes must be from 1 to 4194304" },
		{ API_SESSION_CREATE, "{\"limits\":[]}", "limits must be an object" },
		{ API_SESSION_CREATE, "{\"idle_timeout_s\":\"1\"}", "a number of seconds" },
		{ API_SESSION_CREATE,
		  "{\"expires_in_s\":1,\"expires_at\":\"2030-01-01T00:00:00Z\"}",
		  "expires_in_s and expires_at cannot be used together" },
		{ API_SESSION_CREATE, "{\"expires_at\":\"tomorrow\"}", "RFC 3339" },
		{ API_SESSION_CREATE, "{\"policy\":{\"network\":\"all\"}}",
		  "policy.network must be \"none\"" },
		{ API_SESSION_CREATE, "{\"policy\":{\"isolate_cpu\":[\"cache\"]}}",
		  "policy.isolate_cpu: unknown word \"cache\"" },
		{ API_SESSION_CREATE, "{\"policy\":{\"isolate_cpu\":\"core\"}}",
		  "must be a list of \"core\" or \"speculation\"" },
		{ API_SESSION_CREATE, "{\"metadata\":[]}", "metadata must be an object" },
		{ API_SESSION_CREATE, "{\"name\":\"se_1\"}", "not begin with se_" },
		{ API_SESSION_CREATE, "{\"name\":\"a b\"}", "letters, digits" },
		{ API_EXECUTE, "{\"code\":\"\",\"stream\":true,\"background\":true}",
		  "stream and background cannot be used together" },
		{ API_EXECUTE, "{\"code\":\"\",\"disconnect_grace_s\":1}",
		  "disconnect_grace_s needs \"on_disconnect\": \"cancel\"" },
		{ API_EXECUTE, "{\"code\":\"\",\"max_text\":1023}", "max_text must be from 1024" },
		{ API_EXECUTE_ONCE, "{\"code\":\"\",\"name\":\"a\"}", "name needs \"keep\": true" },
		{ API_EXECUTE_ONCE, "{\"code\":\"\",\"name\":\"a\",\"keep\":false}",
		  "name needs \"keep\": true" },
	};
	union {
		struct api_session_create_in create;
		struct api_execute_in execute;
		struct api_execute_once_in once;
	} in;
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(take(cases[i].call, cases[i].body, &in, &err), ERR_INVALID);
		if (strstr(err.text, cases[i].says) == NULL)
			print_message("%s\n", err.text);
		assert_non_null(strstr(err.text, cases[i].says));
	}
	assert_ok(&err, take(API_EXECUTE, "{\"code\":\"\",\"stream\":true,\"background\":false}",
			     &in, &err));
}

/* Values at a bound are accepted; values just beyond it are refused. */
UNIT_TEST_WITH(numbers_are_accepted_up_to_their_bounds, NULL, drop_arena)
{
	static const struct {
		const char *body;
		bool is_good;
	} cases[] = {
		{ "{\"code\":\"\",\"max_text\":1024}", true },
		{ "{\"code\":\"\",\"max_text\":1048576}", true },
		{ "{\"code\":\"\",\"max_text\":1048577}", false },
		{ "{\"code\":\"\",\"timeout_s\":0.001}", true },
		{ "{\"code\":\"\",\"timeout_s\":0.0009}", false },
		{ "{\"code\":\"\",\"timeout_s\":86400}", true },
		{ "{\"code\":\"\",\"timeout_s\":86400.001}", false },
		{ "{\"code\":\"\",\"timeout_s\":1e999}", false },
	};
	struct api_execute_in in;
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(take(API_EXECUTE, cases[i].body, &in, &err) == 0,
				 cases[i].is_good);
}

UNIT_TEST_WITH(the_set_variant_of_a_response_selects_status_and_body, NULL, drop_arena)
{
	const struct api_execution execution = { .id = "ex_1",
						 .session = "se_1",
						 .sequence = 1,
						 .status = "queued",
						 .created_at = "2026-01-01T00:00:00Z" };
	const struct api_execute_out record = { .record = { "{}", 2 } };
	const struct api_execute_out queued = { .execution = &execution };
	const struct api_execute_out ended = { .ended = &execution };
	struct buf body = BUF_INIT(4096);
	struct err err;

	assert_int_equal(api_status(&api_calls[API_EXECUTE], &record), 200);
	assert_int_equal(api_status(&api_calls[API_EXECUTE], &queued), 202);
	assert_int_equal(api_status(&api_calls[API_EXECUTE], &ended), 200);
	assert_ok(&err, api_write_body(&api_calls[API_EXECUTE], &queued, &body, &err));
	assert_string_equal(buf_text(&body),
			    "{\"id\":\"ex_1\",\"session\":\"se_1\",\"sequence\":1,\"status\":\"queued\","
			    "\"created_at\":\"2026-01-01T00:00:00Z\"}");
	buf_done(&body);
}

/* ---- images --------------------------------------------------------------------------------- */

static int round_trip(const struct api_type *type, const void *in, void *out, struct err *err)
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
		/* A truncated image is an error. */
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

UNIT_TEST_WITH(images_preserve_every_kind_of_field, NULL, drop_arena)
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
	const struct api_limits limits = { .has_wall_ms = true, .wall_ms = 5, .has_files = true,
					   .files = 9 };
	const struct api_policy policy = { .isolate_cpu = API_POLICY_ISOLATE_CPU_CORE };
	const struct api_session_create_in request = { .limits = &limits,
						       .policy = &policy,
						       .metadata = { "{}", 2 },
						       .has_expires_at_ms = true,
						       .expires_at_ms = 1 };
	struct api_session_create_in request_again = { 0 };
	struct err err;

	assert_ok(&err, round_trip(&api_type_context_create_in, &create, &create_again, &err));
	assert_null(create_again.cwd);
	assert_string_equal(((const char *const *)create_again.env.items)[1], "B=");
	assert_ok(&err, round_trip(&api_type_complete_in, &question, &question_again, &err));
	assert_memory_equal(question_again.code.data, "a\0b", 3);
	assert_int_equal(question_again.cursor, 1);
	assert_ok(&err,
		  round_trip(&api_type_session_create_in, &request, &request_again, &err));
	assert_true(request_again.limits->files == 9 && !request_again.limits->has_cpu_ms);
	assert_int_equal(request_again.policy->isolate_cpu, API_POLICY_ISOLATE_CPU_CORE);
	assert_ok(&err, round_trip(&api_type_ready_out, &ready, &ready_again, &err));
	assert_string_equal(((const struct api_dialect *)ready_again.dialects.items)[1].name, "e2b");
}

UNIT_TEST_WITH(images_are_checked_against_the_table, NULL, drop_arena)
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

	memset(long_key, 'k', 129);
	assert_int_equal(round_trip(&api_type_caller, &caller, &out, &err), ERR_PROTOCOL);
	long_key[128] = '\0';
	memset(&out, 0, sizeof(out));
	assert_ok(&err, round_trip(&api_type_caller, &caller, &out, &err));
	memset(&out, 0, sizeof(out));
	assert_int_equal(round_trip(&api_type_complete_in, &question, &out, &err), ERR_PROTOCOL);
	memset(&out, 0, sizeof(out));
	assert_int_equal(round_trip(&api_type_complete_in, &none, &out, &err), ERR_PROTOCOL);
	memset(&out, 0, sizeof(out));
	assert_int_equal(round_trip(&api_type_health, &health, &out, &err), ERR_PROTOCOL);
	memset(&out, 0, sizeof(out));
	assert_int_equal(round_trip(&api_type_context_create_in, &create, &out, &err),
			 ERR_PROTOCOL);
}

/* The count of a list is trusted only if the image has enough bytes for it. */
UNIT_TEST_WITH(a_false_count_allocates_nothing, NULL, drop_arena)
{
	static const char image[] = "\x01\0\0\0\0\0\0\0"
				    "\xff\xff\xff\x7f";
	struct api_bytes rest = { image + 8, 4 };
	struct api_contexts out = { 0 };
	struct err err;

	assert_int_equal(api_image_read(&api_type_contexts, &rest, &arena, &out, &err),
			 ERR_PROTOCOL);
	assert_null(out.contexts.items);
}

/* ---- responses ------------------------------------------------------------------------------ */

UNIT_TEST_WITH(responses_are_encoded, NULL, drop_arena)
{
	const struct api_context context = { "ctx_1", "se_1", "bash", "/x", "2026-01-01T00:00:00Z",
					     API_CONTEXT_KERNEL_LOST, 2 };
	const struct api_contexts contexts = { .contexts = { &context, 1 } };
	const struct api_complete_out whole = { { "{\"a\":1}", 7 } };
	const struct api_metrics_out metrics = { "a 1\n" };
	const struct api_nothing nothing = { 0 };
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf body = BUF_INIT(4096);
		struct err err;

		assert_ok(&err,
			  api_write_body(&api_calls[cases[i].call], cases[i].out, &body, &err));
		assert_string_equal(buf_text(&body), cases[i].text);
		buf_done(&body);
	}
}
