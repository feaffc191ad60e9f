/*
 * execute.c - the interpreter's POST /execute: takes code, and answers one line of JSON per event.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a body from a client; events of hostile programs, as JSON that libreckon wrote.
 * Never:    ends a stream normally when its sandbox was killed: the client would take the output so
 *           far for all of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/e2b/interpreter/interpreter.h"
#include "dialects/events.h"

#define ENV_ID "E2B_SANDBOX_ID="
#define BEAT_MS 5000u
#define BEAT "{\"type\":\"keepalive\"}\n"
#define LINE_MAX_BYTES ((size_t)96 << 20)
#define WALL_MS (86400ull * 1000)

/* ---- lines ---------------------------------------------------------------------------------- */

static int send_line(const struct e2b *e2b, struct json_writer *json)
{
	struct err err;

	if (json_write_finish(json, &err) < 0 || buf_addc(json->out, '\n', &err) < 0) {
		answer_break_off(e2b->request);
		return -1;
	}
	return answer_write(e2b->request, json->out->data, json->out->len);
}

static int send_count(const struct e2b *e2b, uint64_t count)
{
	char line[96];
	const int len = snprintf(line, sizeof(line),
				 "{\"type\":\"number_of_executions\",\"execution_count\":%" PRIu64
				 "}\n", count);

	return answer_write(e2b->request, line, (size_t)len);
}

static int send_end(const struct e2b *e2b)
{
	static const char line[] = "{\"type\":\"end_of_execution\"}\n";

	if (answer_write(e2b->request, line, sizeof(line) - 1) < 0)
		return -1;
	answer_end(e2b->request);
	return 0;
}

static int send_error(const struct e2b *e2b, const char *name, const char *value,
		      const char *traceback)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct json_writer json;

	json_write_init(&json, &line);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "error");
	json_write_member_string(&json, "name", name);
	json_write_member_string(&json, "value", value);
	json_write_member_string(&json, "traceback", traceback);
	json_write_object_end(&json);
	return send_line(e2b, &json);
}

static int send_stream(const struct e2b *e2b, const struct json_value *event)
{
	const struct json_value *value = json_read_member(event, "text");
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct json_writer json;
	const char *text;
	size_t len = 0;

	text = json_read_text(value, &len);
	json_write_init(&json, &line);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type",
				 strcmp(json_get_str(event, "name"), "stderr") == 0 ? "stderr"
										    : "stdout");
	json_write_member_text(&json, "text", text != NULL ? text : "", len);
	e2b_write_moment(&json, "timestamp", clock_wall_ms());
	json_write_object_end(&json);
	return send_line(e2b, &json);
}

static int send_result(const struct e2b *e2b, const struct json_value *event, bool is_main)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct json_writer json;

	json_write_init(&json, &line);
	e2b_write_result(&json, json_read_member(event, "data"), is_main);
	return send_line(e2b, &json);
}

/* ---- events --------------------------------------------------------------------------------- */

static int send_event(const struct e2b *e2b, const struct api_event *event)
{
	cleanup_json struct json_value *value = NULL;
	const struct json_value *error;
	struct err ignored;

	if (strcmp(event->name, "done") == 0)
		return 0;
	if (json_read_parse(event->data.data, event->data.len, LINE_MAX_BYTES, &value, &ignored) <
	    0)
		return 0; /* larger than the limit of the parser; the record has it */
	if (strcmp(event->name, "stream") == 0)
		return send_stream(e2b, value);
	if (strcmp(event->name, "execute_result") == 0)
		return send_result(e2b, value, true);
	if (strcmp(event->name, "display_data") == 0 ||
	    strcmp(event->name, "update_display_data") == 0)
		return send_result(e2b, value, false);
	if (strcmp(event->name, "error") != 0)
		return 0;
	error = json_read_member(value, "error");
	return send_error(e2b, json_get_str(error, "name"), json_get_str(error, "value"),
			  json_get_str(error, "traceback"));
}

/* The execution ended without a record. */
static int send_failure(const struct e2b *e2b, const struct api_failure *failure)
{
	if (strncmp(api_error_of(failure)->name, "session_", 8) == 0) {
		answer_break_off(e2b->request);
		return -1;
	}
	return send_error(e2b, "UnexpectedEndOfExecution", failure->message, "");
}

