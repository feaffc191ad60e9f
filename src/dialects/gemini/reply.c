/*
 * reply.c - answers generateContent: starts a run and writes it as one response or as a stream.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    bodies of any client, events of a run.
 * Never:    begins a stream before the run has any output.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/gemini/gemini.h"
#include "dialects/model_api.h"

struct reply {
	struct request *request;
	const struct order *order;
	const char *model;
	enum gemini_form form;
	struct run run;
	struct buf parts; /* not sent yet; for a whole response: all parts */
	struct buf text;  /* text since the last part of a whole response */
	size_t settled;	  /* bytes of `parts` that stay, even if the turn is discarded */
	bool is_thought;  /* of `text` */
	bool has_begun;
	struct signatures signatures;
};

/* ---- end reasons ---------------------------------------------------------------------------- */

/* NULL: there is no response, but an error. */
static const char *finish_of(const struct json_value *answer)
{
	static const struct model_api_reason reasons[] = {
		{ "answer", "STOP" },
		{ "tool_calls", "STOP" },
		{ "length", "MAX_TOKENS" },
		{ "refused", "SAFETY" },
		{ "max_steps", "TOO_MANY_TOOL_CALLS" },
		{ "stuck", "OTHER" },
		{ "max_tokens", "MAX_TOKENS" },
		{ "budget", "MAX_TOKENS" },
		{ "max_time", "MAX_TOKENS" },
	};

	return model_api_reason_of(answer, reasons, ARRAY_LEN(reasons));
}

/* The answer counts reasoning as output; Gemini's clients expect it separately. */
static void write_usage(struct json_writer *json, const struct json_value *answer)
{
	const struct json_value *usage = json_read_member(answer, "usage");
	const uint64_t in = json_get_count(usage, "input_tokens"),
		       out = json_get_count(usage, "output_tokens");
	const uint64_t thought = json_get_count(usage, "reasoning_tokens");
	const uint64_t cached = json_get_count(usage, "cached_tokens");

	json_write_key(json, "usageMetadata");
	json_write_object_begin(json);
	json_write_member_uint(json, "promptTokenCount", in);
	json_write_member_uint(json, "candidatesTokenCount", out > thought ? out - thought : 0);
	if (thought > 0)
		json_write_member_uint(json, "thoughtsTokenCount", thought);
	if (cached > 0)
		json_write_member_uint(json, "cachedContentTokenCount", cached);
	json_write_member_uint(json, "totalTokenCount", in + out);
	json_write_object_end(json);
}

/* ---- responses ------------------------------------------------------------------------------ */

/* `answer` NULL: more responses follow. */
static int write_response(const struct reply *reply, const struct json_value *answer,
			  struct json_writer *json, struct err *err)
{
	cleanup_buf struct buf parts = BUF_INIT(GEMINI_OUT_MAX);

	if (buf_addc(&parts, '[', err) < 0 ||
	    buf_add(&parts, buf_text(&reply->parts), reply->parts.len, err) < 0 ||
	    buf_addc(&parts, ']', err) < 0)
		return (int)err->code;
	json_write_object_begin(json);
	json_write_key(json, "candidates");
	json_write_array_begin(json);
	json_write_object_begin(json);
	json_write_key(json, "content");
	json_write_object_begin(json);
	json_write_key(json, "parts");
	json_write_raw(json, parts.data, parts.len);
	json_write_member_string(json, "role", "model");
	json_write_object_end(json);
	if (answer != NULL)
		json_write_member_string(json, "finishReason", finish_of(answer));
	json_write_member_uint(json, "index", 0);
	json_write_object_end(json);
	json_write_array_end(json);
	if (answer != NULL)
		write_usage(json, answer);
	json_write_member_string(json, "modelVersion", reply->model);
	json_write_member_string(json, "responseId", reply->run.id);
	json_write_object_end(json);
	return json_write_finish(json, err);
}

static int begin_stream(struct reply *reply)
{
	if (reply->has_begun)
		return 0;
	reply->has_begun = true;
	if (reply->form == GEMINI_EVENTS)
		return sse_begin(reply->request, NULL);
	if (stream_begin(reply->request, GEMINI_JSON, NULL) < 0)
		return -1;
	return answer_write(reply->request, "[", 1);
}

