/*
 * sealed.h - what a provider wants back of its thoughts, as clients of other APIs carry it. Pure.
 *
 * A signature, encrypted thoughts: `sealed` of RUN_SEALED, and of an assistant's message in a
 * conversation. Between the two it is one opaque text, which the client sends back as it came.
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
/* Writes it as a value; false: it is none of ours, and nothing was written. */
bool sealed_write(const char *text, size_t len, struct json_writer *writer);
