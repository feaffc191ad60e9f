/*
 * jupyter.h - contents of Jupyter messages, made of events and records (docs/events.md), for both
 * transports: ZeroMQ and WebSocket. No side effects.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "codec/json_read.h"
#include "codec/json_write.h"

/* Appends the content of the message for an event. False: Jupyter has no message of that name. */
bool jupyter_content(const char *name, const struct json_value *event, uint64_t count,
		     struct buf *ret, struct err *err);
/* Writes the members ename, evalue, traceback of a failed record. */
void jupyter_write_failure(struct json_writer *json, const struct json_value *record);
/* Writes the members data (without Reckon's own types) and metadata. */
void jupyter_write_bundle(struct json_writer *json, const struct json_value *event);
/* A reply evaluates the first of a request's user_expressions, as many as this. */
#define JUPYTER_EXPRESSIONS_MAX 16u
/* Returns the code of the expression at index `i` of a request. NULL: it must not be evaluated, and
 * this function wrote its value, an error that says why. */
const char *jupyter_expression_code(struct json_writer *json, size_t i,
				    const struct json_value *value, size_t *ret_len);
/* Writes a member with the value unchanged, or `otherwise` if there is none. */
void jupyter_write_value(struct json_writer *json, const char *key, const struct json_value *value,
			 const char *otherwise);

struct jupyter_language {
	const char *name, *version, *mime, *suffix, *pygments_lexer;
	const char *codemirror_mode;	/* JSON */
	const char *nbconvert_exporter; /* NULL: none of its own */
};
/* A value: the language_info of a kernel and of a notebook. */
void jupyter_write_language(struct json_writer *json, const struct jupyter_language *language);

/* Convert cursors: Jupyter counts characters, Reckon bytes. Each byte of invalid UTF-8 counts as
 * one. */
size_t jupyter_bytes_of(const char *code, size_t len, int64_t characters);
uint64_t jupyter_characters_of(const char *code, size_t len, size_t bytes);
/* Of a request about code, as bytes; the end when it names none. */
size_t jupyter_cursor_of(const struct json_value *content, const char *code, size_t len);
/* Members: what our own answer of a completion at the cursor says. */
void jupyter_write_completion(struct json_writer *json, const struct json_value *answer,
			      const char *code, size_t len, size_t cursor);
