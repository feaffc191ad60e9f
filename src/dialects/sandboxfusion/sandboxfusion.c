/*
 * sandboxfusion.c - SandboxFusion's API: code and notebooks for graders of models.
 *
 *   POST /sandboxfusion/run_code      a program
 *   POST /sandboxfusion/run_jupyter   cells
 *   POST /sandboxfusion/submit        a model's answer against tests that come along
 *   GET  /sandboxfusion/v1/ping
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    heads and bodies of anybody.
 * Never:    refuses for want of room before it has waited: graders count a refusal as a failure.
 */
#include "dialects/sandboxfusion/sandboxfusion.h"

#include <string.h>

#include "base/cleanup.h"

#define UNUSED_MAX (1u * 1024u * 1024u)

extern const struct dialect dialect_sandboxfusion;

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

/* What the body is not is told as a validation does. */
static void refuse(struct request *request, const struct refusal *refusal)
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

/* ---- a request ------------------------------------------------------------------------------ */

static void answer_json(struct request *request, const char *text)
{
	cleanup_buf struct buf body = BUF_INIT(64), unused = BUF_INIT(UNUSED_MAX);
	struct err err;

	if (request_body(request, UNUSED_MAX, &unused) == 0 && buf_adds(&body, text, &err) == 0)
		answer_text(request, 200, FUSION_JSON, &body, NULL);
}

static void ping(struct request *request)
{
	answer_json(request, "\"pong\"");
}

static void datasets(struct request *request)
{
	if (call_check_key(request) == 0)
		answer_json(request, "[\"CommonOJDataset\"]");
}

/* No data is here: tests come with each request. */
static void no_dataset(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(UNUSED_MAX);

	if (call_check_key(request) == 0 && request_body(request, UNUSED_MAX, &unused) == 0)
		answer_refuse_simple(request, 400, "dataset", "no data of a dataset is kept here",
				     NULL);
}

static void handle(struct request *request)
{
	static const struct {
		enum http_verb verb;
		const char *path;
		void (*fn)(struct request *request);
	} routes[] = {
		{ HTTP_VERB_POST, "/sandboxfusion/run_code", fusion_run_code },
		{ HTTP_VERB_POST, "/sandboxfusion/run_jupyter", fusion_run_jupyter },
		{ HTTP_VERB_POST, "/sandboxfusion/submit", fusion_submit },
		{ HTTP_VERB_GET, "/sandboxfusion/v1/ping", ping },
		{ HTTP_VERB_GET, "/sandboxfusion/list_datasets", datasets },
		{ HTTP_VERB_POST, "/sandboxfusion/list_ids", no_dataset },
		{ HTTP_VERB_POST, "/sandboxfusion/get_prompts", no_dataset },
		{ HTTP_VERB_POST, "/sandboxfusion/get_prompt_by_id", no_dataset },
		{ HTTP_VERB_POST, "/sandboxfusion/get_metrics", no_dataset },
		{ HTTP_VERB_POST, "/sandboxfusion/get_metrics_function", no_dataset },
	};
	const struct http *http = request_head(request);

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (http->verb == routes[i].verb && strcmp(http->path, routes[i].path) == 0) {
			request_note(request, routes[i].path, NULL, NULL);
			routes[i].fn(request);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "Not Found", NULL);
}

static const struct key_place keys[] = {
	{ KEY_BEARER, NULL }, { KEY_HEADER, "x-api-key" }, { KEY_BASIC, NULL }, { KEY_NONE, NULL }
};

const struct dialect dialect_sandboxfusion = {
	.name = "sandboxfusion",
	.keys = keys,
	.handle = handle,
	.refuse = refuse,
};
