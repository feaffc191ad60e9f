/*
 * gemini.c - Gemini's API: answers and the error format.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    error messages of reckond.
 * Never:    reports an unknown model as a server error.
 */
#include "dialects/gemini/gemini.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/model_api.h"

#define TYPE_PREFIX "type.googleapis.com/google.rpc."

/* ---- answers -------------------------------------------------------------------------------- */

static const char *status_name(unsigned status)
{
	static const struct {
		unsigned status;
		const char *name;
	} names[] = {
		{ 401, "UNAUTHENTICATED" },    { 403, "PERMISSION_DENIED" },
		{ 404, "NOT_FOUND" },	       { 405, "UNIMPLEMENTED" },
		{ 409, "ABORTED" },	       { 429, "RESOURCE_EXHAUSTED" },
		{ 503, "UNAVAILABLE" },	       { 504, "DEADLINE_EXCEEDED" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].status == status)
			return names[i].name;
	return status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
}

static void write_quota(struct json_writer *json, const struct api_reached_quota *quota)
{
	char value[32];

	(void)snprintf(value, sizeof(value), "%" PRIu64, quota->limit);
	json_write_object_begin(json);
	json_write_member_string(json, "@type", TYPE_PREFIX "QuotaFailure");
	json_write_key(json, "violations");
	json_write_array_begin(json);
	json_write_object_begin(json);
	json_write_member_string(json, "quotaId", quota->name);
	json_write_member_string(json, "quotaValue", value);
	json_write_object_end(json);
	json_write_array_end(json);
	json_write_object_end(json);
}

/* Details that SDKs use: the reason for a rejected key, and when to retry. */
static void write_details(struct json_writer *json, unsigned status, const struct refusal *refusal)
{
	const struct api_failure *failure = refusal->more;
	char delay[32];

	json_write_key(json, "details");
	json_write_array_begin(json);
	if (status == 401) {
		json_write_object_begin(json);
		json_write_member_string(json, "@type", TYPE_PREFIX "ErrorInfo");
		json_write_member_string(json, "reason", "API_KEY_INVALID");
		json_write_member_string(json, "domain", "googleapis.com");
		json_write_object_end(json);
	}
	if (status == 429 || status == 503) {
		(void)snprintf(delay, sizeof(delay), "%us",
			       refusal->retry_s > 0 ? refusal->retry_s : 1);
		json_write_object_begin(json);
		json_write_member_string(json, "@type", TYPE_PREFIX "RetryInfo");
		json_write_member_string(json, "retryDelay", delay);
		json_write_object_end(json);
	}
	if (status == 429 && failure != NULL && failure->quota != NULL)
		write_quota(json, failure->quota);
	json_write_array_end(json);
}

int gemini_write_error(struct buf *ret, unsigned status, const struct refusal *refusal)
{
	char text[MODEL_API_MESSAGE_SIZE];
	struct json_writer json;
	struct err err;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_uint(&json, "code", status);
	json_write_member_string(&json, "message", model_api_message(refusal, text));
	json_write_member_string(&json, "status", status_name(status));
	write_details(&json, status, refusal);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? -1 : 0;
}

void gemini_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const unsigned status = model_api_status(refusal);
	char headers[512], retry[40] = "";

	if (gemini_write_error(&body, status, refusal) < 0) {
		answer_break_off(request);
		return;
	}
	if (status == 429 || status == 503)
		(void)snprintf(retry, sizeof(retry), "Retry-After: %u\r\n",
			       refusal->retry_s > 0 ? refusal->retry_s : 1);
	(void)snprintf(headers, sizeof(headers), "%s%s", retry,
		       refusal->headers != NULL ? refusal->headers : "");
	answer_text(request, status, GEMINI_JSON, &body, headers);
}

void gemini_answer(struct request *request, struct json_writer *json)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, GEMINI_JSON, json->out, NULL);
}

const char *gemini_header(const struct request *request, const char *name)
{
	const char *value = http_header(request_head(request), name);

	return value != NULL ? value : "";
}
