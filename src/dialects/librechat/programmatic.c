/*
 * programmatic.c - /exec/programmatic: runs code that calls LibreChat's tools.
 *
 *   a program ──▶ tool_call_required, token ──▶ token, results ──▶ … ──▶ completed, or error
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    bodies of any client.
 * Never:    runs a program again for each round, as LibreChat's own does: the program waits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/librechat/programmatic.h"

#define RUN_MS 60000u
#define RUN_MS_MAX 300000u
#define WAIT_MS 300000u /* total time that it waits for results */
#define LEND_MS 10000u
#define PREAMBLE_MAX (256u * 1024u)
#define CODE_MAX ((size_t)4 << 20)
#define NAMES_MAX (64u * 1024u)
#define RESULT_MAX ((size_t)5 << 20)

static int refuse(struct request *request, const char *message)
{
	answer_refuse_simple(request, 400, "invalid_request", message, NULL);
	return -1;
}

static void done(struct librechat_program *program)
{
	program_code_done(&program->exec.code);
	free(program->exec.inputs);
	json_read_free(program->value);
}

/* ---- a program ------------------------------------------------------------------------------ */

/* Stores only the tools' names: as an array in the program's `value`. */
static int take_names(struct request *request, const struct json_value *body,
		      struct librechat_program *program)
{
	const struct json_value *tools = json_read_member(body, "tools");
	cleanup_buf struct buf names = BUF_INIT(NAMES_MAX);
	struct json_writer json;
	struct err err;

	if (json_read_kind(tools) != JSON_KIND_ARRAY || json_read_count(tools) == 0 ||
	    json_read_count(tools) > LIBRECHAT_TOOLS_MAX)
		return refuse(request, "tools must be an array of 1 to 100 tools");
	json_write_init(&json, &names);
	json_write_array_begin(&json);
	for (size_t i = 0; i < json_read_count(tools); i++)
		json_write_string(&json, json_get_str(json_read_at(tools, i), "name"));
	json_write_array_end(&json);
	if (json_write_finish(&json, &err) < 0 ||
	    json_read_parse(buf_text(&names), names.len, NAMES_MAX, &program->value, &err) < 0)
		return refuse(request, err.text);
	program->tools = program->value;
	return 0;
}

static int lend(struct request *request, struct librechat_program *program, const char *language,
		const struct buf *preamble)
{
	cleanup_call struct call call = CALL_INIT;

	return call_or_refuse(request, API_EXECUTE,
			      &(struct api_execute_in){
				      .session = program->exec.code.program.session,
				      .code = { preamble->data, preamble->len },
				      .language = language,
				      .has_timeout_ms = true,
				      .timeout_ms = LEND_MS },
			      NULL, &call);
}

static uint64_t timeout_of(const struct json_value *body)
{
	double ms = 0;

	if (!json_read_double(json_read_member(body, "timeout"), &ms) || ms < 1)
		return RUN_MS;
	return ms < RUN_MS_MAX ? (uint64_t)ms : RUN_MS_MAX;
}

/* The kernel's interactive bash reports each job; a child bash does not. */
static int write_code(const struct json_value *body, bool is_bash, struct buf *ret)
{
	size_t len;
	const char *code = json_read_text(json_read_member(body, "code"), &len);
	struct err err;

	return (is_bash && buf_adds(ret, "( ", &err) < 0) || buf_add(ret, code, len, &err) < 0 ||
			       (is_bash && buf_adds(ret, "\n)", &err) < 0)
		       ? -1
		       : 0;
}

static int start(struct request *request, const struct json_value *body, const char *language,
		 struct librechat_program *program)
{
	cleanup_buf struct buf code = BUF_INIT(CODE_MAX);
	cleanup_call struct call call = CALL_INIT;
	cleanup_arena struct arena arena = { 0 };
	const size_t all = json_read_count(program->tools);
	const size_t own = all < LIBRECHAT_TOOLS_OWN ? all : LIBRECHAT_TOOLS_OWN;
	const size_t count = own + (all > own);
	struct api_tool *tools = arena_new(&arena, count, sizeof(*tools));
	struct api_execute_out out;
	char name[24];

