/*
 * api.h - the border between reckon.h and the inside: errors and versioned option structs.
 */
#pragma once


#include "base/err.h"
#include "reckon.h"

/* Copies *err to the caller's *ret (which may be NULL); returns the code. */
int api_fail(reckon_error *ret, const struct err *err);

/* Success: clears *ret when it is there; returns RECKON_OK. */
int api_ok(reckon_error *ret);

/*
 * Copies a caller's option struct, whose first member is its size, into `ret` of `size` bytes:
 * what an older caller does not know stays zero. NULL gives all zero. Refuses a size of 0, and a
 * newer caller's fields that we do not know unless they are zero.
 */
int api_options(const char *type, void *ret, size_t size, const void *given, struct err *err);
