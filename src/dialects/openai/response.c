/*
 * response.c - a request of Responses: asked of a model, its run told as a response.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies of anybody, events of a run, the conversation that an earlier one left.
 * Never:    tells of an earlier response what its key may not see: reckond judges that.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/openai/openai.h"

struct response {
	struct request *request;
	struct order *order;
	struct run run;
	struct items items;
	char id[NAME_SIZE];
	uint64_t created_s;
};

static const char *text_of(const struct json_value *object, const char *key)
{
	return json_read_text(json_read_member(object, key), NULL);
}

/* ---- what it says of itself ------------------------------------------------------------------ */

/* As the client said it, or what holds without it. */
static void write_echo(struct json_writer *json, const struct order *order)
{
	static const struct {
		const char *key, *otherwise;
	} members[] = {
		{ "instructions", "null" },	{ "metadata", "{}" },
		{ "parallel_tool_calls", "true" }, { "temperature", "1.0" },
		{ "tool_choice", "\"auto\"" },	{ "tools", "[]" },
		{ "top_p", "1.0" },		{ "max_output_tokens", "null" },
		{ "max_tool_calls", "null" },	{ "previous_response_id", "null" },
		{ "reasoning", "{\"effort\":null,\"summary\":null}" },
		{ "service_tier", "\"default\"" }, { "store", "true" },
		{ "text", "{\"format\":{\"type\":\"text\"}}" },
		{ "truncation", "\"disabled\"" }, { "user", "null" },
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		cleanup_buf struct buf value = BUF_INIT(OPENAI_BODY_MAX);
		const struct json_value *given = json_read_member(order->body, members[i].key);
		struct err err;

		json_write_key(json, members[i].key);
		if (json_read_kind(given) != JSON_KIND_NULL &&
		    json_read_dump(given, &value, &err) == 0)
			json_write_raw(json, buf_text(&value), value.len);
		else
			json_write_raw(json, members[i].otherwise, strlen(members[i].otherwise));
	}
	json_write_member_bool(json, "background", false);
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
	const uint64_t in = count_of(usage, "input_tokens");
	const uint64_t out = count_of(usage, "output_tokens");

	json_write_key(json, "usage");
	if (usage == NULL) {
		json_write_null(json);
		return;
	}
	json_write_object_begin(json);
	json_write_member_uint(json, "input_tokens", in);
	json_write_key(json, "input_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "cached_tokens", count_of(usage, "cached_tokens"));
	json_write_member_uint(json, "cache_write_tokens", 0);
	json_write_object_end(json);
	json_write_member_uint(json, "output_tokens", out);
	json_write_key(json, "output_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "reasoning_tokens", count_of(usage, "reasoning_tokens"));
	json_write_object_end(json);
	json_write_member_uint(json, "total_tokens", in + out);
	json_write_object_end(json);
}

/* Why it is not complete; NULL: it is. */
static const char *reason_of(const struct json_value *answer)
{
	static const char *const lengths[] = { "length", "max_tokens", "budget", "max_time" };
	const char *stop = text_of(answer, "stop");

	for (size_t i = 0; stop != NULL && i < ARRAY_LEN(lengths); i++)
		if (strcmp(lengths[i], stop) == 0)
			return "max_output_tokens";
	return stop != NULL && strcmp(stop, "refused") == 0 ? "content_filter" : NULL;
}

static bool has_failed(const struct json_value *answer)
{
	const char *stop = text_of(answer, "stop");

	return stop == NULL || strcmp(stop, "failed") == 0 || strcmp(stop, "interrupted") == 0 ||
	       strcmp(stop, "session_lost") == 0;
}

static void write_why(struct json_writer *json, const char *status, const char *why,
		      const struct json_value *answer)
{
	json_write_key(json, "error");
	if (strcmp(status, "failed") == 0) {
		json_write_object_begin(json);
		json_write_member_string(json, "code", "server_error");
		json_write_member_string(json, "message", why);
		json_write_object_end(json);
	} else {
		json_write_null(json);
	}
	json_write_key(json, "incomplete_details");
	if (strcmp(status, "incomplete") == 0) {
		json_write_object_begin(json);
		json_write_member_string(json, "reason", reason_of(answer));
		json_write_object_end(json);
	} else {
		json_write_null(json);
	}
}

/* `answer` NULL: it has not ended, or has none. */
static int write_response(const struct response *response, const char *status, const char *why,
			  const struct json_value *answer, struct buf *ret)
{
	cleanup_buf struct buf output = BUF_INIT(OPENAI_OUT_MAX);
	const struct buf *items = &response->items.output;
	const char *model = response->order->model;
	struct json_writer json;
	struct err err;

	if (buf_addc(&output, '[', &err) < 0 ||
	    buf_add(&output, buf_text(items), items->len, &err) < 0 ||
	    buf_addc(&output, ']', &err) < 0)
		return -1;
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", response->id);
	json_write_member_string(&json, "object", "response");
	json_write_member_uint(&json, "created_at", response->created_s);
	json_write_member_string(&json, "status", status);
	write_why(&json, status, why, answer);
	json_write_member_string(&json, "model", model != NULL ? model : text_of(answer, "model"));
	json_write_key(&json, "output");
	json_write_raw(&json, output.data, output.len);
	write_echo(&json, response->order);
	write_usage(&json, answer);
	json_write_object_end(&json);
	return json_write_finish(&json, &err);
}

/* ---- its stream ----------------------------------------------------------------------------- */

static int send_state(struct response *response, const char *type, const char *status,
		      const char *why, const struct json_value *answer)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX), whole = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	if (write_response(response, status, why, answer, &whole) < 0) {
		answer_break_off(response->request);
		return -1;
	}
	items_event_begin(&response->items, &json, &out, type);
	json_write_key(&json, "response");
	json_write_raw(&json, whole.data, whole.len);
	return items_event_end(&response->items, &json, type);
}

