/*
 * model_api.h - functions shared by the dialects of model APIs: texts of a record, messages of a
 * refusal.
 */
#pragma once

#include "api/arena.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "httpd/httpd.h"

/* Appends a text member of the object on a new line; drops what does not fit. */
void model_api_add_text(const struct json_value *object, const char *key, struct buf *ret);
/* Appends the values of the last expressions of a record, as text. */
void model_api_add_values(const struct json_value *record, struct buf *ret);

#define MODEL_API_NAME_MAX 318u /* of a model, as the document of the API says it */
#define MODEL_API_MESSAGE_SIZE 1200u
/* What happened and what to do, joined: these APIs have one text for both. */
const char *model_api_message(const struct refusal *refusal, char ret[MODEL_API_MESSAGE_SIZE]);
/* The status for such an API: an unknown model name is a client error, not a server error. */
unsigned model_api_status(const struct refusal *refusal);

/* Releases what an order has of these. */
void model_api_order_done(struct json_value **body, struct buf *conversation, struct arena *arena);

/* Members of a conversation's "sampling", and its end; 0 and NULL are what the client left out. */
void model_api_end_sampling(struct json_writer *writer, int64_t max_tokens, const char *effort,
			    const struct json_value *stops);

/* Why a turn ended, in our words and in those of an API. */
struct model_api_reason {
	const char *stop, *reason;
};
/* NULL when the answer does not say, or says another one. */
const char *model_api_reason_of(const struct json_value *answer,
				const struct model_api_reason *reasons, size_t count);
