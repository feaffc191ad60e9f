/* conversations.h - Conversations: items that stay from one response to the next. */
#pragma once

#include "dialects/openai/openai.h"

void conversations_handle(struct request *request, const char *rest);

/* What the order goes on with, if it names one, becomes its earlier items. Negative: refused. */
int conversation_load(struct request *request, struct order *order);
/* What was asked, and what came of it, become items. */
void conversation_extend(struct request *request, const char *conversation, const char *response,
			 const struct json_value *input, const struct items *items);
/* A response in the background is to become items: whoever looks at them first sees to that. */
int conversation_wait(struct request *request, const char *conversation, const char *response);
