/* moment.h - a time as in RFC 3339: 2026-11-22T06:00:00Z, or with an offset. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since 1970, for times after that; ignores fractions of a second. */
bool api_moment(const char *text, uint64_t *ret_ms);