/* Sends one response in the form of the stream. */
static int send(struct reply *reply, const struct buf *json)
{
	const bool is_first = !reply->has_begun;

	if (begin_stream(reply) < 0)
		return -1;
	if (reply->form == GEMINI_EVENTS)
		return sse_event(reply->request, 0, NULL, json->data, json->len);
	if (!is_first && answer_write(reply->request, ",\r\n", 3) < 0)
		return -1;
	return answer_write(reply->request, json->data, json->len);
}

static int give_up(const struct reply *reply)
{
	answer_break_off(reply->request);
	return -1;
}

/* Sends the available parts, and clears them. */
static int send_parts(struct reply *reply, const struct json_value *answer)
{
	cleanup_buf struct buf out = BUF_INIT(GEMINI_OUT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	if (write_response(reply, answer, &json, &err) < 0)
		return give_up(reply);
	buf_clear(&reply->parts);
	return send(reply, &out);
}

static void end_stream(struct reply *reply)
{
	if (reply->form == GEMINI_EVENTS || answer_write(reply->request, "]", 1) == 0)
		answer_end(reply->request);
}

/* Sends a heartbeat: a comment, or white space. */
static int beat(struct reply *reply)
{
	if (reply->form == GEMINI_WHOLE || !reply->has_begun)
		return 0;
	return reply->form == GEMINI_EVENTS ? sse_beat(reply->request)
					    : stream_beat(reply->request, "\n", 1);
}

/* ---- its end -------------------------------------------------------------------------------- */

static void fail(struct reply *reply, unsigned status, const char *text)
{
	cleanup_buf struct buf out = BUF_INIT(16384);
	const struct refusal refusal = { .status = status, .code = "failed", .message = text };

	if (!reply->has_begun)
		answer_refuse(reply->request, &refusal);
	else if (gemini_write_error(&out, status, &refusal) < 0)
		answer_break_off(reply->request);
	else if (send(reply, &out) == 0)
		end_stream(reply);
}

/* An invalid conversation is the client's error; other failures are the server's. */
static void fail_as(struct reply *reply, const struct json_value *answer)
{
	const char *why = json_get_text(answer, "message");
	const bool is_invalid = why != NULL && strncmp(why, "conversation: ", 14) == 0;

	fail(reply, is_invalid ? 400 : 500, why != NULL ? why : "the model gave no answer");
}

/* For a whole response: makes a part of the text so far. */
static int flush(struct reply *reply)
{
	if (reply->text.len == 0)
		return 0;
	if (parts_text(&reply->parts, reply->is_thought, reply->text.data, reply->text.len,
		       &reply->signatures) < 0)
		return give_up(reply);
	buf_clear(&reply->text);
	return 0;
}

static void end(struct reply *reply, const struct json_value *answer)
{
	cleanup_buf struct buf out = BUF_INIT(GEMINI_OUT_MAX);
	struct json_writer json;
	struct err err;

	if (finish_of(answer) == NULL) {
		fail_as(reply, answer);
		return;
	}
	if (flush(reply) < 0)
		return;
	if (parts_calls(&reply->parts, answer, &reply->signatures) < 0 ||
	    parts_signatures(&reply->parts, &reply->signatures) < 0 ||
	    /* SDKs drop a whole turn of a chat if one of its contents has no parts. */
	    (reply->parts.len == 0 &&
	     parts_text(&reply->parts, false, "", 0, &reply->signatures) < 0)) {
		(void)give_up(reply);
		return;
	}
	if (reply->form != GEMINI_WHOLE) {
		if (send_parts(reply, answer) == 0)
			end_stream(reply);
		return;
	}
	json_write_init(&json, &out);
	if (write_response(reply, answer, &json, &err) < 0)
		answer_refuse_simple(reply->request, 500, "internal", err.text, NULL);
	else
		answer_text(reply->request, 200, GEMINI_JSON, &out, NULL);
}

/* ---- content -------------------------------------------------------------------------------- */

static int say(struct reply *reply, bool is_thought, const struct run_event *event)
{
	struct err err;

	if (event->len == 0 || (is_thought && !reply->order->shows_thoughts))
		return 0;
	if (reply->form != GEMINI_WHOLE)
		return parts_text(&reply->parts, is_thought, event->text, event->len,
				  &reply->signatures) < 0
			       ? give_up(reply)
			       : send_parts(reply, NULL);
	if (reply->is_thought != is_thought && flush(reply) < 0)
		return -1;
	reply->is_thought = is_thought;
	return buf_add(&reply->text, event->text, event->len, &err) < 0 ? give_up(reply) : 0;
}

static int add(struct reply *reply, const struct run_event *event)
{
	if (flush(reply) < 0)
		return -1;
	if ((event->kind == RUN_CELL ? parts_cell(&reply->parts, event, &reply->signatures)
				     : parts_record(&reply->parts, event)) < 0)
		return give_up(reply);
	reply->settled = reply->parts.len;
	return reply->form == GEMINI_WHOLE ? 0 : send_parts(reply, NULL);
}

static int take(struct reply *reply, const struct run_event *event)
{
	switch (event->kind) {
	case RUN_QUIET:
		return beat(reply);
	case RUN_TEXT:
	case RUN_THOUGHT:
		return say(reply, event->kind == RUN_THOUGHT, event);
	case RUN_SEALED:
		return signatures_add(&reply->signatures, event->json) < 0 ? give_up(reply) : 0;
	case RUN_CELL:
	case RUN_RECORD:
		return add(reply, event);
	case RUN_TURN:
		if (flush(reply) < 0)
			return -1;
		reply->settled = reply->parts.len;
		break;
	case RUN_DISCARD: /* the text comes again; a stream cannot take it back */
		if (reply->form == GEMINI_WHOLE) {
			buf_clear(&reply->text);
			reply->parts.len = reply->settled;
		}
		break;
	case RUN_GONE:
	case RUN_TOOL: /* the run has no tools for code */
	case RUN_CODE: /* the cell soon has all of it */
	case RUN_DONE:
	case RUN_FAILED:
		break;
	}
	return 0;
}

static void follow(struct reply *reply)
{
	struct run_event event;

	while (run_next(&reply->run, &event) != RUN_GONE) {
		if (event.kind == RUN_DONE) {
			upstream_cancel_when_gone(reply->request, 0);
			end(reply, event.json);
			return;
		}
		if (event.kind == RUN_FAILED) {
			fail(reply, 500,
			     event.failure->message != NULL ? event.failure->message
							    : "it could not be begun");
			return;
		}
		if (take(reply, &event) < 0)
			return;
	}
}

static void answer(struct request *request, const struct order *order, const char *model,
		   enum gemini_form form)
{
	struct reply reply = { .request = request,
			       .order = order,
			       .model = model,
			       .form = form,
			       .run = RUN_INIT,
			       .parts = BUF_INIT(GEMINI_OUT_MAX),
			       .text = BUF_INIT(GEMINI_OUT_MAX) };
	struct api_run_create_in in = {
		.model = model,
		.conversation = { order->conversation.data, order->conversation.len },
		.files = { order->files, order->file_count },
		.has_keep_conversation = true, /* the client stores it */
		.template = order->runs_code ? NULL : GEMINI_CODE_LANGUAGE,
	};

	if (order->session[0] != '\0') {
		in.session = order->session;
		in.template = NULL;
	}
	if (run_begin(&reply.run, request, &in) == 0) {
		request_note(request, NULL, reply.run.session, NULL);
		follow(&reply);
	}
	run_done(&reply.run);
	buf_done(&reply.parts);
	buf_done(&reply.text);
	signatures_done(&reply.signatures);
}

void reply_create(struct request *request, const char *model, enum gemini_form form)
{
	cleanup_buf struct buf body = BUF_INIT(GEMINI_BODY_MAX);
	cleanup_order struct order order = { .conversation = BUF_INIT(GEMINI_CONVERSATION_MAX) };
	struct err err;

	if (call_check_key(request) < 0 || request_body(request, GEMINI_BODY_MAX, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	buf_done(&body);
	if (files_bring(request, &order) < 0)
		return;
	if (order_write(&order, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	if (files_copy(request, &order) < 0)
		return;
	json_read_free(order.body);
	order.body = NULL;
	answer(request, &order, model, form);
	if (order.session_frame != 0) {
		upstream_cancel_when_gone(request, order.session_frame);
		upstream_cancel_now(request);
	}
}
