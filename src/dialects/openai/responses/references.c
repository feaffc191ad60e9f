/*
 * references.c - resolves items of an input that are references to stored items.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; documents of the tenant, the only ones that the
 *           key can see.
 * Never:    uses an item whose id differs from the reference.
 *
 * An output item's id contains its response's id (items_id() in items.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/responses/references.h"

#define REFERENCES_MAX 500u

/* An id and nothing else is one, too. */
bool references_is(const struct json_value *item)
{
	const char *type = json_get_text(item, "type");

	if (json_get_text(item, "id") == NULL)
		return false;
	return type != NULL ? strcmp(type, "item_reference") == 0
			    : json_read_member(item, "role") == NULL;
}

const struct json_value *references_item(const struct order *order, const struct json_value *item)
{
	for (size_t i = 0; i < order->reference_count; i++)
		if (order->references[i].from == item)
			return order->references[i].to;
	return item;
}

void references_done(struct order *order)
{
	for (size_t i = 0; i < order->reference_count; i++)
		json_read_free(order->references[i].to);
	free(order->references);
	order->references = NULL;
	order->reference_count = 0;
}

/* ---- finding it ----------------------------------------------------------------------------- */

/* The last response that was read: neighbouring items are mostly from the same one. */
struct last {
	char id[NAME_SIZE];
	struct json_value *document;
};

/* Writes the response's id; "" if the item cannot be from a response. */
static void response_of(const char *item, char ret[NAME_SIZE])
{
	const char *digits = strchr(item, '_');
	const size_t len = digits != NULL ? strlen(digits + 1) : 0;

	ret[0] = '\0';
	if (len > OPENAI_RUN_DIGITS)
		(void)snprintf(ret, NAME_SIZE, OPENAI_RESPONSE "%.*s", (int)OPENAI_RUN_DIGITS,
			       digits + 1);
}

static const struct json_value *find_output(const struct json_value *document, const char *id)
{
	const struct json_value *output =
		json_read_member(json_read_member(document, "response"), "output");

	for (size_t i = 0; i < json_read_count(output); i++) {
		const char *own = json_get_text(json_read_at(output, i), "id");

		if (own != NULL && strcmp(own, id) == 0)
			return json_read_at(output, i);
	}
	return NULL;
}

static int read_response(struct request *request, const char *id, struct last *last)
{
	static const struct object_kind responses = { OPENAI_RESPONSES, OPENAI_RESPONSE,
						      "response" };

	if (strcmp(last->id, id) == 0)
		return 0;
	json_read_free(TAKE_PTR(last->document));
	(void)snprintf(last->id, sizeof(last->id), "%s", id);
	return id[0] != '\0' ? object_look(request, &responses, id, &last->document) : 0;
}

/* Appends the item's JSON, or nothing. The item in a conversation includes the output of cells. */
static int look_up(struct request *request, const char *id, struct last *last, struct buf *ret,
		   struct err *err)
{
	const struct json_value *found;
	struct json_value *document = NULL;
	char response[NAME_SIZE];
	int rc = 0;

	err_clear(err);
	response_of(id, response);
	if (read_response(request, response, last) < 0)
		return -1;
	found = find_output(last->document, id);
	if (found == NULL && object_look(request, &conversation_item_kind, id, &document) < 0)
		return -1;
	if (found == NULL)
		found = json_read_member(document, "object");
	if (json_read_kind(found) == JSON_KIND_OBJECT && !references_is(found))
		rc = json_read_dump(found, ret, err);
	json_read_free(document);
	return rc;
}

/* ---- all references ------------------------------------------------------------------------- */

static int refuse_unknown(struct request *request, const char *id)
{
	char message[320];

	(void)snprintf(message, sizeof(message),
		       "Item with id '%.100s' not found. Items are not persisted when `store` is "
		       "set to false. Try again with `store` set to true, or remove this item from "
		       "your input.", id);
	answer_refuse_simple(request, 404, "not_found", message, NULL);
	return -1;
}

static int refuse_count(struct request *request)
{
	char message[80];

	(void)snprintf(message, sizeof(message), "input: there are at most %u item references",
		       REFERENCES_MAX);
	answer_refuse_simple(request, 400, "invalid", message, NULL);
	return -1;
}

/* The total size is limited to that of a conversation. */
static int take(struct request *request, struct order *order, const struct json_value *from,
		struct last *last, size_t *sum)
{
	cleanup_buf struct buf json = BUF_INIT(OPENAI_CONVERSATION_MAX - *sum);
	const char *id = json_get_text(from, "id");
	struct reference found = { .from = from };
	struct err err;

	if (look_up(request, id, last, &json, &err) < 0 ||
	    (json.len > 0 && json_read_parse(json.data, json.len, json.len, &found.to, &err) < 0)) {
		if (err.code != ERR_OK)
			answer_refuse_invalid(request, &err);
		return -1;
	}
	if (found.to == NULL)
		return refuse_unknown(request, id);
	*sum += json.len;
	order->references = mem_grow(order->references, order->reference_count + 1,
				     sizeof(*order->references));
	order->references[order->reference_count++] = found;
	return 0;
}

int references_load(struct request *request, struct order *order)
{
	const struct json_value *input = json_read_member(order->body, "input");
	struct last last = { .id = "" };
	size_t sum = 0;
	int rc = 0;

	for (size_t i = 0; i < json_read_count(input) && rc == 0; i++) {
		if (!references_is(json_read_at(input, i)))
			continue;
		if (order->reference_count == REFERENCES_MAX) {
			rc = refuse_count(request);
		} else {
			rc = take(request, order, json_read_at(input, i), &last, &sum);
		}
	}
	json_read_free(last.document);
	return rc;
}
