/*
 * conversations.c - Conversations: create, change and delete them; their items, one document each.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies and ids of any client; documents of the tenant.
 * Never:    loses a background response: its items are stored before any items are read.
 */
#include "dialects/openai/responses/conversations.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/openai/object.h"
#include "dialects/openai/responses/response.h"

#define ITEMS_MAX 2000u
#define ITEMS_AT_ONCE_MAX 20u

static const struct object_kind conversation_kind = { "conversation.openai.conversations", "conv_",
						      "conversation" };

/* ---- items ---------------------------------------------------------------------------------- */

static void write_seen(struct json_writer *json, const struct json_value *object, const void *arg)
{
	const bool *shows_outputs = arg;
	const char *type = json_get_text(object, "type");
	const struct json_value *value;
	const char *key;

	if (*shows_outputs || type == NULL || strcmp(type, "code_interpreter_call") != 0) {
		object_write_value(json, object);
		return;
	}
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(object, i, &key, &value); i++)
		object_write_member(json, key, strcmp(key, "outputs") == 0 ? NULL : value);
	json_write_object_end(json);
}

static bool wants_outputs(const struct request *request)
{
	const char *at = request_head(request)->query;
	char name[64], value[NAME_SIZE];
	struct err err;

	while (http_query_next(&at, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strncmp(name, "include", 7) == 0 &&
		    strcmp(value, "code_interpreter_call.outputs") == 0)
			return true;
	return false;
}

/* Answers {"object": "list", "data": the added items}. */
static void add_items(struct request *request, const char *conversation,
		      const struct json_value *items)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "object", "list");
	json_write_key(&json, "data");
	json_write_array_begin(&json);
	for (size_t i = 0; i < json_read_count(items); i++)
		if (conversation_put(request, conversation, json_read_at(items, i), NULL, &json) <
		    0)
			return;
	json_write_array_end(&json);
	json_write_member_string(&json, "first_id", NULL);
	json_write_member_string(&json, "last_id", NULL);
	json_write_member_bool(&json, "has_more", false);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
}

/* ---- background responses ------------------------------------------------------------------- */

int conversation_wait(struct request *request, const char *conversation, const char *response)
{
	char patch[NAME_SIZE + 32];

	(void)snprintf(patch, sizeof(patch), "{\"waits\":\"%s\"}", object_name(response));
	return object_remember(request, &conversation_kind, conversation, patch);
}

/* 0: no response of the conversation is running. Negative: one is, which was refused, or the client
 * is gone. */
static int settle(struct request *request, const char *conversation, const struct json_value *value)
{
	const char *response = json_get_text(value, "waits");
	const int now = response != NULL ? replay_settle(request, response) : 1;

	if (now < 0)
		return -1;
	if (now == 0) {
		answer_refuse_simple(request, 400, "conversation_locked",
				     "another response of this conversation goes on",
				     "wait for its end, or cancel it");
		return -1;
	}
	if (response != NULL)
		(void)object_remember(request, &conversation_kind, conversation,
				      "{\"waits\":null}");
	return 0;
}

static int find_settled(struct request *request, const char *id, struct json_value **ret)
{
	if (object_find(request, &conversation_kind, id, ret) < 0)
		return -1;
	return settle(request, id, *ret);
}

static void take_earlier(struct json_value *value, void *arg)
{
	struct order *order = arg;

	order->earlier =
		mem_grow(order->earlier, order->earlier_count + 1, sizeof(*order->earlier));
	order->earlier[order->earlier_count++] = value;
}

static bool is_question(const struct json_value *value)
{
	return json_get_is(json_read_member(value, "object"), "role", "user");
}

/* Drops the oldest items, up to a user message: a result without its call would be refused. */
static void cut_oldest(struct order *order)
{
	size_t from = order->earlier_count - ITEMS_MAX;

	while (from < order->earlier_count && !is_question(order->earlier[from]))
		from++;
	for (size_t i = 0; i < from; i++)
		json_read_free(order->earlier[i]);
	order->earlier_count -= from;
	memmove(order->earlier, order->earlier + from,
		order->earlier_count * sizeof(struct json_value *));
}

int conversation_load(struct request *request, struct order *order)
{
	struct json_value *value = NULL;
	char message[160];
	int rc;

	if (order->conversation[0] == '\0')
		return 0;
	rc = find_settled(request, order->conversation, &value);
	json_read_free(value);
	if (rc == 0)
		rc = conversation_check(request, json_read_member(order->body, "input"));
	if (rc == 0)
		rc = object_each(request, &conversation_item_kind, order->conversation,
				 ITEMS_MAX + 1, take_earlier, order);
	if (rc < 0 || order->earlier_count <= ITEMS_MAX)
		return rc;
	if (json_get_is(order->body, "truncation", "auto")) {
		cut_oldest(order);
		return 0;
	}
	(void)snprintf(message, sizeof(message), "conversation: it has more than %u items",
		       ITEMS_MAX);
	answer_refuse_simple(request, 400, "invalid", message,
			     "send truncation auto, which leaves out the oldest, or begin another "
			     "conversation");
	return -1;
}

