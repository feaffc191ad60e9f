/*
 * form_data.h - bodies of multipart/form-data, as one piece of memory. Pure.
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
	char boundary[FORM_DATA_BOUNDARY_MAX + 8]; /* with what stands before it */
	size_t boundary_len;
	const char *at, *end;
};

struct form_part {
	char name[FORM_DATA_NAME_MAX];
	char filename[FORM_DATA_NAME_MAX];
	int has_filename;
	const char *data; /* inside of the body */
	size_t len;
};

/* `type`: the Content-Type, with its boundary. */
int form_data_begin(const char *type, const char *body, size_t len, struct form_data *ret,
		    struct err *err);
/* 1: a part; 0: that was the last one; ERR_INVALID: it is malformed, or ends early. */
int form_data_next(struct form_data *form, struct form_part *ret, struct err *err);
