/* json_out.h - what a call gives, as the body of an answer. */
#pragma once

#include "api/describe.h"
#include "base/buf.h"
#include "base/err.h"

/* Of such an answer. */
unsigned api_status(const struct api_call *call, const void *value);
/* Appends it: JSON, or where the call has a media type the text that it gives. */
int api_write_body(const struct api_call *call, const void *value, struct buf *ret,
		   struct err *err);
