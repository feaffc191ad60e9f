/*
 * chat.c - answers Chat Completions: starts a run and writes it as one completion.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies of any client, events of a run.
 * Never:    shows a cell: this API has no place for it. It joins the model's texts before and after
 *           a cell.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/model_api.h"
#include "dialects/openai/openai.h"

struct chat {
	struct request *request;
	const struct order *order;
	struct run run;
	struct buf text;
	char id[NAME_SIZE];
	uint64_t created_s;
	bool has_begun, is_apart; /* is_apart: the next text belongs to another turn */
};

static int give_up(const struct chat *chat)
{
	answer_break_off(chat->request);
	return -1;
}

/* ---- head ----------------------------------------------------------------------------------- */

static void write_head(const struct chat *chat, struct json_writer *json, const char *object)
{
	json_write_member_string(json, "id", chat->id);
	json_write_member_string(json, "object", object);
	json_write_member_uint(json, "created", chat->created_s);
	json_write_member_string(json, "model", chat->order->model);
	json_write_member_string(json, "system_fingerprint", NULL);
}

static void write_usage(struct json_writer *json, const struct json_value *answer)
{
	const struct json_value *usage = json_read_member(answer, "usage");
	const uint64_t in = json_get_count(usage, "input_tokens");
	const uint64_t out = json_get_count(usage, "output_tokens");

	json_write_key(json, "usage");
	json_write_object_begin(json);
	json_write_member_uint(json, "prompt_tokens", in);
	json_write_member_uint(json, "completion_tokens", out);
	json_write_member_uint(json, "total_tokens", in + out);
	json_write_key(json, "prompt_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "cached_tokens", json_get_count(usage, "cached_tokens"));
	json_write_object_end(json);
	json_write_key(json, "completion_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "reasoning_tokens", json_get_count(usage, "reasoning_tokens"));
	json_write_object_end(json);
	json_write_object_end(json);
}

/* The finish reason; NULL: the answer is an error, not a completion. */
static const char *finish_of(const struct json_value *answer)
{
	static const struct model_api_reason reasons[] = {
		{ "answer", "stop" },	    { "tool_calls", "tool_calls" },
		{ "length", "length" },	    { "refused", "content_filter" },
		{ "max_steps", "stop" },    { "stuck", "stop" },
		{ "max_tokens", "length" }, { "budget", "length" },
		{ "max_time", "length" },
	};

	return model_api_reason_of(answer, reasons, ARRAY_LEN(reasons));
}

static int write_calls(struct json_writer *json, const struct json_value *calls, bool in_stream)
{
	json_write_key(json, "tool_calls");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(calls); i++) {
		cleanup_buf struct buf arguments = BUF_INIT(OPENAI_OUT_MAX);
		const struct json_value *call = json_read_at(calls, i);
		const struct json_value *given = json_read_member(call, "arguments");
		size_t len;
		const char *text = json_read_text(given, &len);
		struct err err;

		if ((text != NULL ? buf_add(&arguments, text, len, &err)
				  : json_read_dump(given, &arguments, &err)) < 0)
			return -1;
		json_write_object_begin(json);
		if (in_stream)
			json_write_member_uint(json, "index", i);
		json_write_member_string(json, "id", json_get_text(call, "id"));
		json_write_member_string(json, "type", "function");
		json_write_key(json, "function");
		json_write_object_begin(json);
		json_write_member_string(json, "name", json_get_text(call, "name"));
		json_write_member_text(json, "arguments", buf_text(&arguments), arguments.len);
		json_write_object_end(json);
		json_write_object_end(json);
	}
	json_write_array_end(json);
	return 0;
}

/* ---- its stream ----------------------------------------------------------------------------- */

static void begin_chunk(const struct chat *chat, struct json_writer *json, struct buf *out)
{
	json_write_init(json, out);
	json_write_object_begin(json);
	write_head(chat, json, "chat.completion.chunk");
	json_write_key(json, "choices");
	json_write_array_begin(json);
}

static void begin_delta(const struct chat *chat, struct json_writer *json, struct buf *out)
{
	begin_chunk(chat, json, out);
	json_write_object_begin(json);
	json_write_member_uint(json, "index", 0);
	json_write_key(json, "delta");
	json_write_object_begin(json);
}

static int send(const struct chat *chat, struct json_writer *json)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		return give_up(chat);
	return sse_event(chat->request, 0, NULL, json->out->data, json->out->len);
}

