/*
 * dify.c - dify-sandbox's API: runs a program of one file in a fresh box.
 *
 *   GET  /dify/health
 *   POST /dify/v1/sandbox/run
 *   GET  /dify/v1/sandbox/dependencies    what is installed; also POST …/update, GET …/refresh
 *
 * Runs in:  reckon-front-dify.
 * Reads:    heads and bodies of any client, what hostile programs print.
 * Never:    opens a network, whatever `enable_network` says: that is only a permission, and Dify
 *           always gives it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "dialects/call.h"
#include "dialects/program/program.h"
#include "dialects/program/program_language.h"
#include "dialects/route.h"

#define JSON "application/json; charset=utf-8"
#define BODY_MAX (16u * 1024u * 1024u)
#define OUTPUT_MAX (16u * 1024u * 1024u)
#define ANSWER_MAX ((size_t)256 * 1024 * 1024)
#define RUN_MS 30000u /* Dify waits for 60 s */

#define LIST_PYTHON \
	"python3 -c 'import importlib.metadata as m, json\n" \
	"print(json.dumps([{\"name\": d.metadata[\"Name\"], \"version\": d.version} " \
	"for d in m.distributions()]))'"

extern const struct dialect dialect_dify;

/* ---- answers -------------------------------------------------------------------------------- */

static void begin(struct json_writer *json, struct buf *body, int code, const char *message)
{
	json_write_init(json, body);
	json_write_object_begin(json);
	json_write_key(json, "code");
	json_write_int(json, code);
	json_write_member_string(json, "message", message);
	json_write_key(json, "data");
}

static void finish(struct request *request, unsigned status, struct json_writer *json,
		   struct buf *body)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status, JSON, body, NULL);
}

#define UNKNOWN_LANGUAGE "unsupported_language"

/*
 * As in dify-sandbox, errors 400, 429 and 500 have status 200 and a negative `code`, except for an
 * unknown language. Other errors keep their status: Dify repeats a request after a 503.
 */
static void refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const unsigned status = refusal->status;
	const bool is_wrong = status == 400 && strcmp(refusal->code, UNKNOWN_LANGUAGE) != 0;
	struct json_writer json;

	begin(&json, &body, -(int)status,
	      status == 401		    ? "Unauthorized"
	      : refusal->message != NULL ? refusal->message
					    : refusal->code);
	json_write_null(&json);
	finish(request, is_wrong || status == 429 || status == 500 ? 200 : status, &json, &body);
}

static void write_error(struct json_writer *json, const struct program_end *end)
{
	cleanup_buf struct buf error = BUF_INIT((size_t)PROGRAM_OUTPUT_MAX + 64);
	struct err ignored;

	if (end->how == PROGRAM_TIMEOUT || end->how == PROGRAM_CPU_LIMIT)
		(void)buf_adds(&error, "error: timeout\n", &ignored);
	else if (end->how == PROGRAM_OUT_OF_MEMORY)
		(void)buf_adds(&error, "error: out of memory\n", &ignored);
	else if (end->how == PROGRAM_OUTPUT_LIMIT)
		(void)buf_adds(&error, "error: output limit exceeded\n", &ignored);
	else if (end->how == PROGRAM_SIGNALLED)
		(void)buf_addf(&error, &ignored, "process ended by signal %d\n", end->code);
	else if (end->how == PROGRAM_EXITED && end->code != 0)
		(void)buf_addf(&error, &ignored, "process exited with code %d\n", end->code);
	if (error.len > 0)
		(void)buf_add(&error, buf_text(&end->err), end->err.len, &ignored);
	json_write_member_text(json, "error", buf_text(&error), error.len);
}

static void answer_end_of(struct request *request, const struct program_end *end)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	begin(&json, &body, 0, "success");
	json_write_object_begin(&json);
	json_write_member_text(&json, "stdout", buf_text(&end->out), end->out.len);
	json_write_member_text(&json, "stderr", buf_text(&end->err), end->err.len);
	write_error(&json, end);
	json_write_key(&json, "exit_code");
	json_write_int(&json, end->how == PROGRAM_EXITED ? end->code : -1);
	json_write_object_end(&json);
	finish(request, 200, &json, &body);
}

/* ---- code ----------------------------------------------------------------------------------- */

/* `preload` is code to run before the program. */
static int put_code(struct program *program, const struct json_value *body, const char *file)
{
	cleanup_buf struct buf code = BUF_INIT((size_t)2 * BODY_MAX);
	size_t preload_len = 0, code_len = 0;
	const char *preload = json_read_text(json_read_member(body, "preload"), &preload_len);
	const char *text = json_read_text(json_read_member(body, "code"), &code_len);
	struct err err;

	if (preload_len > 0 && (buf_add(&code, preload, preload_len, &err) < 0 ||
				buf_addc(&code, '\n', &err) < 0))
		return -1;
	if (buf_add(&code, text, code_len, &err) < 0)
		return -1;
	return program_put(program, file, buf_text(&code), code.len);
}

