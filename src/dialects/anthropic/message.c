/*
 * message.c - a request of Messages: asked of a model, its run told as one message.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    bodies of anybody, events of a run.
 * Never:    begins a stream before it is known that there is something to say.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/anthropic/anthropic.h"

#define MESSAGE_MAX ((size_t)64 * 1024 * 1024)

struct message {
	struct request *request;
	struct order *order;
	struct run run;
	struct blocks blocks;
	bool has_begun;
};

/* ---- how it ended --------------------------------------------------------------------------- */

static const char *text_of(const struct json_value *object, const char *key)
{
	return json_read_text(json_read_member(object, key), NULL);
}

/* NULL: there is no message, but an error. */
static const char *stop_of(const struct json_value *answer)
{
	static const struct {
		const char *stop, *reason;
	} reasons[] = {
		{ "answer", "end_turn" },   { "tool_calls", "tool_use" },
		{ "length", "max_tokens" }, { "refused", "refusal" },
		{ "max_steps", "end_turn" }, { "stuck", "end_turn" },
		{ "max_tokens", "max_tokens" }, { "budget", "max_tokens" },
		{ "max_time", "max_tokens" },
	};
	const char *stop = text_of(answer, "stop");

	for (size_t i = 0; stop != NULL && i < ARRAY_LEN(reasons); i++)
		if (strcmp(reasons[i].stop, stop) == 0)
			return reasons[i].reason;
	return NULL;
}

static uint64_t count_of(const struct json_value *usage, const char *key)
{
	int64_t count = 0;

	(void)json_read_int(json_read_member(usage, key), &count);
	return count > 0 ? (uint64_t)count : 0;
}

static void write_usage(struct json_writer *json, const struct json_value *answer)
{
	const struct json_value *usage = json_read_member(answer, "usage");
	const uint64_t cached = count_of(usage, "cached_tokens");
	const uint64_t all = count_of(usage, "input_tokens");

	json_write_key(json, "usage");
	json_write_object_begin(json);
	json_write_member_uint(json, "input_tokens", all > cached ? all - cached : 0);
	json_write_member_uint(json, "cache_creation_input_tokens", 0);
	json_write_member_uint(json, "cache_read_input_tokens", cached);
	json_write_member_uint(json, "output_tokens", count_of(usage, "output_tokens"));
	json_write_key(json, "output_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "thinking_tokens", count_of(usage, "reasoning_tokens"));
	json_write_object_end(json);
	json_write_key(json, "server_tool_use");
	json_write_null(json);
	json_write_member_string(json, "service_tier", "standard");
	json_write_object_end(json);
}

/* The session, which stays for whoever names it again. */
static void write_container(const struct message *message, struct json_writer *json)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	char id[NAME_SIZE], at[CLOCK_RFC3339_SIZE];

	json_write_key(json, "container");
	if (message->order->tool == ANTHROPIC_NO_CODE ||
	    call_make(message->request, API_SESSION_SHOW,
		      &(struct api_session_show_in){ .session = message->run.session }, &session,
		      &call) != CALL_OK ||
	    !name_swap(session.id, "se_", ANTHROPIC_CONTAINER, id, sizeof(id))) {
		json_write_null(json);
		return;
	}
	clock_rfc3339(clock_wall_ms() + session.idle_timeout_ms, at);
	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "expires_at", at);
	json_write_key(json, "skills");
	json_write_null(json);
	json_write_object_end(json);
}

/* ---- its head ------------------------------------------------------------------------------- */

static void write_head(const struct message *message, struct json_writer *json)
{
	char id[NAME_SIZE];

	if (!name_swap(message->run.id, "run_", "msg_", id, sizeof(id)))
		(void)snprintf(id, sizeof(id), "msg_0");
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "type", "message");
	json_write_member_string(json, "role", "assistant");
	json_write_member_string(json, "model", message->order->model);
}

static int send_json(const struct message *message, struct json_writer *json, const char *name)
{
	struct err err;

	if (json_write_finish(json, &err) < 0) {
		answer_break_off(message->request);
		return -1;
	}
	return sse_event(message->request, 0, name, json->out->data, json->out->len);
}

static int begin_stream(struct message *message)
{
	cleanup_buf struct buf out = BUF_INIT(8192);
	struct json_writer json;
	char headers[160];

	if (message->has_begun || !message->order->is_stream)
		return 0;
	message->has_begun = true;
	anthropic_headers(message->request, headers, sizeof(headers));
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "message_start");
	json_write_key(&json, "message");
	json_write_object_begin(&json);
	write_head(message, &json);
	json_write_key(&json, "content");
	json_write_raw(&json, "[]", 2);
	json_write_member_string(&json, "stop_reason", NULL);
	json_write_member_string(&json, "stop_sequence", NULL);
	json_write_member_string(&json, "container", NULL);
	write_usage(&json, NULL);
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (sse_begin(message->request, headers) < 0)
		return -1;
	return send_json(message, &json, "message_start");
}

/* ---- its end -------------------------------------------------------------------------------- */