	if (write_code(body, strcmp(language, "bash") == 0, &code) < 0)
		return refuse(request, "code has at most 4 MiB");
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "t%zu", i);
		tools[i].name = i < own ? arena_text(&arena, name, strlen(name))
					: LIBRECHAT_TOOL_MORE;
	}
	if (call_or_refuse(request, API_EXECUTE,
			   &(struct api_execute_in){
				   .session = program->exec.code.program.session,
				   .code = { buf_text(&code), code.len },
				   .language = language,
				   .has_timeout_ms = true,
				   .timeout_ms = timeout_of(body),
				   .tools = { tools, count },
				   .has_wait_ms = true,
				   .wait_ms = WAIT_MS,
				   .has_background = true,
				   .background = true },
			   &out, &call) < 0)
		return -1;
	if (out.execution == NULL)
		return refuse(request, "the program did not start");
	(void)snprintf(program->execution, sizeof(program->execution), "%s", out.execution->id);
	return 0;
}

/* Starts it in its own session, which outlives the request. */
static int open_and_start(struct request *request, const struct json_value *body,
			  const char *language, const struct buf *preamble,
			  struct librechat_program *program)
{
	cleanup_call struct call call = CALL_INIT;

	if (program_open(&program->exec.code.program, request,
			 &(struct program_order){ .language = language,
						  .output_bytes = LIBRECHAT_OUTPUT_MAX,
						  .stays = true }) < 0)
		return -1;
	if (librechat_own(request, program->exec.code.program.session, program->exec.who.user,
			  "") == 0 &&
	    librechat_put_inputs(request, &program->exec) == 0 &&
	    lend(request, program, language, preamble) == 0 &&
	    start(request, body, language, program) == 0 && program_keep(request, program) == 0)
		return 0;
	(void)call_make(request, API_SESSION_DELETE,
			&(struct api_session_delete_in){
				.session = program->exec.code.program.session },
			NULL, &call);
	return -1;
}

static void run(struct request *request, const struct json_value *body,
		struct librechat_program *program)
{
	const char *lang = json_get_str(body, "lang");
	const bool is_bash = strcmp(lang, "bash") == 0;
	cleanup_buf struct buf preamble = BUF_INIT(PREAMBLE_MAX);
	struct err err;

	if (!is_bash && lang[0] != '\0' && strcmp(lang, "py") != 0 && strcmp(lang, "python") != 0)
		(void)refuse(request, "lang is python or bash");
	else if (json_read_text(json_read_member(body, "code"), NULL) == NULL)
		(void)refuse(request, "code must be a text");
	else if (take_names(request, body, program) == 0) {
		if (librechat_lend(program->tools, is_bash, &preamble, &err) < 0)
			(void)refuse(request, err.text);
		else if (librechat_find_inputs(request, body, &program->exec) == 0 &&
			 open_and_start(request, body, is_bash ? "bash" : "python", &preamble,
					program) == 0)
			program_go_on(request, program);
	}
}

/* ---- results -------------------------------------------------------------------------------- */

/* A result above a tool's size limit becomes an error that the code sees. */
static void take_result(struct arena *arena, const struct json_value *given,
			struct api_tool_result *ret)
{
	cleanup_buf struct buf value = BUF_INIT(RESULT_MAX);
	const char *message = json_get_str(given, "error_message");
	bool is_error = false;
	struct err err;

	(void)json_read_bool(json_read_member(given, "is_error"), &is_error);
	ret->id = json_get_str(given, "call_id");
	if (is_error)
		ret->error = message[0] != '\0' ? message : "the tool failed";
	else if (json_read_dump(json_read_member(given, "result"), &value, &err) < 0)
		ret->error = "the result has more than 5 MiB";
	else
		ret->value = (struct api_bytes){ arena_text(arena, buf_text(&value), value.len),
						 value.len };
}

