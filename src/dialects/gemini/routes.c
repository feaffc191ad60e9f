/*
 * routes.c - Gemini's API: maps paths to handlers.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    heads of any client.
 * Never:    stores anything: each request brings its conversation. No file calls it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/gemini/gemini.h"

extern const struct dialect dialect_gemini;

static void nothing(struct request *request)
{
	answer_refuse_simple(request, 404, "not_found", "there is nothing at this path", NULL);
}

/* Whether the query requests events instead of one array. */
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

/* NAME:METHOD; a name may contain colons, too. */
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

/* The part after `prefix`, or NULL. */
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

	request_note(request, rest[0] == '/' ? "/v1beta/files/{file}" : "/v1beta/files", NULL,
		     NULL);
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

/* The part after the version, or NULL. */
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
