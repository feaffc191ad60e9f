/*
 * json_write.h - writes JSON text step by step into a bounded buffer.
 *
 * The first failure (buffer ceiling, nesting, a misplaced key) is stored and later calls do
 * nothing, so that a caller checks once, with json_write_finish(). Whatever bytes the caller passes
 * as text, the output is valid UTF-8 and valid JSON on one line: control characters are escaped,
 * each byte that is not part of valid UTF-8 becomes U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define JSON_WRITE_DEPTH_MAX 64

struct json_writer {
	struct buf *out;
	struct err err;
	unsigned depth;
	bool has_key; /* a key waits for its value */
	bool is_done; /* the one top-level value is complete */
	bool is_object[JSON_WRITE_DEPTH_MAX];
	bool has_member[JSON_WRITE_DEPTH_MAX];
};

/* Appends to the contents of `out`, which must outlive the writer. */
void json_write_init(struct json_writer *writer, struct buf *out);
/* The same for an object, with its first member. */
void json_write_begin_with(struct json_writer *writer, struct buf *out, const char *key,
			   const char *value);

void json_write_object_begin(struct json_writer *writer);
void json_write_object_end(struct json_writer *writer);
void json_write_array_begin(struct json_writer *writer);
void json_write_array_end(struct json_writer *writer);

void json_write_key(struct json_writer *writer, const char *key);
void json_write_key_text(struct json_writer *writer, const char *key, size_t len);

void json_write_text(struct json_writer *writer, const char *text, size_t len);
void json_write_string(struct json_writer *writer, const char *text); /* NULL writes null */
void json_write_base64(struct json_writer *writer, const void *bytes, size_t len);
void json_write_int(struct json_writer *writer, int64_t value);
void json_write_uint(struct json_writer *writer, uint64_t value);
void json_write_seconds(struct json_writer *writer, uint64_t ns); /* writes 1500000999 as 1.5 */
void json_write_bool(struct json_writer *writer, bool value);
void json_write_null(struct json_writer *writer);

/* Writes a JSON value that is known to be valid and compact, for example from
 * json_read_compact(). */
void json_write_raw(struct json_writer *writer, const char *json, size_t len);

/* key and value in one call */
void json_write_member_string(struct json_writer *writer, const char *key, const char *value);
void json_write_member_text(struct json_writer *writer, const char *key, const char *value,
			    size_t len);
void json_write_member_uint(struct json_writer *writer, const char *key, uint64_t value);
void json_write_member_limit(struct json_writer *writer, const char *key,
			     uint64_t value); /* 0, no limit, as null */
void json_write_member_bool(struct json_writer *writer, const char *key, bool value);

/* Returns 0 if exactly one complete value was written, else the first failure. */
int json_write_finish(struct json_writer *writer, struct err *err);