static void fail(const struct message *message, unsigned status, const char *text)
{
	cleanup_buf struct buf out = BUF_INIT(16384);
	struct json_writer json;

	if (!message->has_begun) {
		/* The driver has asked again as often as it may. */
		answer_refuse(message->request, &(struct refusal){
							.status = status,
							.code = "failed",
							.message = text,
							.headers = "x-should-retry: false\r\n" });
		return;
	}
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "error");
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", anthropic_error_type(status));
	json_write_member_string(&json, "message", text);
	json_write_object_end(&json);
	json_write_member_string(&json, "request_id", request_id(message->request));
	json_write_object_end(&json);
	if (send_json(message, &json, "error") == 0)
		answer_end(message->request);
}

/* What is wrong with the conversation is the client's; all else is not. */
static void fail_as(const struct message *message, const struct json_value *answer)
{
	const char *why = text_of(answer, "message");
	const bool is_asked_wrong = why != NULL && strncmp(why, "conversation: ", 14) == 0;

	fail(message, is_asked_wrong ? 400 : 500, why != NULL ? why : "the model gave no answer");
}

/* What the application is to do. */
static int add_calls(struct message *message, const struct json_value *answer)
{
	const struct json_value *calls = json_read_member(answer, "calls");

	for (size_t i = 0; i < json_read_count(calls); i++) {
		cleanup_buf struct buf input = BUF_INIT(MESSAGE_MAX);
		const struct json_value *call = json_read_at(calls, i);
		const struct json_value *arguments = json_read_member(call, "arguments");
		struct err err;

		if (json_read_kind(arguments) != JSON_KIND_OBJECT ||
		    json_read_dump(arguments, &input, &err) < 0) {
			buf_clear(&input);
			(void)buf_adds(&input, "{}", &err);
		}
		if (blocks_call(&message->blocks, "tool_use", text_of(call, "id"),
				text_of(call, "name"), buf_text(&input), input.len) < 0)
			return -1;
	}
	return 0;
}

static void end_stream(struct message *message, const struct json_value *answer)
{
	cleanup_buf struct buf out = BUF_INIT(8192), stop = BUF_INIT(64);
	struct json_writer json;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "message_delta");
	json_write_key(&json, "delta");
	json_write_object_begin(&json);
	json_write_member_string(&json, "stop_reason", stop_of(answer));
	json_write_member_string(&json, "stop_sequence", NULL);
	write_container(message, &json);
	json_write_object_end(&json);
	write_usage(&json, answer);
	json_write_object_end(&json);
	if (send_json(message, &json, "message_delta") < 0)
		return;
	json_write_init(&json, &stop);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "message_stop");
	json_write_object_end(&json);
	if (send_json(message, &json, "message_stop") == 0)
		answer_end(message->request);
}

static void end_whole(struct message *message, const struct json_value *answer)
{
	cleanup_buf struct buf out = BUF_INIT(MESSAGE_MAX), content = BUF_INIT(MESSAGE_MAX);
	const struct buf *blocks = &message->blocks.content;
	struct json_writer json;
	struct err err;

	if (buf_addc(&content, '[', &err) < 0 ||
	    buf_add(&content, buf_text(blocks), blocks->len, &err) < 0 ||
	    buf_addc(&content, ']', &err) < 0) {
		answer_refuse_simple(message->request, 500, "internal", err.text, NULL);
		return;
	}

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	write_head(message, &json);
	json_write_key(&json, "content");
	json_write_raw(&json, content.data, content.len);
	json_write_member_string(&json, "stop_reason", stop_of(answer));
	json_write_member_string(&json, "stop_sequence", NULL);
	json_write_member_string(&json, "stop_details", NULL);
	write_container(message, &json);
	write_usage(&json, answer);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(message->request, 500, "internal", err.text, NULL);
	else
		anthropic_answer(message->request, &out);
}

static void end(struct message *message, const struct json_value *answer)
{
	if (stop_of(answer) == NULL) {
		fail_as(message, answer);
		return;
	}
	if (begin_stream(message) < 0 || blocks_close(&message->blocks) < 0 ||
	    add_calls(message, answer) < 0)
		return;
	if (message->order->is_stream)
		end_stream(message, answer);
	else
		end_whole(message, answer);
}

/* ---- its content ---------------------------------------------------------------------------- */

static int send_ping(struct message *message)
{
	static const char ping[] = "{\"type\":\"ping\"}";

	if (!message->order->is_stream)
		return 0;
	if (begin_stream(message) < 0)
		return -1;
	return sse_event(message->request, 0, "ping", ping, sizeof(ping) - 1);
}