static void run_code(struct request *request, const struct json_value *body,
		     const struct program_language *language)
{
	cleanup_program struct program program = PROGRAM_INIT;
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	cleanup_buf struct buf command = BUF_INIT(4096);
	struct err err;

	if (program_language_command(language->run, language->file, &command, &err) < 0 ||
	    program_open(&program, request,
			 &(struct program_order){ .output_bytes = OUTPUT_MAX }) < 0 ||
	    put_code(&program, body, language->file) < 0 ||
	    program_run(&program,
			&(struct program_stage){ .command = buf_text(&command),
						 .timeout_ms = RUN_MS },
			&end) < 0)
		return;
	if (end.how == PROGRAM_FAILED)
		answer_refuse_simple(request, 500, "internal", buf_text(&end.err), NULL);
	else
		answer_end_of(request, &end);
}

static const struct program_language *find_language(const char *name)
{
	if (name == NULL || (strcmp(name, "python3") != 0 && strcmp(name, "nodejs") != 0))
		return NULL;
	return program_language_find(name);
}

static void run(struct request *request)
{
	const struct program_language *language;
	struct json_value *body;

	if (call_json_body(request, BODY_MAX, &body) < 0)
		return;
	language = find_language(json_read_text(json_read_member(body, "language"), NULL));
	if (language == NULL)
		answer_refuse_simple(request, 400, UNKNOWN_LANGUAGE, "unsupported language", NULL);
	else if (json_read_text(json_read_member(body, "code"), NULL) == NULL)
		answer_refuse_simple(request, 400, "invalid", "code is required as a string", NULL);
	else
		run_code(request, body, language);
	json_read_free(body);
}

/* ---- dependencies --------------------------------------------------------------------------- */

static bool asks_for_python(const struct http *http)
{
	const char *query = http->query;
	char name[64], value[64];
	struct err ignored;

	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &ignored) > 0)
		if (strcmp(name, "language") == 0)
			return strcmp(value, "python3") == 0;
	return true;
}

static void answer_list(struct request *request, const char *list, size_t len)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX), compact = BUF_INIT(ANSWER_MAX);
	struct json_writer json;
	enum json_kind kind;
	struct err err;

	/* The list comes from a box: check it. */
	if (json_read_compact(list, len, ANSWER_MAX, &compact, &kind, &err) < 0 ||
	    kind != JSON_KIND_ARRAY) {
		answer_refuse_simple(request, 500, "internal", "the packages cannot be listed",
				     NULL);
		return;
	}
	begin(&json, &body, 0, "success");
	json_write_object_begin(&json);
	json_write_key(&json, "dependencies");
	json_write_raw(&json, buf_text(&compact), compact.len);
	json_write_object_end(&json);
	finish(request, 200, &json, &body);
}

static void dependencies(struct request *request)
{
	cleanup_program struct program program = PROGRAM_INIT;
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	cleanup_buf struct buf unused = BUF_INIT(65536);

	if (call_check_key(request) < 0 || request_body(request, unused.max, &unused) < 0)
		return;
	if (!asks_for_python(request_head(request))) {
		answer_list(request, "[]", 2);
		return;
	}
	if (program_open(&program, request, &(struct program_order){ 0 }) < 0 ||
	    program_run(&program,
			&(struct program_stage){ .command = LIST_PYTHON, .timeout_ms = RUN_MS },
			&end) < 0)
		return;
	answer_list(request, buf_text(&end.out), end.out.len);
}

static void health(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(16);
	struct err err;

	if (request_body(request, 0, &body) == 0 && buf_adds(&body, "\"ok\"", &err) == 0)
		answer_text(request, 200, JSON, &body, NULL);
}

/* ---- a request ------------------------------------------------------------------------------ */

static void handle(struct request *request)
{
	static const struct route routes[] = {
		{ HTTP_VERB_GET, "/dify/health", health, NULL },
		{ HTTP_VERB_POST, "/dify/v1/sandbox/run", run, NULL },
		{ HTTP_VERB_GET, "/dify/v1/sandbox/dependencies", dependencies, NULL },
		{ HTTP_VERB_POST, "/dify/v1/sandbox/dependencies/update", dependencies, NULL },
		{ HTTP_VERB_GET, "/dify/v1/sandbox/dependencies/refresh", dependencies, NULL },
	};

	if (route_call(request, request_head(request)->path, routes, ARRAY_LEN(routes)) !=
	    ROUTE_HANDLED)
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

static const struct key_place keys[] = {
	{ KEY_HEADER, "x-api-key" }, { KEY_BEARER, NULL }, { KEY_NONE, NULL }
};

const struct dialect dialect_dify = {
	.name = "dify",
	.keys = keys,
	.handle = handle,
	.refuse = refuse,
};
