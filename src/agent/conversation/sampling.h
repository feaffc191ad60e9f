/*
 * sampling.h - how a model is to answer, as a JSON document of a conversation says it. Pure.
 */
#pragma once

#include "agent/conversation/model.h"
#include "codec/json_read.h"

/* Whether a tool, or the form of an answer, can be called that. */
bool sampling_is_name(const char *name, size_t len);

/* "tool_choice", "parallel_tool_calls", "sampling" and "output". ERR_INVALID or ERR_LIMIT in words for
 * whoever wrote it. */
int sampling_read(const struct json_value *document, struct model_sampling *ret, struct err *err);
