/*
 * chat_details.h - thoughts of Chat Completions as `reasoning_details` (OpenRouter, MiniMax). Pure.
 *
 * Entries come in fragments, which an index holds together; only whole entries may go back.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define DETAILS_MAX 64u /* entries of one answer; more are left out */

struct details;

/* Takes the fragments of one event; *details is made when there are some. */
int details_take(struct details **details, const struct json_value *fragments, struct err *err);
/* The entries so far, whole, with commas between them; replaces what is in `ret`. */
int details_write(const struct details *details, struct buf *ret, struct err *err);
void details_free(struct details *details); /* NULL is fine */
