/*
 * json_out.c - writes a call's result as the body of an answer.
 *
 * Runs in:  the dialects.
 * Reads:    structs that passed api_check().
 * Never:    writes a field that the table does not have.
 */
#include "api/json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/calls.h"
#include "api/check.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/base64.h"
#include "codec/json_write.h"

static void write_members(struct json_writer *json, const struct api_type *type,
			  const void *value);

static void write_many(struct json_writer *json, const struct api_field *field,
		       const struct api_list *list)
{
	const char *at = list->items;

	json_write_array_begin(json);
	for (size_t i = 0; i < list->count; i++, at += field->type->size)
		write_members(json, field->type, at);
	json_write_array_end(json);
}

static void write_bytes(struct json_writer *json, const struct api_field *field,
			const struct api_bytes *bytes)
{
	if (field->kind != API_CODE)
		json_write_raw(json, bytes->data, bytes->len);
	else
		json_write_text(json, bytes->data, bytes->len);
}

static void write_time(struct json_writer *json, uint64_t ms)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(ms, text);
	json_write_string(json, text);
}

static void write_words(struct json_writer *json, const struct api_field *field, uint64_t words)
{
	json_write_array_begin(json);
	for (size_t i = 0; field->words[i] != NULL; i++)
		if ((words >> i & 1u) != 0)
			json_write_string(json, field->words[i]);
	json_write_array_end(json);
}

static void write_env(struct json_writer *json, const struct api_list *list)
{
	const char *const *items = list->items;

	json_write_object_begin(json);
	for (size_t i = 0; i < list->count; i++) {
		const size_t len = strcspn(items[i], "=");

		json_write_key_text(json, items[i], len);
		json_write_string(json, items[i] + len + 1);
	}
	json_write_object_end(json);
}

static void write_money(struct json_writer *json, uint64_t micro)
{
	char text[32];
	const int len = snprintf(text, sizeof(text), "%" PRIu64 ".%06u", micro / API_MONEY_UNIT,
				 (unsigned)(micro % API_MONEY_UNIT));

	json_write_raw(json, text, (size_t)len);
}

static void write_base64(struct json_writer *json, const struct api_bytes *bytes)
{
	cleanup_buf struct buf text = BUF_INIT(bytes->len * 2 + 16);
	struct err ignored;

	if (base64_encode(bytes->data, bytes->len, &text, &ignored) == 0)
		json_write_text(json, buf_text(&text), text.len);
	else
		json_write_null(json);
}

static void write_value(struct json_writer *json, const struct api_field *field,
			const void *value)
{
	const void *at = api_at(field, value);
	unsigned word;

	if (!api_is_given(field, value)) {
		json_write_null(json);
		return;
	}
	switch (field->kind) {
	case API_FLAG:
		json_write_bool(json, *(const bool *)at);
		return;
	case API_NUMBER:
		json_write_uint(json, *(const uint64_t *)at);
		return;
	case API_SECONDS:
		json_write_seconds(json, *(const uint64_t *)at * 1000000u);
		return;
	case API_TIME:
		write_time(json, *(const uint64_t *)at);
		return;
	case API_WORDS:
		write_words(json, field, *(const uint64_t *)at);
		return;
	case API_ONE:
		write_members(json, field->type, *(const void *const *)at);
		return;
	case API_TEXT:
	case API_ID:
		json_write_string(json, *(const char *const *)at);
		return;
	case API_WORD:
		memcpy(&word, at, sizeof(word));
		json_write_string(json, field->words[word - 1]);
		return;
	case API_MONEY:
		write_money(json, *(const uint64_t *)at);
		return;
	case API_BASE64:
		write_base64(json, at);
		return;
	case API_CODE:
	case API_JSON:
	case API_OBJECT:
		write_bytes(json, field, at);
		return;
	case API_ENV:
		write_env(json, at);
		return;
	case API_MANY:
		write_many(json, field, at);
		return;
	}
}

static void write_members(struct json_writer *json, const struct api_type *type,
			  const void *value)
{
	json_write_object_begin(json);
	for (size_t i = 0; i < type->count; i++) {
		const struct api_field *field = &type->fields[i];

		if (!api_is_given(field, value) && !field->is_nullable)
			continue;
		json_write_key(json, field->name);
		write_value(json, field, value);
	}
	json_write_object_end(json);
}

/* The field that is the whole answer: the one that is given. */
static const struct api_field *whole_of(const struct api_call *call, const void *value)
{
	const struct api_field *field = call->gives->fields;

	while (field + 1 < call->gives->fields + call->gives->count && !api_is_given(field, value))
		field++;
	return field;
}

unsigned api_status(const struct api_call *call, const void *value)
{
	const unsigned status = call->is_whole ? whole_of(call, value)->status : 0;

	return status != 0 ? status : call->status;
}

int api_write_body(const struct api_call *call, const void *value, struct buf *ret,
		   struct err *err)
{
	struct json_writer json;

	if (call->media != NULL)
		return buf_adds(ret, *(const char *const *)api_at(&call->gives->fields[0], value),
				err);
	json_write_init(&json, ret);
	if (call->is_whole)
		write_value(&json, whole_of(call, value), value);
	else
		write_members(&json, call->gives, value);
	return json_write_finish(&json, err);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void write_reached(struct json_writer *json, const char *name, uint64_t value, bool in_ms)
{
	json_write_key(json, name);
	if (in_ms)
		json_write_seconds(json, value * 1000000u);
	else
		json_write_uint(json, value);
}

const struct api_error_row *api_error_of(const struct api_failure *failure)
{
	return &api_errors[failure->error < API_ERROR_COUNT ? failure->error : API_ERR_INTERNAL];
}

int api_write_failure(const struct api_failure *failure, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "code", api_error_of(failure)->name);
	json_write_member_string(&json, "message", failure->message);
	json_write_member_string(&json, "cause", failure->cause);
	json_write_member_string(&json, "remedy", failure->remedy);
	if (failure->scope != NULL)
		json_write_member_string(&json, "scope", failure->scope);
	if (failure->quota != NULL) {
		json_write_key(&json, "quota");
		json_write_object_begin(&json);
		json_write_member_string(&json, "name", failure->quota->name);
		write_reached(&json, "value", failure->quota->value, failure->quota->in_ms);
		write_reached(&json, "limit", failure->quota->limit, failure->quota->in_ms);
		json_write_object_end(&json);
	}
	if (failure->queue != NULL) {
		json_write_key(&json, "queue");
		write_members(&json, &api_type_queue_place, failure->queue);
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}
