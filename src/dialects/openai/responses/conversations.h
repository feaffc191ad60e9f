/*
 * conversations.h - Conversations: items that persist from one response to the next.
 *
 *   conversations.c       create, change, delete; finish responses before reading items
 *   conversation_items.c  items, one document each
 */
#pragma once

#include "dialects/openai/object.h"

void conversations_handle(struct request *request, const char *rest);

/* Loads the items of the conversation that the order names, as `earlier`. Negative: refused. */
int conversation_load(struct request *request, struct order *order);
/* Records a background response: the next request that reads the conversation stores its items. */
int conversation_wait(struct request *request, const char *conversation, const char *response);

/* ---- assistants/kinds.c ---- */
extern const struct object_kind conversation_item_kind;

/* ---- conversation_items.c ---- */
/* Whether all of them can be stored: an array of items, or a text that becomes one. Negative: refused. */
int conversation_check(struct request *request, const struct json_value *items);
/* Stores an item and appends it as JSON to `list`; without a list it sends no refusal. `given`: its
 * id, or NULL. */
int conversation_put(struct request *request, const char *conversation,
		     const struct json_value *item, const char *given, struct json_writer *list);
/* Stores a response's input and output as items. */
void conversation_extend(struct request *request, const char *conversation, const char *response,
			 const struct json_value *input, const struct items *items);
