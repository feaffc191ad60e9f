/* base64.h - RFC 4648 base64 with padding, the standard alphabet. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

int base64_encode(const void *bytes, size_t len, struct buf *ret, struct err *err);

/* Strict: padding, no white space, unused bits zero. ERR_INVALID leaves ret unchanged. */
int base64_decode(const char *text, size_t len, struct buf *ret, struct err *err);
