/* check.h - checks a struct against the field table. */
#pragma once

#include "api/describe.h"
#include "base/err.h"

/* ERR_INVALID names the first invalid field. */
int api_check(const struct api_type *type, const void *value, struct err *err);
/* Whether the field is given in `value`, a struct of its type. */
bool api_is_given(const struct api_field *field, const void *value);
/* The field's address in a struct. */
const void *api_at(const struct api_field *field, const void *value);
void *api_to(const struct api_field *field, void *value);
/* Marks the field as given, if a bool says so. */
void api_set_given(const struct api_field *field, void *value);
/* Whether the text can be an id for this field. */
bool api_is_id(const struct api_field *field, const char *text, size_t len);