static void follow(const struct e2b *e2b, const struct api_execution *execution)
{
	struct api_execution_events_in in = {
		.session = e2b->target.session,
		.execution = arena_text(e2b->arena, execution->id, strlen(execution->id)),
	};
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;

	if (send_count(e2b, execution->sequence) < 0)
		return;
	events_open(&reader, e2b->request, API_EXECUTION_EVENTS, &in);
	events_go_on(&reader);
	while (events_next(&reader, BEAT_MS, &call, &next) != EVENT_END) {
		int code = 0;

		if (next.kind == EVENT_GONE)
			return;
		if (next.kind == EVENT_QUIET)
			code = stream_beat(e2b->request, BEAT, sizeof(BEAT) - 1);
		else if (next.kind == EVENT_NEXT)
			code = send_event(e2b, &next.event);
		else if (next.kind == EVENT_FAILED)
			code = send_failure(e2b, next.failure);
		if (code < 0)
			return;
	}
	(void)send_end(e2b);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* Sets the sandbox's id, because a kernel may have started before its sandbox had one. */
static void add_name(const struct e2b *e2b, struct api_list *env)
{
	const char *const *given = env->items;
	const char **items = arena_new(e2b->arena, env->count + 1, sizeof(*items));
	char *named = arena_new(e2b->arena, sizeof(ENV_ID) + E2B_ID_SIZE, 1);

	(void)snprintf(named, sizeof(ENV_ID) + E2B_ID_SIZE, ENV_ID "%s", e2b->target.sandbox);
	items[0] = named;
	for (size_t i = 0; i < env->count; i++)
		items[1 + i] = given[i];
	*env = (struct api_list){ items, env->count + 1 };
}

static bool take(const struct e2b *e2b, const struct json_value *body, struct api_execute_in *ret)
{
	const struct json_value *code = json_read_member(body, "code");
	const char *context = json_read_text(json_read_member(body, "context_id"), NULL);
	const char *language = json_read_text(json_read_member(body, "language"), NULL);

	ret->code.data = json_read_text(code, &ret->code.len);
	if (ret->code.data == NULL) {
		e2b_refuse(e2b, 400, "code must be a text");
		return false;
	}
	if (context != NULL && context[0] != '\0' && language != NULL && language[0] != '\0') {
		e2b_refuse(e2b, 400, "Only one of context_id or language can be provided");
		return false;
	}
	if (!e2b_take_env(e2b, json_read_member(body, "env_vars"), &ret->env))
		return false;
	add_name(e2b, &ret->env);
	if (context != NULL && context[0] != '\0')
		ret->context = e2b_context_of(context);
	else if (language != NULL && language[0] != '\0')
		ret->language = e2b_language_of(e2b, language);
	return true;
}

/*
 * The client applies the time-out. If a day is more than the tenant may have, its own limit holds.
 */
static int begin(const struct e2b *e2b, struct api_execute_in *in, struct api_execute_out *out,
		 struct call *call)
{
	enum call_status status;

	in->has_timeout_ms = true;
	in->timeout_ms = WALL_MS;
	status = call_make(e2b->request, API_EXECUTE, in, out, call);
	if (status == CALL_FAILED && call->failure->error == API_ERR_QUOTA_CAP) {
		in->has_timeout_ms = false;
		status = call_make(e2b->request, API_EXECUTE, in, out, call);
	}
	if (status == CALL_FAILED)
		call_refuse(e2b->request, call->failure);
	return status == CALL_OK ? 0 : -1;
}

void e2b_execute(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	struct api_execute_in in = {
		.session = e2b->target.session,
		.has_stream = true,
		.stream = true,
		.on_disconnect = API_EXECUTE_IN_ON_DISCONNECT_CANCEL,
	};
	cleanup_call struct call call = CALL_INIT;
	struct api_execute_out out;

	if (body == NULL || !take(e2b, body, &in))
		return;
	request_end_at_eof(e2b->request);
	if (begin(e2b, &in, &out, &call) < 0)
		return;
	if (out.execution == NULL) {
		e2b_refuse(e2b, 500, "there is no execution");
		return;
	}
	upstream_cancel_when_gone(e2b->request, call.frame);
	request_note(e2b->request, NULL, in.session, out.execution->id);
	if (stream_begin(e2b->request, "application/x-ndjson", E2B_CORS) == 0)
		follow(e2b, out.execution);
}
