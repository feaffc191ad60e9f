/*
 * stored_ids.c - requests with a response's id: show, list, cancel and delete it.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; documents of the tenant, which its other clients
 *           may have changed.
 * Never:    deletes a response whose run is active: it ends the run first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/responses/response.h"

#define VALUE_MAX (1024u * 1024u)

static int write_item(struct json_writer *json, const struct json_value *item, size_t index,
		      struct err *err)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
	const struct json_value *member;
	char id[40];
	const char *key;

	json_write_object_begin(json);
	if (json_read_member(item, "id") == NULL) {
		(void)snprintf(id, sizeof(id), "item_%zu", index);
		json_write_member_string(json, "id", id);
	}
	if (json_read_member(item, "type") == NULL)
		json_write_member_string(json, "type", "message");
	for (size_t i = 0; json_read_member_at(item, i, &key, &member); i++) {
		size_t len;
		const char *text = json_read_text(member, &len);

		json_write_key(json, key);
		if (strcmp(key, "content") == 0 && text != NULL) {
			json_write_array_begin(json);
			json_write_object_begin(json);
			json_write_member_string(json, "type", "input_text");
			json_write_member_text(json, "text", text, len);
			json_write_object_end(json);
			json_write_array_end(json);
			continue;
		}
		buf_clear(&value);
		if (json_read_dump(member, &value, err) < 0)
			return (int)err->code;
		json_write_raw(json, buf_text(&value), value.len);
	}
	json_write_object_end(json);
	return 0;
}

static int write_text(struct json_writer *json, const struct json_value *input)
{
	size_t len;
	const char *text = json_read_text(input, &len);

	json_write_object_begin(json);
	json_write_member_string(json, "id", "item_0");
	json_write_member_string(json, "type", "message");
	json_write_member_string(json, "role", "user");
	json_write_key(json, "content");
	json_write_array_begin(json);
	json_write_object_begin(json);
	json_write_member_string(json, "type", "input_text");
	json_write_member_text(json, "text", text, len);
	json_write_object_end(json);
	json_write_array_end(json);
	json_write_object_end(json);
	return 0;
}

/* Newest first, as in OpenAI's API. */
static int write_items(const struct json_value *input, struct buf *body, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "object", "list");
	json_write_key(&json, "data");
	json_write_array_begin(&json);
	if (json_read_kind(input) == JSON_KIND_STRING)
		(void)write_text(&json, input);
	for (size_t i = json_read_count(input); i > 0; i--)
		if (write_item(&json, json_read_at(input, i - 1), i - 1, err) < 0)
			return (int)err->code;
	json_write_array_end(&json);
	json_write_member_string(&json, "first_id", NULL);
	json_write_member_string(&json, "last_id", NULL);
	json_write_member_bool(&json, "has_more", false);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static void list_input(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct json_value *document = NULL;
	struct err err;

	if (stored_find(request, id, &document) < 0)
		return;
	if (write_items(json_read_member(document, "input"), &body, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
	json_read_free(document);
}

/* Ends the run first if it is active. */
static int delete_run(struct request *request, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	char run[ID_SIZE];

	if (!name_swap(id, OPENAI_RESPONSE, "run_", run, sizeof(run)))
		return 0;
	if (call_make(request, API_RUN_DELETE, &(struct api_run_delete_in){ .id = run }, NULL,
		      &call) != CALL_FAILED ||
	    call.failure->error == API_ERR_RUN_NOT_FOUND)
		return 0;
	if (call.failure->error != API_ERR_BUSY) {
		call_refuse(request, call.failure);
		return -1;
	}
	if (replay_stop(request, run) < 0)
		return -1;
	return call_or_refuse(request, API_RUN_DELETE, &(struct api_run_delete_in){ .id = run },
			      NULL, &call);
}

/* Deletes everything stored: the document, and the run with its conversation. */
static void delete(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct json_value *document = NULL;
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;
	struct err err;
	const int found = stored_find(request, id, &document);

	json_read_free(document);
	if (found < 0 || delete_run(request, id) < 0 ||
	    call_or_refuse(request, API_DOCUMENT_DELETE,
			   &(struct api_document_delete_in){ .collection = OPENAI_RESPONSES,
							     .id = name_id(id) },
			   NULL, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", "response");
	json_write_member_bool(&json, "deleted", true);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) == 0)
		openai_answer(request, &body);
}

/* Handles ?stream=true&starting_after=N: streams the events after number N. */
static void show(struct request *request, const char *id)
{
	const char *at = request_head(request)->query;
	char name[64], value[NAME_SIZE];
	uint64_t skips = 0;
	bool is_stream = false;
	struct err err;

	while (http_query_next(&at, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "stream") == 0)
			is_stream = strcmp(value, "true") == 0;
		else if (strcmp(name, "starting_after") == 0 && value[0] >= '0' && value[0] <= '9')
			skips = strtoull(value, NULL, 10) + 1;
	if (is_stream)
		replay_stream(request, id, skips);
	else
		replay_show(request, id);
}

static const struct {
	enum http_verb verb;
	const char *rest;
	void (*fn)(struct request *request, const char *id);
} things[] = {
	{ HTTP_VERB_GET, "", show },
	{ HTTP_VERB_DELETE, "", delete },
	{ HTTP_VERB_GET, "/input_items", list_input },
	{ HTTP_VERB_POST, "/cancel", replay_cancel },
};

void stored_handle(struct request *request, const char *rest)
{
	const struct http *http = request_head(request);
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, len > 0 ? rest + 1 : "");
	for (size_t i = 0; len > 0 && i < ARRAY_LEN(things); i++)
		if (things[i].verb == http->verb && strcmp(things[i].rest, rest + 1 + len) == 0) {
			things[i].fn(request, id);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "there is nothing at this path", NULL);
}
