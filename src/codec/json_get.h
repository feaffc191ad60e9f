/* json_get.h - the members of an object that a reader wants, by kind and in one call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "codec/json_read.h"

/* NULL when there is none, or one of another kind. */
const char *json_get_text(const struct json_value *object, const char *key);
/* The same, but "" for NULL. */
const char *json_get_str(const struct json_value *object, const char *key);
/* NULL as well when there is a NUL byte in it, behind which C would not see. */
const char *json_get_c_text(const struct json_value *object, const char *key);
/* Whether it is exactly this text. */
bool json_get_is(const struct json_value *object, const char *key, const char *word);

/* A whole number from 0 on; 0 when there is none, or when it is something else. */
uint64_t json_get_count(const struct json_value *object, const char *key);

bool json_get_has(const struct json_value *object, const char *key); /* and it is not null */
bool json_get_has_object(const struct json_value *object, const char *key);
