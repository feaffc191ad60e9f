/*
 * gemini.c - Gemini's API: which path is what, and how an error looks.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    heads of anybody.
 * Never:    keeps anything: each request brings its conversation.
 */
#include "dialects/gemini/gemini.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define TYPE_PREFIX "type.googleapis.com/google.rpc."

extern const struct dialect dialect_gemini;

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

/* What SDKs look at beside the message: why a key is none, and when to ask again. */
static void write_details(struct json_writer *json, unsigned status, const struct refusal *refusal)
{
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
	json_write_array_end(json);
}

int gemini_write_error(struct buf *ret, unsigned status, const struct refusal *refusal)
{
	const bool has_remedy = refusal->remedy != NULL && refusal->remedy[0] != '\0';
	struct json_writer json;
	struct err err;
	char text[1200];

	(void)snprintf(text, sizeof(text), "%s%s%s", refusal->message != NULL ? refusal->message : "",
		       has_remedy ? ": " : "", has_remedy ? refusal->remedy : "");
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_uint(&json, "code", status);
	json_write_member_string(&json, "message", text);
	json_write_member_string(&json, "status", status_name(status));
	write_details(&json, status, refusal);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? -1 : 0;
}

/* The client's name of a model is nothing that is here: not the server's trouble. */
static unsigned status_of(const struct refusal *refusal)
{
	if (refusal->code != NULL && strcmp(refusal->code, "model_missing") == 0)
		return 404;
	return refusal->status == 410 ? 404 : refusal->status;
}

void gemini_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const unsigned status = status_of(refusal);
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

/* ---- routes --------------------------------------------------------------------------------- */

static void nothing(struct request *request)
{
	answer_refuse_simple(request, 404, "not_found", "there is nothing at this path", NULL);
}

/* Whether the query asks for events instead of one array. */
static bool wants_events(const struct http *http)
{
	char name[32], value[32];
	const char *at = http->query;
	struct err err;

	while (http_query_next(&at, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "alt") == 0 && strcmp(value, "sse") == 0)
			return true;
	return false;
}

static void generate(struct request *request, const char *model)
{
	request_note(request, "/v1beta/models/{model}:generateContent", NULL, NULL);
	reply_create(request, model, GEMINI_WHOLE);
}

static void stream(struct request *request, const char *model)
{
	request_note(request, "/v1beta/models/{model}:streamGenerateContent", NULL, NULL);
	reply_create(request, model,
		     wants_events(request_head(request)) ? GEMINI_EVENTS : GEMINI_ARRAY);
}

static void count(struct request *request, const char *model)
{
	(void)model;
	request_note(request, "/v1beta/models/{model}:countTokens", NULL, NULL);
	models_count_tokens(request);
}

/* NAME:METHOD; a name may have colons, too. */
static void call_method(struct request *request, char *name)
{
	static const struct {
		const char *name;
		void (*fn)(struct request *request, const char *model);
	} methods[] = {
		{ "generateContent", generate },
		{ "streamGenerateContent", stream },
		{ "countTokens", count },
	};
	char *colon = strrchr(name, ':');

	for (size_t i = 0; colon != NULL && i < ARRAY_LEN(methods); i++)
		if (strcmp(colon + 1, methods[i].name) == 0) {
			*colon = '\0';
			methods[i].fn(request, name);
			return;
		}
	nothing(request);
}

static void models(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	char name[GEMINI_MODEL_SIZE + 40];

	if (rest[0] == '\0' && verb == HTTP_VERB_GET) {
		request_note(request, "/v1beta/models", NULL, NULL);
		models_list(request);
	} else if (rest[0] != '/' ||
		   !http_decode(rest + 1, strlen(rest + 1), name, sizeof(name))) {
		nothing(request);
	} else if (verb == HTTP_VERB_POST) {
		call_method(request, name);
	} else if (verb == HTTP_VERB_GET) {
		request_note(request, "/v1beta/models/{model}", NULL, NULL);
		models_show(request, name);
	} else {
		answer_refuse_simple(request, 405, "not_found", "this method does nothing here",
				     NULL);
	}
}

/* Behind `prefix`; NULL when it does not begin so. */
static const char *behind(const char *path, const char *prefix)
{
	const size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 && (path[len] == '\0' || path[len] == '/')
		       ? path + len
		       : NULL;
}

static void files(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;

	request_note(request, rest[0] == '/' ? "/v1beta/files/{file}" : "/v1beta/files", NULL, NULL);
	if (rest[0] == '/' && verb == HTTP_VERB_GET)
		files_show(request, rest + 1);
	else if (rest[0] == '/' && verb == HTTP_VERB_DELETE)
		files_delete(request, rest + 1);
	else if (rest[0] == '\0' && verb == HTTP_VERB_GET)
		files_list(request);
	else
		answer_refuse_simple(request, 405, "not_found", "this method does nothing here",
				     NULL);
}

static void uploads(struct request *request, const char *rest)
{
	request_note(request, "/upload/v1beta/files", NULL, NULL);
	if (rest[0] != '\0' || request_head(request)->verb != HTTP_VERB_POST)
		nothing(request);
	else
		files_upload(request);
}

/* Behind the version; NULL: there is none. */
static const char *behind_version(const char *path)
{
	static const char *const versions[] = { "/v1beta", "/v1", "/v1alpha" };

	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		const char *rest = behind(path, versions[i]);

		if (rest != NULL)
			return rest;
	}
	return NULL;
}

static void handle(struct request *request)
{
	const char *path = request_head(request)->path;
	const char *rest = behind(path, "/gemini"), *end;
	bool is_upload;

	path = rest != NULL ? rest : path;
	rest = behind(path, "/upload");
	is_upload = rest != NULL;
	rest = behind_version(is_upload ? rest : path);
	if (rest != NULL && !is_upload && (end = behind(rest, "/models")) != NULL)
		models(request, end);
	else if (rest != NULL && (end = behind(rest, "/files")) != NULL)
		(is_upload ? uploads : files)(request, end);
	else
		nothing(request);
}

static const struct key_place keys[] = { { KEY_HEADER, "x-goog-api-key" },
					 { KEY_QUERY, "key" },
					 { KEY_BEARER, NULL },
					 { KEY_NONE, NULL } };

const struct dialect dialect_gemini = {
	.name = "gemini",
	.keys = keys,
	.handle = handle,
	.refuse = gemini_refuse,
};
