/* api_field.h - what the bodies of the API have in common; for api*.c alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "codec/api.h"
#include "codec/json_read.h"

/* The body as an object; none at all is an empty one. */
int api_parse_object(const char *text, size_t len, struct json_value **ret, struct err *err);
/* Seconds, with a fraction, as milliseconds. */
int api_take_seconds(const char *name, const struct json_value *value, double min, double max,
		     uint64_t *ret, struct err *err);
/* From 1 to max. */
int api_take_number(const char *name, const struct json_value *value, int64_t max, uint64_t *ret,
		    struct err *err);
int api_take_bool(const char *name, const struct json_value *value, bool *ret, struct err *err);
/* Whether `name` is a field of that; then *ret_code is what came of it. */
bool api_take_leave(const char *name, const struct json_value *value, struct api_leave *ret,
		    int *ret_code, struct err *err);
/* `usual`: what holds when nothing is said. */
int api_check_leave(const struct api_leave *leave, bool background, int usual, struct err *err);
