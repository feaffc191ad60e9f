/*
 * conversation_items.c - items of a conversation, including those of responses, one document each.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    items of any client; text of models.
 * Never:    fails a response because its items cannot be stored.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/object.h"
#include "dialects/openai/responses/references.h"

/* A string as content is one part. */
static void write_content(struct json_writer *json, const struct json_value *item,
			  const struct json_value *content)
{
	const char *role = json_get_text(item, "role");
	const bool is_model = role != NULL && strcmp(role, "assistant") == 0;
	size_t len;
	const char *text = json_read_text(content, &len);

	json_write_key(json, "content");
	if (text == NULL) {
		object_write_value(json, content);
		return;
	}
	json_write_array_begin(json);
	json_write_object_begin(json);
	json_write_member_string(json, "type", is_model ? "output_text" : "input_text");
	json_write_member_text(json, "text", text, len);
	if (is_model) {
		json_write_key(json, "annotations");
		json_write_raw(json, "[]", 2);
	}
	json_write_object_end(json);
	json_write_array_end(json);
}

static void write_item(struct json_writer *json, const struct json_value *item, const char *id)
{
	const struct json_value *value;
	const char *key;

	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	if (json_read_member(item, "type") == NULL)
		json_write_member_string(json, "type", "message");
	if (json_read_member(item, "status") == NULL)
		json_write_member_string(json, "status", "completed");
	for (size_t i = 0; json_read_member_at(item, i, &key, &value); i++)
		if (strcmp(key, "content") == 0)
			write_content(json, item, value);
		else if (strcmp(key, "id") != 0)
			object_write_member(json, key, value);
	json_write_object_end(json);
}

/* What a response was asked in one text; NULL when it is too long for anything. */
static struct json_value *item_of_text(const struct json_value *text)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX);
	struct json_value *document = NULL;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &item);
	json_write_object_begin(&json);
	json_write_member_string(&json, "role", "user");
	object_write_member(&json, "content", text);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0 ||
	    json_read_parse(buf_text(&item), item.len, OPENAI_OUT_MAX, &document, &err) < 0)
		return NULL;
	return document;
}

/* As long as it can become: with the longest id, and with what object_put() writes around it. */
static bool can_be_kept(const struct json_value *item)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &shown);
	write_item(&json, item, "msg_01ARZ3NDEKTSV4RRFFQ69G5FAVi99999");
	return json_write_finish(&json, &err) == 0 &&
	       shown.len + strlen("{\"object\":}") <= OBJECT_MAX;
}

int conversation_check(struct request *request, const struct json_value *items)
{
	const bool is_text = json_read_kind(items) == JSON_KIND_STRING;
	struct json_value *item = is_text ? item_of_text(items) : NULL;
	bool fits = !is_text || can_be_kept(item);

	for (size_t i = 0; fits && i < json_read_count(items); i++)
		fits = can_be_kept(json_read_at(items, i));
	json_read_free(item);
	if (!fits)
		answer_refuse_simple(request, 413, "limit",
				     "an item of a conversation has at most 1 MiB as JSON",
				     "name a large image or file by its file_id");
	return fits ? 0 : -1;
}

int conversation_put(struct request *request, const char *conversation,
		     const struct json_value *item, const char *given, struct json_writer *list)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_writer json;
	char id[NAME_SIZE];
	struct err err;

	if (given != NULL)
		(void)snprintf(id, sizeof(id), "%s", given);
	else if (object_id(&conversation_item_kind, id) < 0)
		return -1;
	json_write_init(&json, &shown);
	write_item(&json, item, id);
	if (json_write_finish(&json, &err) < 0) {
		if (list != NULL)
			answer_refuse_invalid(request, &err);
		return -1;
	}
	if (list == NULL)
		return object_store(request, &conversation_item_kind, id, conversation, &shown,
				    NULL);
	json_write_raw(list, shown.data, shown.len);
	return object_put(request, &conversation_item_kind, id, conversation, &shown, NULL);
}

/* The id of a response's index-th input: the same for every process that stores it. */
static void input_id(const char *response, size_t index, char ret[NAME_SIZE])
{
	char name[NAME_SIZE];

	if (!name_swap(response, OPENAI_RESPONSE, "msg_", name, sizeof(name)))
		name[0] = '\0';
	(void)snprintf(ret, NAME_SIZE, "%.50si%03zu", name, index);
}

static void extend_by_text(struct request *request, const char *conversation, const char *response,
			   const struct json_value *text)
{
	struct json_value *item = item_of_text(text);
	char id[NAME_SIZE];

	input_id(response, 0, id);
	if (item != NULL)
		(void)conversation_put(request, conversation, item, id, NULL);
	json_read_free(item);
}

void conversation_extend(struct request *request, const char *conversation, const char *response,
			 const struct json_value *input, const struct items *items)
{
	cleanup_buf struct buf list = BUF_INIT(OPENAI_OUT_MAX);
	struct json_value *output = NULL;
	char id[NAME_SIZE];
	struct err err;

	if (json_read_kind(input) == JSON_KIND_STRING)
		extend_by_text(request, conversation, response, input);
	for (size_t i = 0; i < json_read_count(input); i++) {
		if (references_is(json_read_at(input, i)))
			continue; /* it is already stored elsewhere */
		input_id(response, i, id);
		(void)conversation_put(request, conversation, json_read_at(input, i), id, NULL);
	}
	if (buf_addc(&list, '[', &err) < 0 ||
	    buf_add(&list, buf_text(&items->kept), items->kept.len, &err) < 0 ||
	    buf_addc(&list, ']', &err) < 0 ||
	    json_read_parse(list.data, list.len, OPENAI_OUT_MAX, &output, &err) < 0)
		return;
	for (size_t i = 0; i < json_read_count(output); i++) {
		const struct json_value *item = json_read_at(output, i);

		(void)conversation_put(request, conversation, item, json_get_text(item, "id"),
				       NULL);
	}
	json_read_free(output);
}
