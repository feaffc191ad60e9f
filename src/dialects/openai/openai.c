/*
 * openai.c - OpenAI's API: answers, bodies, the error format, models.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    heads and bodies of any client.
 * Never:    stores anything: a container is a session, a response is a run.
 */
#include "dialects/openai/openai.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/model_api.h"

#define LIST_MAX (1024u * 1024u)

/* ---- answers -------------------------------------------------------------------------------- */

void openai_answer(struct request *request, const struct buf *body)
{
	char headers[160];

	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\n", request_id(request));
	answer_text(request, 200, OPENAI_JSON, body, headers);
}

/* Adds headers with the request limit, in the form that OpenAI's SDKs expect. */
static void note_limit(struct request *request, uint64_t limit, uint64_t left, uint64_t reset_ms)
{
	char lines[200];

	(void)snprintf(lines, sizeof(lines),
		       "x-ratelimit-limit-requests: %" PRIu64 "\r\n"
		       "x-ratelimit-remaining-requests: %" PRIu64 "\r\n"
		       "x-ratelimit-reset-requests: %" PRIu64 "ms\r\n",
		       limit, left, reset_ms);
	answer_note_headers(request, lines);
}

int openai_body(struct request *request, struct buf *ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_key_check_out out;

	if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, &out, &call) <
	    0)
		return -1;
	if (out.requests != NULL)
		note_limit(request, out.requests->limit, out.requests->left,
			   out.requests->reset_ms);
	return request_body(request, OPENAI_BODY_MAX, ret);
}

/* Chooses an error's status, type and code. */
static unsigned judge(const struct refusal *refusal, const char **ret_type, const char **ret_code)
{
	const char *code = refusal->code != NULL ? refusal->code : "";
	unsigned status = refusal->status;

	*ret_type = "invalid_request_error";
	*ret_code = NULL;
	if (strcmp(code, "model_missing") == 0) {
		status = 404;
		*ret_code = "model_not_found";
	} else if (status == 401) {
		*ret_code = "invalid_api_key";
	} else if (status == 429) {
		*ret_type = "requests";
		*ret_code = "rate_limit_exceeded";
	} else if (status == 410) {
		status = 404;
	} else if (status >= 500) {
		*ret_type = "server_error";
	}
	return status;
}

/* Notes the limit if it is the request quota that was reached. */
static void note_reached(struct request *request, const struct refusal *refusal)
{
	const struct api_failure *failure = refusal->more;

	if (refusal->status == 429 && failure != NULL && failure->quota != NULL &&
	    strcmp(failure->quota->name, "requests_per_s") == 0)
		note_limit(request, failure->quota->limit, 0,
			   (refusal->retry_s > 0 ? refusal->retry_s : 1) * UINT64_C(1000));
}

void openai_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const char *type, *code;
	const unsigned status = judge(refusal, &type, &code);
	char headers[512], retry[40] = "", text[MODEL_API_MESSAGE_SIZE];
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "message", model_api_message(refusal, text));
	json_write_member_string(&json, "type", type);
	json_write_member_string(&json, "param", NULL);
	json_write_member_string(&json, "code", code);
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0) {
		answer_break_off(request);
		return;
	}
	if (status == 429 || status == 503)
		(void)snprintf(retry, sizeof(retry), "Retry-After: %u\r\n",
			       refusal->retry_s > 0 ? refusal->retry_s : 1);
	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\n%s%s", request_id(request),
		       retry, refusal->headers != NULL ? refusal->headers : "");
	note_reached(request, refusal);
	answer_text(request, status, OPENAI_JSON, &body, headers);
}

/* ---- models --------------------------------------------------------------------------------- */

static void write_model(struct json_writer *json, const char *name)
{
	json_write_object_begin(json);
	json_write_member_string(json, "id", name);
	json_write_member_string(json, "object", "model");
	json_write_member_uint(json, "created", 0);
	json_write_member_string(json, "owned_by", "reckon");
	json_write_object_end(json);
}

static void write_models(struct json_writer *json, const struct api_model_list_out *out)
{
	const struct api_model *model = out->models.items;

	json_write_object_begin(json);
	json_write_member_string(json, "object", "list");
	json_write_key(json, "data");
	json_write_array_begin(json);
	for (size_t i = 0; i < out->models.count; i++)
		write_model(json, model[i].name);
	json_write_array_end(json);
	json_write_object_end(json);
}

void models_handle(struct request *request, const char *rest)
{
	cleanup_buf struct buf body = BUF_INIT(LIST_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_model_list_out out;
	struct json_writer json;
	char name[400] = "";
	bool found = rest[0] == '\0';
	struct err err;

	if (rest[0] == '/' && !http_decode(rest + 1, strlen(rest + 1), name, sizeof(name)))
		name[0] = '\0';
	if (call_or_refuse(request, API_MODEL_LIST, &(struct api_model_list_in){ 0 }, &out, &call) <
	    0)
		return;
	json_write_init(&json, &body);
	if (found)
		write_models(&json, &out);
	for (size_t i = 0; i < out.models.count && !found; i++)
		if (strcmp(((const struct api_model *)out.models.items)[i].name, name) == 0) {
			found = true;
			write_model(&json, name);
		}
	if (!found)
		answer_refuse_simple(request, 404, "model_missing", "there is no such model", NULL);
	else if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
}

void openai_write_metadata(struct json_writer *json, const struct api_bytes *metadata,
			   const char *key, const char *member, const char *other)
{
	struct json_value *document = NULL;
	const char *text = NULL;
	struct err err;

	if (metadata->data != NULL &&
	    json_read_parse(metadata->data, metadata->len, 128 * 1024, &document, &err) == 0)
		text = json_read_text(json_read_member(document, key), NULL);
	json_write_member_string(json, member, text != NULL ? text : other);
	json_read_free(document);
}

void openai_answer_json(struct request *request, struct json_writer *json)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, json->out);
}

int openai_write_value(struct json_writer *writer, const char *key, const struct json_value *value,
		       struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(OPENAI_CONVERSATION_MAX);

	if (json_read_dump(value, &json, err) < 0)
		return (int)err->code;
	json_write_key(writer, key);
	json_write_raw(writer, buf_text(&json), json.len);
	return 0;
}
