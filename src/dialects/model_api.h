/*
 * model_api.h - what the APIs of models have in common: texts of a cell's record, words of a refusal.
 */
#pragma once

#include "api/arena.h"
#include "codec/json_read.h"
#include "httpd/httpd.h"

/* Appends a text of the object, on a line of its own; what does not fit is left out. */
void model_api_add_text(const struct json_value *object, const char *key, struct buf *ret);
/* Appends the values of the last expressions of a record, as text. */
void model_api_add_values(const struct json_value *record, struct buf *ret);

#define MODEL_API_MESSAGE_SIZE 1200u
/* What happened, and what to do: these APIs have one text for both. */
const char *model_api_message(const struct refusal *refusal, char ret[MODEL_API_MESSAGE_SIZE]);
/* As such an API says it: a model's name that is nothing here is no trouble of the server's. */
unsigned model_api_status(const struct refusal *refusal);

/* Releases what an order has of these. */
void model_api_order_done(struct json_value **body, struct buf *conversation, struct arena *arena);