static int begin_stream(struct response *response)
{
	char headers[160];

	if (!response->order->is_stream)
		return 0;
	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\n",
		       request_id(response->request));
	if (sse_begin(response->request, headers) < 0 ||
	    send_state(response, "response.created", "in_progress", NULL, NULL) < 0)
		return -1;
	return send_state(response, "response.in_progress", "in_progress", NULL, NULL);
}

/* ---- its end -------------------------------------------------------------------------------- */

static void fail(struct response *response, const char *why)
{
	const bool is_asked_wrong = strncmp(why, "conversation: ", 14) == 0;

	if (response->order->is_stream) {
		if (items_close(&response->items) == 0 &&
		    send_state(response, "response.failed", "failed", why, NULL) == 0)
			answer_end(response->request);
		return;
	}
	/* The driver has asked again as often as it may. */
	answer_refuse(response->request,
		      &(struct refusal){ .status = is_asked_wrong ? 400 : 500,
					 .code = is_asked_wrong ? "invalid" : "server_error",
					 .message = why,
					 .headers = "x-should-retry: false\r\n" });
}

static void end(struct response *response, const struct json_value *answer)
{
	const struct json_value *calls = json_read_member(answer, "calls");
	const char *why = text_of(answer, "message");
	const bool is_short = reason_of(answer) != NULL;
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);

	if (has_failed(answer)) {
		fail(response, why != NULL ? why : "the model gave no answer");
		return;
	}
	if (items_close(&response->items) < 0)
		return;
	for (size_t i = 0; i < json_read_count(calls); i++)
		if (items_call(&response->items, json_read_at(calls, i)) < 0)
			return;
	if (write_response(response, is_short ? "incomplete" : "completed", NULL, answer, &out) < 0) {
		fail(response, "the answer is too large");
		return;
	}
	/* Before it is told: a client may ask for it at once. */
	if (response->order->is_stored)
		stored_keep(response->request, response->order, response->id, &out);
	if (!response->order->is_stream)
		openai_answer(response->request, &out);
	else if (send_state(response, is_short ? "response.incomplete" : "response.completed",
			    is_short ? "incomplete" : "completed", NULL, answer) == 0)
		answer_end(response->request);
}

/* ---- its events ----------------------------------------------------------------------------- */

static int take(struct response *response, const struct run_event *event)
{
	struct items *items = &response->items;

	switch (event->kind) {
	case RUN_QUIET:
		return response->order->is_stream ? sse_beat(response->request) : 0;
	case RUN_TEXT:
		return event->len > 0 ? items_text(items, ITEM_MESSAGE, event->text, event->len) : 0;
	case RUN_THOUGHT:
		return event->len > 0 && response->order->shows_thoughts
			       ? items_text(items, ITEM_REASONING, event->text, event->len)
			       : 0;
	case RUN_CELL:
		return items_cell(items, event);
	case RUN_RECORD:
		return items_record(items, event);
	case RUN_TURN:
	case RUN_DISCARD: /* it comes again, in an item of its own */
		return items_close(items);
	case RUN_GONE:
	case RUN_CODE: /* the cell tells all of it in a moment */
	case RUN_DONE:
	case RUN_FAILED:
		break;
	}
	return 0;
}

