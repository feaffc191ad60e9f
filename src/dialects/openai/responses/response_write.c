/*
 * response_write.c - writes a response as JSON, with its output so far.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    the client's request, the answer of a run.
 * Never:    waits.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/response.h"

/* ---- what it says of itself ------------------------------------------------------------------ */

/* Writes the client's options, or their defaults. */
static void write_echo(struct json_writer *json, const struct order *order, bool is_unstored)
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
		if (is_unstored && strcmp(members[i].key, "store") == 0)
			json_write_bool(json, false);
		else if (json_read_kind(given) != JSON_KIND_NULL &&
		    json_read_dump(given, &value, &err) == 0)
			json_write_raw(json, buf_text(&value), value.len);
		else
			json_write_raw(json, members[i].otherwise, strlen(members[i].otherwise));
	}
	json_write_member_bool(json, "background", order->is_background);
	json_write_key(json, "conversation");
	if (order->conversation[0] == '\0') {
		json_write_null(json);
		return;
	}
	json_write_object_begin(json);
	json_write_member_string(json, "id", order->conversation);
	json_write_object_end(json);
}

static void write_usage(struct json_writer *json, const struct json_value *answer)
{
	const struct json_value *usage = json_read_member(answer, "usage");
	const uint64_t in = json_get_count(usage, "input_tokens");
	const uint64_t out = json_get_count(usage, "output_tokens");

	json_write_key(json, "usage");
	if (usage == NULL) {
		json_write_null(json);
		return;
	}
	json_write_object_begin(json);
	json_write_member_uint(json, "input_tokens", in);
	json_write_key(json, "input_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "cached_tokens", json_get_count(usage, "cached_tokens"));
	json_write_member_uint(json, "cache_write_tokens", 0);
	json_write_object_end(json);
	json_write_member_uint(json, "output_tokens", out);
	json_write_key(json, "output_tokens_details");
	json_write_object_begin(json);
	json_write_member_uint(json, "reasoning_tokens", json_get_count(usage, "reasoning_tokens"));
	json_write_object_end(json);
	json_write_member_uint(json, "total_tokens", in + out);
	json_write_object_end(json);
}

/* Why it is incomplete; NULL: it is complete. */
const char *response_reason(const struct json_value *answer)
{
	static const char *const lengths[] = { "length", "max_tokens", "budget", "max_time" };
	const char *stop = json_get_text(answer, "stop");

	for (size_t i = 0; stop != NULL && i < ARRAY_LEN(lengths); i++)
		if (strcmp(lengths[i], stop) == 0)
			return "max_output_tokens";
	return stop != NULL && strcmp(stop, "refused") == 0 ? "content_filter" : NULL;
}

bool response_has_failed(const struct json_value *answer)
{
	const char *stop = json_get_text(answer, "stop");

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
		json_write_member_string(json, "reason", response_reason(answer));
		json_write_object_end(json);
	} else {
		json_write_null(json);
	}
}

/* `answer` NULL: it has not ended, or has no answer. */
int response_write(const struct response *response, const char *status, const char *why,
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
	json_write_member_string(&json, "model",
				 model != NULL ? model : json_get_text(answer, "model"));
	json_write_key(&json, "output");
	json_write_raw(&json, output.data, output.len);
	write_echo(&json, response->order, response->is_unstored);
	write_usage(&json, answer);
	json_write_object_end(&json);
	return json_write_finish(&json, &err);
}
