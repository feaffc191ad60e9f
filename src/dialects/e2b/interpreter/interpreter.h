/*
 * interpreter.h - declarations shared by the files of a sandbox's interpreter, which runs code.
 *
 *   execute.c   /execute: a stream of lines
 *   result.c    a display in the form of E2B
 *   contexts.c  /contexts
 */
#pragma once

#include "dialects/e2b/e2b.h"

#define E2B_FIRST_CONTEXT "default" /* the session's first kernel, which has no id of its own */

void e2b_execute(struct e2b *e2b);
void e2b_contexts(struct e2b *e2b);
/* Writes one result: each media type of the bundle becomes a member. */
void e2b_write_result(struct json_writer *json, const struct json_value *bundle, bool is_main);
/* NULL means the first kernel. */
const char *e2b_context_of(const char *context);
const char *e2b_language_of(const struct e2b *e2b, const char *language);
