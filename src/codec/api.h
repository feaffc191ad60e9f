/*
 * api.h - the JSON bodies of the native API as structs. What is not known is refused by name.
 *
 * The texts point into the parsed document, which api_done() frees. Errors are ERR_INVALID with
 * the field's name in the message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define API_BODY_MAX (8u * 1024u * 1024u) /* JSON text: code may need more than it has bytes */
#define API_GRACE_S_MAX 3600

/* What becomes of it when the client goes away. */
struct api_leave {
	enum { API_LEAVE_UNSAID, API_LEAVE_CONTINUE, API_LEAVE_CANCEL } policy;
	bool has_grace;
	uint64_t grace_ms;
};

/* A body that says nothing: none, or an empty object. */
int api_nothing_parse(const char *text, size_t len, struct err *err);