static void follow(struct response *response)
{
	struct run_event event;

	while (run_next(&response->run, &event) != RUN_GONE) {
		if (event.kind == RUN_DONE) {
			upstream_cancel_when_gone(response->request, 0);
			end(response, event.json);
			return;
		}
		if (event.kind == RUN_FAILED) {
			fail(response, event.failure->message != NULL ? event.failure->message
								      : "it could not be begun");
			return;
		}
		if (take(response, &event) < 0)
			return;
	}
}

/* ---- what it goes on with -------------------------------------------------------------------- */

/* The session of an earlier run, when it is still there. */
static void take_session(struct request *request, const char *run, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	struct json_value *answer = NULL;
	struct api_session session;
	struct api_run_show_out out;
	const char *id = NULL;
	struct err err;

	if (call_make(request, API_RUN_SHOW, &(struct api_run_show_in){ .id = run }, &out, &call) ==
		    CALL_OK &&
	    out.answer.data != NULL &&
	    json_read_parse(out.answer.data, out.answer.len, OPENAI_OUT_MAX, &answer, &err) == 0)
		id = text_of(answer, "session");
	if (id != NULL)
		(void)snprintf(order->session, sizeof(order->session), "%s", id);
	json_read_free(answer);
	if (id == NULL ||
	    call_make(request, API_SESSION_SHOW,
		      &(struct api_session_show_in){ .session = order->session }, &session,
		      &call) != CALL_OK ||
	    strcmp(session.status, "live") != 0)
		order->session[0] = '\0';
}

static int take_previous(struct request *request, struct order *order, struct json_value **ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_run_conversation_out out;
	char run[ID_SIZE];
	struct err err;

	if (order->previous == NULL)
		return 0;
	if (!name_swap(order->previous, OPENAI_RESPONSE, "run_", run, sizeof(run)))
		(void)snprintf(run, sizeof(run), "-");
	if (call_or_refuse(request, API_RUN_CONVERSATION,
			   &(struct api_run_conversation_in){ .id = run }, &out, &call) < 0)
		return -1;
	if (json_read_parse(out.conversation.data, out.conversation.len, OPENAI_OUT_MAX, ret,
			    &err) < 0) {
		answer_refuse_simple(request, 500, "server_error", err.text, NULL);
		return -1;
	}
	if (order->container == NULL && order->runs_code)
		take_session(request, run, order);
	return 0;
}

/* ---- the request ---------------------------------------------------------------------------- */

static void answer(struct request *request, struct order *order, const struct buf *conversation)
{
	struct response response = { .request = request, .order = order, .run = RUN_INIT };
	const bool is_new = order->session[0] == '\0';
	struct api_run_create_in in = {
		.model = order->model,
		.conversation = { conversation->data, conversation->len },
		.files = { order->files, order->file_count },
		.session = is_new ? NULL : order->session,
		.has_keep_conversation = true,
		.keep_conversation = order->is_stored,
	};

	if (is_new && order->runs_code)
		in.has_keep = in.keep = true;
	else if (is_new)
		in.template = OPENAI_CODE_LANGUAGE;
	if (run_begin(&response.run, request, &in) == 0) {
		request_note(request, NULL, response.run.session, NULL);
		response.created_s = clock_wall_ms() / 1000;
		if (!name_swap(response.run.id, "run_", OPENAI_RESPONSE, response.id,
			       sizeof(response.id)))
			response.id[0] = '\0';
		items_init(&response.items, request, order, &response.run);
		if (begin_stream(&response) == 0)
			follow(&response);
		items_done(&response.items);
	}
	run_done(&response.run);
}

/* Files of the tenant go into the container before its model is asked. */
static int bring_files(struct request *request, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (order->session[0] == '\0') {
		if (call_or_refuse(request, API_SESSION_CREATE,
				   &(struct api_session_create_in){ 0 }, &session, &call) < 0)
			return -1;
		(void)snprintf(order->session, sizeof(order->session), "%s", session.id);
	}
	return files_import(request, order->file_ids, order->session, &order->told);
}

void response_create(struct request *request, const char *rest)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_BODY_MAX);
	cleanup_buf struct buf conversation = BUF_INIT(OPENAI_TALK_MAX);
	cleanup_order struct order order = { .told = BUF_INIT(64 * 1024) };
	struct json_value *before = NULL;
	struct err err;
	int rc;

	(void)rest;
	if (openai_body(request, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0) {
		openai_refuse_invalid(request, &err);
		return;
	}
	buf_done(&body);
	if (take_previous(request, &order, &before) < 0)
		return;
	if (order.runs_code && json_read_count(order.file_ids) > 0 &&
	    bring_files(request, &order) < 0) {
		json_read_free(before);
		return;
	}
	rc = order_write(&order, before, &conversation, &err);
	json_read_free(before);
	if (rc < 0)
		openai_refuse_invalid(request, &err);
	else
		answer(request, &order, &conversation);
}
