/* check.h - whether a struct keeps what the field table says of it. */
#pragma once

#include "api/describe.h"
#include "base/err.h"

/* ERR_INVALID names the first field that does not. */
int api_check(const struct api_type *type, const void *value, struct err *err);
/* Whether the field is given in `value`, a struct of its type. */
bool api_is_given(const struct api_field *field, const void *value);
/* Where the field is in a struct. */
const void *api_at(const struct api_field *field, const void *value);
void *api_to(const struct api_field *field, void *value);
/* Says that it is given, where a bool does so. */
void api_set_given(const struct api_field *field, void *value);
/* Whether it can be an id of this field. */
bool api_is_id(const struct api_field *field, const char *text, size_t len);
