/*
 * anthropic.c - Anthropic's API: answers, the error format, models, tokens.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    heads and bodies of any client.
 * Never:    stores anything: a container is a session, a file is an artifact of a session.
 */
#include "dialects/anthropic/anthropic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/model_api.h"

#define LIST_MAX (1024u * 1024u)
#define BYTES_OF_TOKEN 3u

/* ---- answers -------------------------------------------------------------------------------- */

const char *anthropic_error_type(unsigned status)
{
	static const struct {
		unsigned status;
		const char *type;
	} types[] = {
		{ 401, "authentication_error" }, { 403, "permission_error" },
		{ 404, "not_found_error" },	 { 410, "not_found_error" },
		{ 413, "request_too_large" },	 { 429, "rate_limit_error" },
		{ 503, "overloaded_error" },	 { 529, "overloaded_error" },
		{ 504, "timeout_error" },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].status == status)
			return types[i].type;
	return status >= 500 ? "api_error" : "invalid_request_error";
}

void anthropic_headers(const struct request *request, char *ret, size_t size)
{
	(void)snprintf(ret, size, "request-id: %s\r\n", request_id(request));
}

void anthropic_limit_headers(const struct run *run, char *ret, size_t size)
{
	const uint64_t max = run->at_once_max, now = run->at_once;

	ret[0] = '\0';
	if (max > 0)
		(void)snprintf(ret, size, "anthropic-ratelimit-requests-limit: %" PRIu64 "\r\n"
			       "anthropic-ratelimit-requests-remaining: %" PRIu64 "\r\n",
			       max, max > now ? max - now : 0);
}

void anthropic_answer(struct request *request, const struct buf *body)
{
	char headers[160];

	anthropic_headers(request, headers, sizeof(headers));
	answer_text(request, 200, ANTHROPIC_JSON, body, headers);
}

static unsigned status_of(const struct refusal *refusal)
{
	const unsigned status = model_api_status(refusal);

	return status == 503 ? 529 : status;
}

/* When to retry, and the limit if a quota was reached. */
static void write_limit(const struct refusal *refusal, char *ret, size_t size)
{
	const struct api_failure *failure = refusal->more;
	const unsigned retry_s = refusal->retry_s > 0 ? refusal->retry_s : 1;
	char at[CLOCK_RFC3339_SIZE];
	int len = snprintf(ret, size, "Retry-After: %u\r\n", retry_s);

	/* Other quotas, for example of bytes, have no such header. */
	if (failure == NULL || failure->quota == NULL || failure->quota->name == NULL ||
	    (strcmp(failure->quota->name, "agent_runs") != 0 &&
	     strcmp(failure->quota->name, "requests_per_s") != 0))
		return;
	clock_rfc3339(clock_wall_ms() + retry_s * UINT64_C(1000), at);
	(void)snprintf(ret + len, size - (size_t)len,
		       "anthropic-ratelimit-requests-limit: %" PRIu64 "\r\n"
		       "anthropic-ratelimit-requests-remaining: 0\r\n"
		       "anthropic-ratelimit-requests-reset: %s\r\n",
		       failure->quota->limit, at);
}

void anthropic_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const unsigned status = status_of(refusal);
	char headers[768], retry[320] = "", text[MODEL_API_MESSAGE_SIZE];
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "error");
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", anthropic_error_type(status));
	json_write_member_string(&json, "message", model_api_message(refusal, text));
	if (refusal->code != NULL && strcmp(refusal->code, ANTHROPIC_NO_THREADS) == 0) {
		json_write_key(&json, "details");
		json_write_object_begin(&json);
		json_write_member_string(&json, "error_code", ANTHROPIC_NO_THREADS);
		json_write_key(&json, "unsupported");
		json_write_raw(&json, "[\"thread\"]", 10);
		json_write_object_end(&json);
	}
	json_write_object_end(&json);
	json_write_member_string(&json, "request_id", request_id(request));
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0) {
		answer_break_off(request);
		return;
	}
	if (status == 429 || status == 529)
		write_limit(refusal, retry, sizeof(retry));
	(void)snprintf(headers, sizeof(headers), "request-id: %s\r\n%s%s", request_id(request),
		       retry, refusal->headers != NULL ? refusal->headers : "");
	answer_text(request, status, ANTHROPIC_JSON, &body, headers);
}

/* ---- models --------------------------------------------------------------------------------- */

static void write_model(struct json_writer *json, const char *name)
{
	json_write_object_begin(json);
	json_write_member_string(json, "type", "model");
	json_write_member_string(json, "id", name);
	json_write_member_string(json, "display_name", name);
	json_write_member_string(json, "created_at", "1970-01-01T00:00:00Z");
	json_write_member_string(json, "lifecycle", "active");
	json_write_object_end(json);
}

static void list_models(struct request *request, const char *only)
{
	cleanup_buf struct buf body = BUF_INIT(LIST_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_model_list_out out;
	const struct api_model *model;
	struct json_writer json;
	struct err err;

	if (call_or_refuse(request, API_MODEL_LIST, &(struct api_model_list_in){ 0 }, &out, &call) <
	    0)
		return;
	model = out.models.items;
	json_write_init(&json, &body);
	if (only != NULL) {
		for (size_t i = 0; i < out.models.count; i++)
			if (strcmp(model[i].name, only) == 0) {
				write_model(&json, only);
				anthropic_answer(request, &body);
				return;
			}
		answer_refuse_simple(request, 404, "not_found", "there is no such model", NULL);
		return;
	}
	json_write_object_begin(&json);
	json_write_key(&json, "data");
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.models.count; i++)
		write_model(&json, model[i].name);
	json_write_array_end(&json);
	json_write_member_bool(&json, "has_more", false);
	json_write_member_string(&json, "first_id", out.models.count > 0 ? model[0].name : NULL);
	json_write_member_string(&json, "last_id",
				 out.models.count > 0 ? model[out.models.count - 1].name : NULL);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		anthropic_answer(request, &body);
}

void anthropic_models(struct request *request, const char *rest)
{
	char name[400];

	if (rest[0] == '/' && !http_decode(rest + 1, strlen(rest + 1), name, sizeof(name)))
		answer_refuse_simple(request, 404, "not_found", "there is no such model", NULL);
	else
		list_models(request, rest[0] == '/' ? name : NULL);
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* Only the model's server could count exactly: this is the driver's estimate. */
void anthropic_count_tokens(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANTHROPIC_BODY_MAX), reply = BUF_INIT(256);
	cleanup_order struct order order = { .conversation = BUF_INIT(ANTHROPIC_CONVERSATION_MAX) };
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call) <
		    0 ||
	    request_body(request, ANTHROPIC_BODY_MAX, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0 ||
	    order_write(&order, &err) < 0)
		answer_refuse_simple(request, 400, "invalid", err.text, NULL);
	else if (buf_addf(&reply, &err, "{\"input_tokens\":%zu}",
			  order.conversation.len / BYTES_OF_TOKEN + 1) == 0)
		anthropic_answer(request, &reply);
}
