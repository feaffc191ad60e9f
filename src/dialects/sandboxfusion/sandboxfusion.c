/*
 * sandboxfusion.c - validation errors of a request, and its numbers.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    bodies of any client.
 * Never:    reports a missing optional field as an error.
 */
#include "dialects/sandboxfusion/sandboxfusion.h"

#include <string.h>

#include "base/cleanup.h"

/* ---- errors --------------------------------------------------------------------------------- */

static void answer_error(struct request *request, unsigned status, struct json_writer *json,
			 struct buf *body, const char *headers)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status, FUSION_JSON, body, headers);
}

static void answer_invalid(struct request *request, const char *field, const char *message)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "detail");
	json_write_array_begin(&json);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "value_error");
	json_write_key(&json, "loc");
	json_write_array_begin(&json);
	json_write_string(&json, "body");
	if (field != NULL)
		json_write_string(&json, field);
	json_write_array_end(&json);
	json_write_member_string(&json, "msg", message);
	json_write_member_string(&json, "input", NULL);
	json_write_object_end(&json);
	json_write_array_end(&json);
	answer_error(request, 422, &json, &body, NULL);
}

int fusion_refuse_field(struct request *request, const char *field, const char *message)
{
	answer_invalid(request, field, message);
	return -1;
}

/* Reports an invalid body in the format of a validation error. */
void fusion_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const char *message = refusal->message != NULL ? refusal->message : refusal->code;
	struct json_writer json;

	if (refusal->status == 400 && strcmp(refusal->code, "invalid") == 0) {
		answer_invalid(request, NULL, message);
		return;
	}
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "detail", message);
	if (refusal->status >= 500) {
		json_write_key(&json, "traceback");
		json_write_array_begin(&json);
		json_write_array_end(&json);
	}
	answer_error(request, refusal->status, &json, &body, refusal->headers);
}

/* ---- numbers -------------------------------------------------------------------------------- */

int fusion_read_seconds(struct request *request, const struct json_value *body, const char *field,
			uint64_t *ret)
{
	const struct json_value *value = json_read_member(body, field);
	double seconds;

	if (json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (!json_read_double(value, &seconds) || seconds < 0)
		return fusion_refuse_field(request, field, "Input should be a valid number");
	if (seconds * 1000 > FUSION_TIMEOUT_MS_MAX)
		return fusion_refuse_field(request, field, "Input should be at most 3600");
	*ret = seconds * 1000 < 1 ? 1 : (uint64_t)(seconds * 1000);
	return 0;
}

int fusion_read_memory(struct request *request, const struct json_value *body, uint64_t *ret)
{
	static const char field[] = "memory_limit_MB";
	const struct json_value *value = json_read_member(body, field);
	double mib;

	*ret = 0;
	if (json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (!json_read_double(value, &mib))
		return fusion_refuse_field(request, field, "Input should be a valid integer");
	if (mib > 1 << 30)
		return fusion_refuse_field(request, field, "Input should be less");
	*ret = mib >= 1 ? (uint64_t)mib << 20 : 0;
	return 0;
}
