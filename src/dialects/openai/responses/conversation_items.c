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
#include "base/utf8.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/object.h"
#include "dialects/openai/responses/references.h"

/* Writes content that is a string as a list of one part. */
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

/* Makes an item of an input that is a single text. NULL: it is too long. */
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

/* Whether the item fits a document, with the longest possible id and what object_put() adds. */
static bool fits_document(const struct json_value *item)
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
	bool fits = !is_text || fits_document(item);

	for (size_t i = 0; fits && i < json_read_count(items); i++)
		fits = fits_document(json_read_at(items, i));
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

/* ---- items of a model that are too long ------------------------------------------------------ */

/* Writes the value, with each text cut after `max` bytes. Sealed text is whole or null. */
static void write_cut(struct json_writer *json, const char *key, const struct json_value *value,
		      size_t max)
{
	cleanup_buf struct buf cut = BUF_INIT(OBJECT_MAX);
	const struct json_value *member;
	const char *name, *text;
	struct err full;
	size_t len = 0;

	switch (json_read_kind(value)) {
	case JSON_KIND_OBJECT:
		json_write_object_begin(json);
		for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
			json_write_key(json, name);
			write_cut(json, name, member, max);
		}
		json_write_object_end(json);
		return;
	case JSON_KIND_ARRAY:
		json_write_array_begin(json);
		for (size_t i = 0; i < json_read_count(value); i++)
			write_cut(json, key, json_read_at(value, i), max);
		json_write_array_end(json);
		return;
	case JSON_KIND_STRING:
		text = json_read_text(value, &len);
		if (len <= max) {
			json_write_text(json, text, len);
		} else if (strcmp(key, "encrypted_content") == 0) {
			json_write_null(json);
		} else {
			len -= max;
			max -= utf8_incomplete_tail(text, max);
			(void)(buf_add(&cut, text, max, &full) < 0 ||
			       buf_addf(&cut, &full,
					"\n[%zu more bytes are not kept: an item of a conversation "
					"has at most 1 MiB]", len) < 0);
			json_write_text(json, buf_text(&cut), cut.len);
		}
		return;
	case JSON_KIND_NULL:
	case JSON_KIND_BOOL:
	case JSON_KIND_NUMBER:
	default:
		object_write_value(json, value);
	}
}

/* Cuts all texts of the item. NULL: it is still too long. */
static struct json_value *cut_item(const struct json_value *item, size_t max)
{
	cleanup_buf struct buf text = BUF_INIT(OPENAI_OUT_MAX);
	struct json_value *cut = NULL;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &text);
	write_cut(&json, "", item, max);
	if (json_write_finish(&json, &err) < 0 ||
	    json_read_parse(buf_text(&text), text.len, OPENAI_OUT_MAX, &cut, &err) < 0)
		return NULL;
	return cut;
}

/* Stores an output, with texts cut if it is too long: a later response must see at least that a
 * cell ran, or that the model answered. */
static void put_output(struct request *request, const char *conversation,
		       const struct json_value *item)
{
	static const size_t sizes[] = { 512u * 1024u, 64u * 1024u, 4u * 1024u, 512u };
	const char *id = json_get_text(item, "id");
	struct json_value *cut = NULL;
	size_t next = 0;

	while (!fits_document(cut != NULL ? cut : item) && next < ARRAY_LEN(sizes)) {
		json_read_free(cut);
		cut = cut_item(item, sizes[next++]);
	}
	(void)conversation_put(request, conversation, cut != NULL ? cut : item, id, NULL);
	json_read_free(cut);
}

/* ---- what a response adds -------------------------------------------------------------------- */

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
	    buf_add(&list, buf_text(&items->conversation_output), items->conversation_output.len,
		    &err) < 0 ||
	    buf_addc(&list, ']', &err) < 0 ||
	    json_read_parse(list.data, list.len, OPENAI_OUT_MAX, &output, &err) < 0)
		return;
	for (size_t i = 0; i < json_read_count(output); i++)
		put_output(request, conversation, json_read_at(output, i));
	json_read_free(output);
}
