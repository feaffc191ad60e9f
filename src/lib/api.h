/*
 * api.h - the border between reckon.h and the internals: errors and versioned option structs.
 */
#pragma once


#include "base/err.h"
#include "reckon.h"

/* Copies *err to the caller's *ret (which may be NULL); returns the code. */
int api_fail(reckon_error *ret, const struct err *err);

/* Success: clears *ret unless `ret` is NULL; returns RECKON_OK. */
int api_ok(reckon_error *ret);

/*
 * Copies a caller's option struct, whose first member is its size, into `ret` of `size` bytes.
 * Members that an older caller does not have become zero. NULL gives all zero. Refuses a size of 0,
 * and members of a newer caller that we do not know, unless they are zero.
 */
int api_options(const char *type, void *ret, size_t size, const void *given, struct err *err);
