/*
 * schema.h - whether JSON obeys a JSON schema, as far as structured outputs use them. Pure.
 *
 * Looked at: type, enum, const, properties, required, additionalProperties, items, minItems, maxItems,
 * anyOf, oneOf, allOf, and $ref to places in the same schema. Other words allow everything.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* ERR_INVALID, in words for whoever wrote it: it is not JSON, or does not obey. */
int schema_check(const char *schema, const char *json, size_t len, struct err *err);
