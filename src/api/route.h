/* route.h - which call a request line of the native API names. */
#pragma once

#include "api/arena.h"
#include "api/describe.h"
#include "base/err.h"

/* NULL: none, and *ret_verbs are the methods that the path knows, 0 when there is no such path. */
const struct api_call *api_route(enum http_verb verb, const char *path, unsigned *ret_verbs);
/*
 * The fields that stand in the path; it fits the call. ERR_INVALID: a file's path, which is all that
 * is left and is decoded, is malformed.
 */
int api_take_path(const struct api_call *call, const char *path, struct arena *arena, void *ret,
		  struct err *err);
