/*
 * conversations.h - Conversations: items that stay from one response to the next.
 *
 *   conversations.c       made, changed, removed; settled before their items are looked at
 *   conversation_items.c  items, one document each
 */
#pragma once

#include "dialects/openai/object.h"

void conversations_handle(struct request *request, const char *rest);

/* What the order goes on with, if it names one, becomes its earlier items. Negative: refused. */
int conversation_load(struct request *request, struct order *order);
/* A response in the background is to become items: whoever looks at them first sees to that. */
int conversation_wait(struct request *request, const char *conversation, const char *response);

/* ---- assistants/kinds.c ---- */
extern const struct object_kind conversation_item_kind;

/* ---- conversation_items.c ---- */
/* Appends it as JSON to `list`; without one nothing is refused. `given`: its id, or NULL. */
int conversation_put(struct request *request, const char *conversation,
		     const struct json_value *item, const char *given, struct json_writer *list);
/* What was asked, and what came of it, become items. */
void conversation_extend(struct request *request, const char *conversation, const char *response,
			 const struct json_value *input, const struct items *items);