/* ---- conversations -------------------------------------------------------------------------- */

static int check_items(const struct json_value *body, const struct json_value **ret,
		       struct request *request)
{
	char message[60];

	*ret = json_read_member(body, "items");
	if ((json_read_kind(*ret) == JSON_KIND_ARRAY || json_read_kind(*ret) == JSON_KIND_NULL) &&
	    json_read_count(*ret) <= ITEMS_AT_ONCE_MAX)
		return 0;
	(void)snprintf(message, sizeof(message), "items: an array of at most %u",
		       ITEMS_AT_ONCE_MAX);
	answer_refuse_simple(request, 400, "invalid", message, NULL);
	return -1;
}

static int write_shown(const char *id, const struct json_value *body, const struct json_value *was,
		       struct buf *ret, struct err *err)
{
	static const struct object_member members[] = { { "metadata", "{}" } };

	return object_write(&conversation_kind, id, body, was, members, ARRAY_LEN(members), ret,
			    err);
}

/* Creates a conversation, or changes an existing one. */
static void put(struct request *request, const char *id, const struct json_value *was)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL;
	const struct json_value *items;
	char new[NAME_SIZE];
	struct err err;

	if (object_body(request, &body) < 0)
		return;
	if (id == NULL && object_id(&conversation_kind, new) < 0)
		answer_refuse_simple(request, 500, "internal", "there is no random number", NULL);
	else if (write_shown(id != NULL ? id : new, body, was, &shown, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (check_items(body, &items, request) == 0 &&
		 conversation_check(request, items) == 0 &&
		 object_put(request, &conversation_kind, id != NULL ? id : new, NULL, &shown,
			    NULL) == 0) {
		for (size_t i = 0; id == NULL && i < json_read_count(items); i++)
			(void)conversation_put(request, new, json_read_at(items, i), NULL, NULL);
		openai_answer(request, &shown);
	}
	json_read_free(body);
}

static void change(struct request *request, const char *id)
{
	struct json_value *value = NULL;

	if (find_settled(request, id, &value) == 0)
		put(request, id, json_read_member(value, "object"));
	json_read_free(value);
}

static void delete(struct request *request, const char *id)
{
	struct json_value *value = NULL;
	const int found = object_find(request, &conversation_kind, id, &value);

	json_read_free(value);
	if (found == 0 && object_clear(request, &conversation_item_kind, id) == 0)
		object_delete(request, &conversation_kind, id);
}

/* Handles "", "/ITEM". */
static void handle_items(struct request *request, const char *id, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const bool shows_outputs = wants_outputs(request);
	struct json_value *value = NULL, *body = NULL;
	const struct json_value *items;
	cleanup_call struct call call = CALL_INIT;

	if (find_settled(request, id, &value) < 0) {
		json_read_free(value);
		return;
	}
	if (rest[0] == '\0' && verb == HTTP_VERB_GET) {
		object_list(request, &conversation_item_kind, id, write_seen, &shows_outputs);
	} else if (rest[0] == '\0' && verb == HTTP_VERB_POST) {
		if (object_body(request, &body) == 0 && check_items(body, &items, request) == 0 &&
		    conversation_check(request, items) == 0)
			add_items(request, id, items);
	} else if (rest[0] == '/' && verb == HTTP_VERB_GET) {
		object_show(request, &conversation_item_kind, rest + 1);
	} else if (rest[0] == '/' && verb == HTTP_VERB_DELETE) {
		if (call_or_refuse(request, API_DOCUMENT_DELETE,
				   &(struct api_document_delete_in){
					   .collection = conversation_item_kind.collection,
					   .id = object_name(rest + 1) }, NULL, &call) == 0)
			object_answer(request, value); /* the answer is the conversation */
	} else {
		answer_refuse_simple(request, 405, "not_found", "this method does nothing here",
				     NULL);
	}
	json_read_free(body);
	json_read_free(value);
}

void conversations_handle(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	const char *behind = rest[0] == '/' ? rest + 1 + len : rest;
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, len > 0 ? rest + 1 : "");
	if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		put(request, NULL, NULL);
	else if (len > 0 && strncmp(behind, "/items", 6) == 0)
		handle_items(request, id, behind + 6);
	else if (len > 0 && behind[0] == '\0' && verb == HTTP_VERB_GET)
		object_show(request, &conversation_kind, id);
	else if (len > 0 && behind[0] == '\0' && verb == HTTP_VERB_POST)
		change(request, id);
	else if (len > 0 && behind[0] == '\0' && verb == HTTP_VERB_DELETE)
		delete(request, id);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
}