static int take(struct message *message, const struct run_event *event)
{
	struct blocks *blocks = &message->blocks;
	const enum anthropic_tool tool = message->order->tool;

	switch (event->kind) {
	case RUN_QUIET:
		return send_ping(message);
	case RUN_TEXT:
		if (event->len == 0)
			return 0;
		return begin_stream(message) < 0
			       ? -1
			       : blocks_text(blocks, BLOCK_TEXT, event->text, event->len);
	case RUN_THOUGHT:
		if (!message->order->shows_thoughts || event->len == 0)
			return 0;
		return begin_stream(message) < 0
			       ? -1
			       : blocks_text(blocks, BLOCK_THINKING, event->text, event->len);
	case RUN_CELL:
		return begin_stream(message) < 0 ? -1 : blocks_cell(blocks, tool, event);
	case RUN_RECORD:
		return begin_stream(message) < 0 ? -1 : blocks_record(blocks, tool, event);
	case RUN_TURN:
	case RUN_DISCARD: /* it comes again, in a block of its own */
		return blocks_close(blocks);
	case RUN_GONE:
	case RUN_CODE: /* the cell tells all of it in a moment */
	case RUN_DONE:
	case RUN_FAILED:
		break;
	}
	return 0;
}

static void follow(struct message *message)
{
	struct run_event event;

	while (run_next(&message->run, &event) != RUN_GONE) {
		if (event.kind == RUN_DONE) {
			upstream_cancel_when_gone(message->request, 0);
			end(message, event.json);
			return;
		}
		if (event.kind == RUN_FAILED) {
			fail(message, 500,
			     event.failure->message != NULL ? event.failure->message
							    : "it could not be begun");
			return;
		}
		if (take(message, &event) < 0)
			return;
	}
}

/* ---- the request ---------------------------------------------------------------------------- */

/* What runs in the container says what its cells are called. */
static int look_at_container(struct request *request, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (order->container == NULL)
		return 0;
	if (call_or_refuse(request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = order->session }, &session,
			   &call) < 0)
		return -1;
	if (strcmp(session.status, "live") != 0) {
		answer_refuse_simple(request, 404, "not_found", "the container has expired", NULL);
		return -1;
	}
	if (order->tool != ANTHROPIC_NO_CODE)
		order->tool = strcmp(session.language, ANTHROPIC_SHELL_LANGUAGE) == 0 ? ANTHROPIC_BASH
								    : ANTHROPIC_PYTHON;
	return 0;
}

static const char *language_of(const struct order *order)
{
	return order->tool == ANTHROPIC_BASH ? ANTHROPIC_SHELL_LANGUAGE : NULL;
}

/* Files of the tenant go into the container before its model is asked. */
static int bring_uploads(struct request *request, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	const bool is_new = order->container == NULL;
	struct api_file_put put;
	struct api_session session;

	if (order->upload_count == 0 || order->tool == ANTHROPIC_NO_CODE)
		return 0;
	if (is_new) {
		if (call_or_refuse(request, API_SESSION_CREATE,
				   &(struct api_session_create_in){
					   .language = language_of(order) }, &session, &call) < 0)
			return -1;
		(void)snprintf(order->session, sizeof(order->session), "%s", session.id);
	}
	for (size_t i = 0; i < order->upload_count; i++) {
		struct order_upload *upload = &order->uploads[i];

		if (!is_new && !upload->is_new) /* code may have changed it */
			continue;
		if (call_or_refuse(request, API_STORED_COPY,
				   &(struct api_stored_copy_in){ .session = order->session,
								 .file = name_id(upload->file) },
				   &put, &call) < 0)
			return -1;
		upload->path = arena_text(&order->arena, put.path, strlen(put.path));
	}
	return 0;
}

static void refuse(struct request *request, const struct err *err)
{
	answer_refuse_simple(request, err->code == ERR_LIMIT ? 413 : 400, "invalid", err->text, NULL);
}

static void answer(struct request *request, struct order *order)
{
	struct message message = { .request = request, .order = order, .run = RUN_INIT };
	const bool runs_code = order->tool != ANTHROPIC_NO_CODE;
	struct api_run_create_in in = {
		.model = order->model,
		.conversation = { order->conversation.data, order->conversation.len },
		.files = { order->files, order->file_count },
		.session = order->session[0] != '\0' ? order->session : NULL,
		.has_keep_conversation = true, /* the client has it */
		.language = language_of(order),
	};

	if (in.session != NULL) {
		in.language = NULL;
	} else {
		in.has_keep = in.keep = runs_code;
		in.template = runs_code ? NULL : ANTHROPIC_CODE_LANGUAGE;
	}
	blocks_init(&message.blocks, request, order->is_stream);
	if (run_begin(&message.run, request, &in) == 0) {
		request_note(request, NULL, message.run.session, NULL);
		follow(&message);
	}
	run_done(&message.run);
	blocks_done(&message.blocks);
}

void message_create(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANTHROPIC_BODY_MAX);
	cleanup_order struct order order = { .conversation = BUF_INIT(ANTHROPIC_TALK_MAX) };
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call) <
		    0 ||
	    request_body(request, ANTHROPIC_BODY_MAX, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0) {
		refuse(request, &err);
		return;
	}
	buf_done(&body);
	if (look_at_container(request, &order) < 0 || bring_uploads(request, &order) < 0)
		return;
	if (order_write(&order, &err) < 0)
		refuse(request, &err);
	else
		answer(request, &order);
}
