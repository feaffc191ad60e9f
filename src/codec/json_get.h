/* json_get.h - reads members of a JSON object by type; missing members get a default. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "codec/json_read.h"

/* The member's text; NULL if it is missing or not a string. */
const char *json_get_text(const struct json_value *object, const char *key);
/* The same, but "" for NULL. */
const char *json_get_str(const struct json_value *object, const char *key);
/* Also NULL if the text contains a NUL byte, where C code would stop reading. */
const char *json_get_c_text(const struct json_value *object, const char *key);
/* Whether the member is exactly this text. */
bool json_get_is(const struct json_value *object, const char *key, const char *word);

/* A non-negative integer; 0 if the member is missing or anything else. */
uint64_t json_get_count(const struct json_value *object, const char *key);

bool json_get_has(const struct json_value *object, const char *key); /* present and not null */
bool json_get_has_object(const struct json_value *object, const char *key);
