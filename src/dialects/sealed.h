/*
 * sealed.h - encodes a provider's sealed reasoning for clients of other APIs, and decodes it. No
 * side effects.
 *
 * The provider must get back, for example, a signature or encrypted reasoning: `sealed` of
 * RUN_SEALED, and of an assistant's message in a conversation. The client gets it as one opaque
 * text and sends it back unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

#define SEALED_MAX ((size_t)4 * 1024 * 1024)

int sealed_text(const struct json_value *sealed, struct buf *ret, struct err *err);
/* Writes the decoded value; false: the text is not ours, and nothing was written. */
bool sealed_write(const char *text, size_t len, struct json_writer *writer);
