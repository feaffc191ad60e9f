/*
 * envelope.c - a message apart from its content: its head, usage, container and end.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    usage of a run, a session.
 * Never:    begins a stream twice, or before there is any content.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/anthropic/message.h"

#define MESSAGE_MAX ((size_t)64 * 1024 * 1024)

/* ---- usage ---------------------------------------------------------------------------------- */

void message_usage(const struct json_value *usage, struct usage *ret)
{
	*ret = (struct usage){
		.in = json_get_count(usage, "input_tokens"),
		.cached = json_get_count(usage, "cached_tokens"),
		.out = json_get_count(usage, "output_tokens"),
		.reasoning = json_get_count(usage, "reasoning_tokens"),
	};
}

static uint64_t less(uint64_t all, uint64_t before)
{
	return all > before ? all - before : 0;
}

static void write_usage(const struct message *message, struct json_writer *json)
{
	const struct usage *all = &message->usage, *before = &message->before;
	const uint64_t cached = less(all->cached, before->cached);

	json_write_key(json, "usage");
	json_write_object_begin(json);
	json_write_member_uint(json, "input_tokens", less(less(all->in, before->in), cached));
	json_write_member_uint(json, "cache_creation_input_tokens", 0);
	json_write_member_uint(json, "cache_read_input_tokens", cached);
	json_write_member_uint(json, "output_tokens", less(all->out, before->out));
	json_write_key(json, "output_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "thinking_tokens", less(all->reasoning, before->reasoning));
	json_write_object_end(json);
	json_write_key(json, "server_tool_use");
	json_write_object_begin(json);
	json_write_member_uint(json, "web_search_requests", 0);
	json_write_member_uint(json, "web_fetch_requests", 0);
	json_write_object_end(json);
	json_write_member_string(json, "service_tier", "standard");
	json_write_object_end(json);
}

/* Writes the session, which a later request can name again. */
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
	clock_rfc3339(clock_wall_ms() + (message->call_count > 0 ? message->wait_s * 1000
								   : session.idle_timeout_ms),
		      at);
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
	const uint64_t last = message->order->place.last;
	char id[NAME_SIZE];

	if (!name_swap(message->run.id, "run_", "msg_", id, sizeof(id)))
		(void)snprintf(id, sizeof(id), "msg_0");
	if (last != 0) /* a later message of the same run */
		(void)snprintf(id + strlen(id), sizeof(id) - strlen(id), "_%" PRIu64, last);
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

static void write_headers(const struct message *message, char *ret, size_t size)
{
	char limit[256];

	anthropic_limit_headers(&message->run, limit, sizeof(limit));
	(void)snprintf(ret, size, "request-id: %s\r\n%s", request_id(message->request), limit);
}

int message_begin(struct message *message)
{
	cleanup_buf struct buf out = BUF_INIT(8192);
	struct json_writer json;
	char headers[512];

	if (message->has_begun || !message->order->is_stream)
		return 0;
	message->has_begun = true;
	write_headers(message, headers, sizeof(headers));
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
	write_usage(message, &json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (sse_begin(message->request, headers) < 0)
		return -1;
	return send_json(message, &json, "message_start");
}

/* ---- its end -------------------------------------------------------------------------------- */

void message_fail(const struct message *message, unsigned status, const char *text)
{
	cleanup_buf struct buf out = BUF_INIT(16384);
	struct json_writer json;

	if (!message->has_begun) {
		/* The driver has used up its retries. */
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

static void end_stream(struct message *message, const char *reason)
{
	cleanup_buf struct buf out = BUF_INIT(8192), stop = BUF_INIT(64);
	struct json_writer json;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "message_delta");
	json_write_key(&json, "delta");
	json_write_object_begin(&json);
	json_write_member_string(&json, "stop_reason", reason);
	json_write_member_string(&json, "stop_sequence", NULL);
	write_container(message, &json);
	json_write_object_end(&json);
	write_usage(message, &json);
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

static void end_whole(struct message *message, const char *reason)
{
	cleanup_buf struct buf out = BUF_INIT(MESSAGE_MAX), content = BUF_INIT(MESSAGE_MAX);
	const struct buf *blocks = &message->blocks.content;
	struct json_writer json;
	char headers[512];
	struct err err;

	write_headers(message, headers, sizeof(headers));

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
	json_write_member_string(&json, "stop_reason", reason);
	json_write_member_string(&json, "stop_sequence", NULL);
	json_write_member_string(&json, "stop_details", NULL);
	write_container(message, &json);
	write_usage(message, &json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(message->request, 500, "internal", err.text, NULL);
	else
		answer_text(message->request, 200, ANTHROPIC_JSON, &out, headers);
}

void message_finish(struct message *message, const char *reason)
{
	if (message->order->is_stream)
		end_stream(message, reason);
	else
		end_whole(message, reason);
}

