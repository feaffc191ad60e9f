/*
 * chat_details.h - thoughts of Chat Completions as `reasoning_details` (OpenRouter, MiniMax). Pure.
 *
 * Entries arrive in fragments with a common index; only complete entries may be sent back.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define DETAILS_MAX 64u /* in one answer; more are dropped */

struct details;

/* Adds the fragments of one event; creates *details if there are any. */
int details_take(struct details **details, const struct json_value *fragments, struct err *err);
/* Writes the complete entries so far, separated by commas; replaces the content of `ret`. */
int details_write(const struct details *details, struct buf *ret, struct err *err);
void details_free(struct details *details); /* NULL is fine */
