/* json_out.h - what a call gives, as the body of an answer. */
#pragma once

#include "api/calls.h"
#include "base/buf.h"
#include "base/err.h"

/* Of such an answer. */
unsigned api_status(const struct api_call *call, const void *value);
/* Appends it: JSON, or where the call has a media type the text that it gives. */
int api_write_body(const struct api_call *call, const void *value, struct buf *ret,
		   struct err *err);

/* Name and status of an error; one that is not known is internal. */
const struct api_error_row *api_error_of(const struct api_failure *failure);
/* Appends {"error": {…}}, as the native API shows it. */
int api_write_failure(const struct api_failure *failure, struct buf *ret, struct err *err);
