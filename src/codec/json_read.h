/*
 * json_read.h - parses untrusted JSON: strict, bounded, small.
 *
 * Refused, as ERR_INVALID: duplicate keys, invalid UTF-8, control characters in strings, lone
 * surrogates, NUL bytes, anything after the value, nesting deeper than JSON_READ_DEPTH_MAX. A text
 * longer than the caller's bound, or with more than JSON_READ_VALUES_MAX values, is ERR_LIMIT. The
 * message has line and column. Text for embedding (json_read_compact) may nest less, so that the
 * document around it can be parsed, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define JSON_READ_DEPTH_MAX 64
#define JSON_READ_COMPACT_DEPTH_MAX 48
#define JSON_READ_VALUES_MAX 1000000u /* keys count as well */

enum json_kind {
	JSON_KIND_NULL,
	JSON_KIND_BOOL,
	JSON_KIND_NUMBER,
	JSON_KIND_STRING,
	JSON_KIND_ARRAY,
	JSON_KIND_OBJECT,
};

/*
 * Validates `text` and appends it to `ret` without white space between tokens. Numbers and strings
 * keep their spelling. Appends nothing on failure.
 */
int json_read_compact(const char *text, size_t len, size_t max_len, struct buf *ret,
		      enum json_kind *ret_kind, struct err *err);

/* A parsed document or a value in it; all live as long as the document. */
struct json_value;

int json_read_parse(const char *text, size_t len, size_t max_len, struct json_value **ret,
		    struct err *err);
void json_read_free(struct json_value *document); /* of json_read_parse(); NULL is fine */

enum json_kind json_read_kind(const struct json_value *value); /* NULL counts as null */

/* NULL if it is missing, or `value` is not an object or array. */
const struct json_value *json_read_member(const struct json_value *value, const char *key);
const struct json_value *json_read_at(const struct json_value *value, size_t index);
size_t json_read_count(const struct json_value *value); /* number of members; 0 for other kinds */
/* The index-th member of an object in text order; false past the end. */
bool json_read_member_at(const struct json_value *value, size_t index, const char **ret_key,
			 const struct json_value **ret_value);

/* The text (terminated, may contain NUL bytes); NULL if it is not a string. ret_len may be NULL. */
const char *json_read_text(const struct json_value *value, size_t *ret_len);
/* False, with *ret unchanged, if the value has another kind. */
bool json_read_int(const struct json_value *value, int64_t *ret);
bool json_read_double(const struct json_value *value, double *ret);
bool json_read_bool(const struct json_value *value, bool *ret);

/* Appends the value as compact JSON: members in their order, numbers with the fewest digits.
 * Appends nothing on failure: ERR_LIMIT if it does not fit. */
int json_read_dump(const struct json_value *value, struct buf *ret, struct err *err);
