/* json_out.h - writes a call's result as the body of an answer. */
#pragma once

#include "api/calls.h"
#include "base/buf.h"
#include "base/err.h"

/* The status of the answer. */
unsigned api_status(const struct api_call *call, const void *value);
/* Appends the result: JSON, or plain text if the call has a media type. */
int api_write_body(const struct api_call *call, const void *value, struct buf *ret,
		   struct err *err);

/* Name and status of an error; an unknown one counts as internal. */
const struct api_error_row *api_error_of(const struct api_failure *failure);
/* Appends {"error": {…}}, as the native API shows it. */
int api_write_failure(const struct api_failure *failure, struct buf *ret, struct err *err);
