/*
 * model_api.c - functions shared by the dialects of model APIs.
 *
 * Runs in:  the processes that speak the API of a model.
 * Reads:    records of hostile programs, failures of reckond.
 * Never:    shows more of a record than the client requested.
 */
#include "dialects/model_api.h"

#include <stdio.h>
#include <string.h>

#include "codec/json_get.h"

void model_api_add_text(const struct json_value *object, const char *key, struct buf *ret)
{
	size_t len;
	const char *text = json_read_text(json_read_member(object, key), &len);
	struct err full;

	if (text == NULL || len == 0)
		return;
	if (ret->len > 0 && ret->data[ret->len - 1] != '\n')
		(void)buf_addc(ret, '\n', &full);
	(void)buf_add(ret, text, len, &full);
}

void model_api_add_values(const struct json_value *record, struct buf *ret)
{
	const struct json_value *results = json_read_member(record, "results");

	for (size_t i = 0; i < json_read_count(results); i++) {
		const struct json_value *result = json_read_at(results, i);
		bool is_main = false;

		(void)json_read_bool(json_read_member(result, "is_main_result"), &is_main);
		if (is_main)
			model_api_add_text(json_read_member(result, "data"), "text/plain", ret);
	}
}

const char *model_api_message(const struct refusal *refusal, char ret[MODEL_API_MESSAGE_SIZE])
{
	const bool has_remedy = refusal->remedy != NULL && refusal->remedy[0] != '\0';

	(void)snprintf(ret, MODEL_API_MESSAGE_SIZE, "%s%s%s",
		       refusal->message != NULL ? refusal->message : "", has_remedy ? ": " : "",
		       has_remedy ? refusal->remedy : "");
	return ret;
}

unsigned model_api_status(const struct refusal *refusal)
{
	if (refusal->code != NULL && strcmp(refusal->code, "model_missing") == 0)
		return 404;
	return refusal->status == 410 ? 404 : refusal->status;
}

void model_api_order_done(struct json_value **body, struct buf *conversation, struct arena *arena)
{
	json_read_free(*body);
	*body = NULL;
	buf_done(conversation);
	arena_done(arena);
}

void model_api_end_sampling(struct json_writer *writer, int64_t max_tokens, const char *effort,
			    const struct json_value *stops)
{
	if (max_tokens > 0)
		json_write_member_uint(writer, "max_tokens", (uint64_t)max_tokens);
	if (effort != NULL)
		json_write_member_string(writer, "reasoning_effort", effort);
	json_write_key(writer, "stop");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(stops); i++)
		json_write_string(writer, json_read_text(json_read_at(stops, i), NULL));
	json_write_array_end(writer);
	json_write_object_end(writer);
}

const char *model_api_reason_of(const struct json_value *answer,
				const struct model_api_reason *reasons, size_t count)
{
	const char *stop = json_get_text(answer, "stop");

	for (size_t i = 0; stop != NULL && i < count; i++)
		if (strcmp(reasons[i].stop, stop) == 0)
			return reasons[i].reason;
	return NULL;
}
