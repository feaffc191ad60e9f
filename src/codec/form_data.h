/*
 * form_data.h - parses a multipart/form-data body in memory. No side effects.
 *
 *   if (form_data_begin(type, body, len, &form, err) == 0)
 *           while (form_data_next(&form, &part, err) > 0)
 *                   …
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define FORM_DATA_NAME_MAX 4096u
#define FORM_DATA_BOUNDARY_MAX 256u

struct form_data {
	char boundary[FORM_DATA_BOUNDARY_MAX + 8]; /* with the line break and dashes before it */
	size_t boundary_len;
	const char *at, *end;
};

struct form_part {
	char name[FORM_DATA_NAME_MAX];
	char filename[FORM_DATA_NAME_MAX];
	int has_filename;
	const char *data; /* points into the body */
	size_t len;
};

/* `type`: the Content-Type header with its boundary. */
int form_data_begin(const char *type, const char *body, size_t len, struct form_data *ret,
		    struct err *err);
/* 1: a part; 0: no more parts; ERR_INVALID: it is malformed or truncated. */
int form_data_next(struct form_data *form, struct form_part *ret, struct err *err);
