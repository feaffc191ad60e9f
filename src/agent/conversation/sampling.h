/*
 * sampling.h - parses the answer options in a conversation document. Pure.
 */
#pragma once

#include "agent/conversation/model.h"
#include "codec/json_read.h"

/* Whether it is a valid name for a tool or an output schema. */
bool sampling_is_name(const char *name, size_t len);

/*
 * Parses "tool_choice", "parallel_tool_calls", "sampling" and "output". The text of ERR_INVALID or
 * ERR_LIMIT is for the document's author.
 */
int sampling_read(const struct json_value *document, struct model_sampling *ret, struct err *err);