static int end_delta(const struct chat *chat, struct json_writer *json, const char *finish)
{
	json_write_object_end(json);
	json_write_member_string(json, "logprobs", NULL);
	json_write_member_string(json, "finish_reason", finish);
	json_write_object_end(json);
	json_write_array_end(json);
	return send(chat, json);
}

static int begin_stream(struct chat *chat)
{
	cleanup_buf struct buf out = BUF_INIT(8192);
	struct json_writer json;
	char headers[160];

	if (!chat->order->is_stream || chat->has_begun)
		return 0;
	chat->has_begun = true;
	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\n", request_id(chat->request));
	if (sse_begin(chat->request, headers) < 0)
		return -1;
	begin_delta(chat, &json, &out);
	json_write_member_string(&json, "role", "assistant");
	json_write_member_string(&json, "content", "");
	return end_delta(chat, &json, NULL);
}

static int send_text(struct chat *chat, const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	begin_delta(chat, &json, &out);
	json_write_member_text(&json, "content", text, len);
	return end_delta(chat, &json, NULL);
}

static int send_end(struct chat *chat, const struct json_value *answer)
{
	const struct json_value *options = json_read_member(chat->order->body, "stream_options");
	const struct json_value *calls = json_read_member(answer, "calls");
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX), last = BUF_INIT(8192);
	cleanup_buf struct buf delta = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	bool wants_usage = false;

	if (json_read_count(calls) > 0) {
		begin_delta(chat, &json, &delta);
		if (write_calls(&json, calls, true) < 0)
			return give_up(chat);
		if (end_delta(chat, &json, NULL) < 0)
			return -1;
	}
	begin_delta(chat, &json, &out);
	if (end_delta(chat, &json, finish_of(answer)) < 0)
		return -1;
	(void)json_read_bool(json_read_member(options, "include_usage"), &wants_usage);
	if (wants_usage) {
		begin_chunk(chat, &json, &last);
		json_write_array_end(&json);
		write_usage(&json, answer);
		if (send(chat, &json) < 0)
			return -1;
	}
	return sse_event(chat->request, 0, NULL, "[DONE]", 6);
}

/* ---- its end -------------------------------------------------------------------------------- */

static void fail(struct chat *chat, const char *why)
{
	const bool is_invalid = strncmp(why, "conversation: ", 14) == 0;
	cleanup_buf struct buf out = BUF_INIT(16384);
	struct json_writer json;

	if (!chat->has_begun) {
		/* The driver has used up its retries. */
		answer_refuse(chat->request,
			      &(struct refusal){ .status = is_invalid ? 400 : 500,
						 .code = is_invalid ? "invalid" : "server_error",
						 .message = why,
						 .headers = "x-should-retry: false\r\n" });
		return;
	}
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "message", why);
	json_write_member_string(&json, "type", "server_error");
	json_write_member_string(&json, "param", NULL);
	json_write_member_string(&json, "code", NULL);
	json_write_object_end(&json);
	if (send(chat, &json) == 0)
		answer_end(chat->request);
}

