/* base64.h - RFC 4648 base 64 with padding, the ordinary alphabet. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

int base64_encode(const void *bytes, size_t len, struct buf *ret, struct err *err);

/* Strict: padding, no white space, unused bits zero. ERR_INVALID leaves ret as it was. */
int base64_decode(const char *text, size_t len, struct buf *ret, struct err *err);
