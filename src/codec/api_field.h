/* api_field.h - what the bodies of the API have in common; for api*.c alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "codec/json_read.h"

/* The body as an object; none at all is an empty one. */
int api_parse_object(const char *text, size_t len, struct json_value **ret, struct err *err);
/* Seconds, with a fraction, as milliseconds. */
int api_take_seconds(const char *name, const struct json_value *value, double min, double max,
		     uint64_t *ret, struct err *err);
/* From 1 to max. */
int api_take_number(const char *name, const struct json_value *value, int64_t max, uint64_t *ret,
		    struct err *err);