static void answer_whole(struct chat *chat, const struct json_value *answer)
{
	const struct json_value *calls = json_read_member(answer, "calls");
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	write_head(chat, &json, "chat.completion");
	json_write_key(&json, "choices");
	json_write_array_begin(&json);
	json_write_object_begin(&json);
	json_write_member_uint(&json, "index", 0);
	json_write_key(&json, "message");
	json_write_object_begin(&json);
	json_write_member_string(&json, "role", "assistant");
	if (chat->text.len > 0 || json_read_count(calls) == 0)
		json_write_member_text(&json, "content", buf_text(&chat->text), chat->text.len);
	else
		json_write_member_string(&json, "content", NULL);
	json_write_member_string(&json, "refusal", NULL);
	if (json_read_count(calls) > 0 && write_calls(&json, calls, false) < 0) {
		answer_refuse_simple(chat->request, 500, "internal", "a call is too large", NULL);
		return;
	}
	json_write_object_end(&json);
	json_write_member_string(&json, "logprobs", NULL);
	json_write_member_string(&json, "finish_reason", finish_of(answer));
	json_write_object_end(&json);
	json_write_array_end(&json);
	write_usage(&json, answer);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(chat->request, 500, "internal", err.text, NULL);
	else
		openai_answer(chat->request, &out);
}

static void end(struct chat *chat, const struct json_value *answer)
{
	const char *why = json_get_text(answer, "message");

	if (finish_of(answer) == NULL)
		fail(chat, why != NULL ? why : "the model gave no answer");
	else if (!chat->order->is_stream)
		answer_whole(chat, answer);
	else if (begin_stream(chat) == 0 && send_end(chat, answer) == 0)
		answer_end(chat->request);
}

/* ---- its events ----------------------------------------------------------------------------- */

static int take_text(struct chat *chat, const char *text, size_t len)
{
	const bool is_apart = chat->is_apart && chat->text.len > 0;
	struct err err;

	chat->is_apart = false;
	if ((is_apart && buf_adds(&chat->text, "\n\n", &err) < 0) ||
	    buf_add(&chat->text, text, len, &err) < 0) {
		fail(chat, "the answer is too large");
		return -1;
	}
	if (!chat->order->is_stream)
		return 0;
	if (begin_stream(chat) < 0 || (is_apart && send_text(chat, "\n\n", 2) < 0))
		return -1;
	return send_text(chat, text, len);
}

static void follow(struct chat *chat)
{
	struct run_event event;

	while (run_next(&chat->run, &event) != RUN_GONE) {
		if (event.kind == RUN_DONE) {
			upstream_cancel_when_gone(chat->request, 0);
			end(chat, event.json);
			return;
		}
		if (event.kind == RUN_FAILED) {
			fail(chat, event.failure->message != NULL ? event.failure->message
								  : "it could not be begun");
			return;
		}
		if (event.kind == RUN_TURN || event.kind == RUN_DISCARD)
			chat->is_apart = true;
		if (event.kind == RUN_QUIET && chat->order->is_stream &&
		    (begin_stream(chat) < 0 || sse_beat(chat->request) < 0))
			return;
		if (event.kind == RUN_TEXT && event.len > 0 &&
		    take_text(chat, event.text, event.len) < 0)
			return;
	}
}

/* ---- the request ---------------------------------------------------------------------------- */

void chat_create(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_BODY_MAX);
	cleanup_buf struct buf conversation = BUF_INIT(OPENAI_CONVERSATION_MAX);
	cleanup_order struct order order = { 0 };
	struct chat chat = { .request = request, .order = &order, .run = RUN_INIT,
			     .text = BUF_INIT(OPENAI_OUT_MAX) };
	struct api_run_create_in in = { .has_keep_conversation = true }; /* the client stores it */
	struct err err;

	if (openai_body(request, &body) < 0)
		return;
	if (chat_order_read(buf_text(&body), body.len, &order, &conversation, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	buf_done(&body);
	in.model = order.model;
	in.conversation = (struct api_bytes){ conversation.data, conversation.len };
	in.files = (struct api_list){ order.files, order.file_count };
	if (order.container != NULL)
		in.session = order.session;
	else if (!order.runs_code)
		in.template = OPENAI_CODE_LANGUAGE;
	if (run_begin(&chat.run, request, &in) == 0) {
		request_note(request, NULL, chat.run.session, NULL);
		chat.created_s = clock_wall_ms() / 1000;
		if (!name_swap(chat.run.id, "run_", "chatcmpl-", chat.id, sizeof(chat.id)))
			chat.id[0] = '\0';
		follow(&chat);
	}
	run_done(&chat.run);
	buf_done(&chat.text);
}
