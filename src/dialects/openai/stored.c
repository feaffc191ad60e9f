/*
 * stored.c - responses by their ids: each is a document, beside the run that it was.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that anybody made up; documents of the tenant's, which others of it may have changed.
 * Never:    fails a response because it cannot be kept.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/openai.h"

#define COLLECTION "openai.responses"
#define KEPT_MS (UINT64_C(30) * 24 * 3600 * 1000)
#define VALUE_MAX (1024u * 1024u)

/* ---- kept ----------------------------------------------------------------------------------- */

static int write_input(struct json_writer *json, const struct order *order, struct err *err)
{
	const struct json_value *input = json_read_member(order->body, "input");
	cleanup_buf struct buf dumped = BUF_INIT(VALUE_MAX);

	json_write_key(json, "input");
	if (json_read_dump(input, &dumped, err) < 0)
		return (int)err->code;
	json_write_raw(json, buf_text(&dumped), dumped.len);
	return 0;
}

/* Without its input where both are too large for a document. */
static int write_value(const struct order *order, const struct buf *response, bool has_input,
		       struct buf *ret, struct err *err)
{
	struct json_writer json;

	buf_clear(ret);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "response");
	json_write_raw(&json, buf_text(response), response->len);
	if (has_input && write_input(&json, order, err) < 0)
		return (int)err->code;
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

void stored_keep(struct request *request, const struct order *order, const char *id,
		 const struct buf *response)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (write_value(order, response, true, &value, &err) < 0 &&
	    write_value(order, response, false, &value, &err) < 0)
		return;
	(void)call_make(request, API_DOCUMENT_PUT,
			&(struct api_document_put_in){ .collection = COLLECTION,
						       .id = id,
						       .value = { value.data, value.len },
						       .has_expires_in_ms = true,
						       .expires_in_ms = KEPT_MS },
			NULL, &call);
}

/* ---- told ----------------------------------------------------------------------------------- */

static int find(struct request *request, const char *id, struct json_value **ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_document document;
	struct err err;

	if (call_or_refuse(request, API_DOCUMENT_GET,
			   &(struct api_document_get_in){ .collection = COLLECTION, .id = name_id(id) },
			   &document, &call) < 0)
		return -1;
	if (json_read_parse(document.value.data, document.value.len, OPENAI_OUT_MAX, ret, &err) == 0)
		return 0;
	answer_refuse_simple(request, 500, "internal", err.text, NULL);
	return -1;
}

static void show(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct json_value *document = NULL;
	struct err err;

	if (find(request, id, &document) < 0)
		return;
	if (json_read_dump(json_read_member(document, "response"), &body, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
	json_read_free(document);
}

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

/* The newest first, as that API has it. */
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

	if (find(request, id, &document) < 0)
		return;
	if (write_items(json_read_member(document, "input"), &body, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
	json_read_free(document);
}

/* All that is kept of it: the document, and the run with its conversation. */
static void delete(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;
	char run[ID_SIZE];
	struct err err;

	if (call_or_refuse(request, API_DOCUMENT_DELETE,
			   &(struct api_document_delete_in){ .collection = COLLECTION, .id = name_id(id) },
			   NULL, &call) < 0)
		return;
	if (name_swap(id, OPENAI_RESPONSE, "run_", run, sizeof(run)) &&
	    call_make(request, API_RUN_DELETE, &(struct api_run_delete_in){ .id = run }, NULL,
		      &call) == CALL_FAILED &&
	    call.failure->error != API_ERR_RUN_NOT_FOUND) {
		call_refuse(request, call.failure);
		return;
	}
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", "response");
	json_write_member_bool(&json, "deleted", true);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) == 0)
		openai_answer(request, &body);
}

void stored_handle(struct request *request, const char *rest)
{
	const struct http *http = request_head(request);
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, len > 0 ? rest + 1 : "");
	if (len > 0 && rest[1 + len] == '\0' && http->verb == HTTP_VERB_GET &&
	    strstr(http->query, "stream=true") != NULL)
		answer_refuse_simple(request, 400, "invalid", "stream: a response that has ended "
				     "is not streamed again here", NULL);
	else if (len > 0 && rest[1 + len] == '\0' && http->verb == HTTP_VERB_GET)
		show(request, id);
	else if (len > 0 && rest[1 + len] == '\0')
		delete(request, id);
	else if (len > 0 && strcmp(rest + 1 + len, "/input_items") == 0 &&
		 http->verb == HTTP_VERB_GET)
		list_input(request, id);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
}