static bool is_theirs(struct request *request, const struct json_value *body,
		      struct librechat_program *program)
{
	char session[LIBRECHAT_ID_SIZE];
	int may;

	librechat_session_id(program->exec.code.program.session, session);
	if (librechat_who(request, body, &program->exec.who) < 0)
		return false;
	may = librechat_may_use(request, session, &program->exec.who, NULL);
	if (may == 0)
		answer_refuse_simple(request, 403, "invalid_continuation_token",
				     "another user's program waits with this token", NULL);
	return may > 0;
}

static int give_results(struct request *request, const struct json_value *body,
			const struct librechat_program *program)
{
	const struct json_value *results = json_read_member(body, "tool_results");
	const size_t count = json_read_count(results);
	cleanup_call struct call call = CALL_INIT;
	cleanup_arena struct arena arena = { 0 };
	struct api_tool_result *items;
	enum call_status status;

	items = arena_new(&arena, count + 1, sizeof(*items));
	for (size_t i = 0; i < count; i++)
		take_result(&arena, json_read_at(results, i), &items[i]);
	status = call_make(request, API_EXECUTION_TOOL_RESULTS,
			   &(struct api_execution_tool_results_in){
				   .session = program->exec.code.program.session,
				   .execution = program->execution,
				   .results = { items, count } },
			   NULL, &call);
	/* A program that no longer waits has ended, or will soon: report that. */
	if (status == CALL_FAILED && call.failure->error != API_ERR_NOT_WAITING)
		call_refuse(request, call.failure);
	return status == CALL_OK ||
			       (status == CALL_FAILED && call.failure->error == API_ERR_NOT_WAITING)
		       ? 0
		       : -1;
}

static void go_on(struct request *request, const struct json_value *body, const char *token,
		  struct librechat_program *program)
{
	const struct json_value *results = json_read_member(body, "tool_results");
	const size_t count = json_read_count(results);

	if (json_read_kind(results) != JSON_KIND_ARRAY || count == 0 ||
	    count > LIBRECHAT_RESULTS_MAX)
		(void)refuse(request, "tool_results must be an array of 1 to 64 results");
	else if (program_find(request, token, program) == 0 &&
		 is_theirs(request, body, program) &&
		 program_keep(request, program) == 0 && give_results(request, body, program) == 0)
		program_go_on(request, program);
}

/* ---- requests ------------------------------------------------------------------------------- */

void librechat_programmatic(struct request *request)
{
	struct librechat_program program = { .round = 1 };
	struct json_value *body;
	const char *token;

	if (call_json_body(request, LIBRECHAT_BODY_MAX, &body) < 0)
		return;
	program_code_init(&program.exec.code, NULL);
	program.exec.code.program.request = request;
	token = json_get_str(body, "continuation_token");
	if (!librechat_expects_state(request)) {
		if (token[0] != '\0')
			go_on(request, body, token, &program);
		else
			run(request, body, &program);
	}
	done(&program);
	json_read_free(body);
}

static void answer_status(struct request *request, unsigned status, const char *text)
{
	cleanup_buf struct buf body = BUF_INIT(256);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", text);
	json_write_object_end(&json);
	librechat_answer(request, status, &json, &body);
}

void librechat_cancel(struct request *request)
{
	struct librechat_program program = { 0 };
	struct json_value *body;
	int found;

	if (call_json_body(request, LIBRECHAT_BODY_MAX, &body) < 0)
		return;
	program_code_init(&program.exec.code, NULL);
	found = program_find_request(request, json_get_str(body, "request_id"), &program);
	if (found > 0) {
		program_forget(request, &program);
		answer_status(request, 202, "cancellation_requested");
	} else if (found == 0) {
		answer_status(request, 200, "already_completed");
	}
	done(&program);
	json_read_free(body);
}
