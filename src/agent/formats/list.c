/*
 * list.c - lists the models of a server.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    hostile JSON.
 * Never:    keeps a name that cannot be typed, or more names than list.h allows.
 */
#include "agent/formats/list.h"

#include <string.h>

#include "base/cleanup.h"
#include "codec/json_read.h"

#define NAME_MAX_BYTES 255u

static int write_key(enum agent_protocol protocol, struct provider_request *request,
		     struct err *err)
{
	const char *key = request->key;

	if (key[0] == '\0')
		return 0;
	if (protocol == AGENT_PROTOCOL_MESSAGES)
		return provider_header(request, err, "x-api-key: %s", key);
	if (protocol == AGENT_PROTOCOL_GEMINI)
		return provider_header(request, err, "x-goog-api-key: %s", key);
	return provider_header(request, err, "Authorization: Bearer %s", key);
}

int list_request(enum agent_protocol protocol, struct provider_request *request, struct err *err)
{
	const bool has_version = provider_base_ends(request, "/v1") ||
				 provider_base_ends(request, "/v1beta");
	const char *path = "/models";

	if (protocol == AGENT_PROTOCOL_MESSAGES) {
		path = has_version ? "/models?limit=1000" : "/v1/models?limit=1000";
		if (provider_header(request, err, "anthropic-version: 2023-06-01") < 0)
			return (int)err->code;
	} else if (protocol == AGENT_PROTOCOL_GEMINI) {
		path = has_version ? "/models?pageSize=1000" : "/v1beta/models?pageSize=1000";
	}
	if (provider_url(request, path, err) < 0)
		return (int)err->code;
	return write_key(protocol, request, err);
}

void list_init(struct list *list)
{
	*list = (struct list){ .names = BUF_INIT(AGENT_NAMES_BYTES) };
}

void list_done(struct list *list)
{
	buf_done(&list->names);
}

/* Gemini lists the methods that each model supports. */
static bool can_answer(const struct json_value *model)
{
	const struct json_value *methods = json_read_member(model, "supportedGenerationMethods");

	for (size_t i = 0; i < json_read_count(methods); i++) {
		const char *method = json_read_text(json_read_at(methods, i), NULL);

		if (method != NULL && strcmp(method, "generateContent") == 0)
			return true;
	}
	return methods == NULL;
}

/* The name to use after "PROVIDER/". */
static const char *name_of(const struct json_value *model, size_t *ret_len)
{
	static const char *const keys[] = { "id", "name", "model" };
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_LEN(keys) && name == NULL; i++)
		name = json_read_text(json_read_member(model, keys[i]), ret_len);
	if (name == NULL || *ret_len == 0)
		return NULL;
	if (strncmp(name, "models/", 7) == 0) {
		name += 7;
		*ret_len -= 7;
	}
	if (*ret_len == 0 || *ret_len > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; i < *ret_len; i++)
		if ((unsigned char)name[i] <= 0x20 || name[i] == 0x7f)
			return NULL;
	return name;
}

/* OpenAI and Anthropic use "data", Gemini "models", and some servers send only the array. */
static const struct json_value *find_list(const struct json_value *document)
{
	static const char *const keys[] = { "data", "models" };

	if (json_read_kind(document) == JSON_KIND_ARRAY)
		return document;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct json_value *list = json_read_member(document, keys[i]);

		if (json_read_kind(list) == JSON_KIND_ARRAY)
			return list;
	}
	return NULL;
}

int list_read(const char *json, size_t len, struct list *ret, struct err *err)
{
	struct json_value *document = NULL;
	const struct json_value *models;
	unsigned name_count = 0;

	if (json_read_parse(json, len, LIST_ANSWER_MAX, &document, err) < 0)
		return err_set(err, ERR_PROTOCOL, "the answer is not JSON");
	models = find_list(document);
	for (size_t i = 0; i < json_read_count(models); i++) {
		const struct json_value *model = json_read_at(models, i);
		struct err full; /* further names are only counted */
		size_t name_len = 0;
		const char *name;

		if (!can_answer(model))
			continue;
		ret->count++;
		name = name_of(model, &name_len);
		if (name == NULL || name_count == AGENT_NAMES_MAX ||
		    ret->names.len + name_len + 1 > ret->names.max)
			continue;
		if (buf_add(&ret->names, name, name_len, &full) == 0 &&
		    buf_addc(&ret->names, '\n', &full) == 0)
			name_count++;
	}
	json_read_free(document);
	return models != NULL ? 0
			      : err_set(err, ERR_PROTOCOL, "the answer is not a list of models");
}
