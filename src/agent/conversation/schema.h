/*
 * schema.h - validates JSON by the part of JSON Schema that structured outputs use. Pure.
 *
 * Checked keywords: type, enum, const, properties, required, additionalProperties, items, minItems,
 * maxItems, anyOf, oneOf, allOf, and $ref inside the same schema. Other keywords are ignored.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* ERR_INVALID, with a text for the model: not JSON, or not valid by the schema. */
int schema_check(const char *schema, const char *json, size_t len, struct err *err);
