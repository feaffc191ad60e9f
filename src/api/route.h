/* route.h - finds the call that a request line of the native API names. */
#pragma once

#include "api/arena.h"
#include "api/describe.h"
#include "base/err.h"

/* NULL: no such call; *ret_verbs has the methods that the path allows, 0 for an unknown path. */
const struct api_call *api_route(enum http_verb verb, const char *path, unsigned *ret_verbs);
/*
 * Reads the fields in the path, which must match the call. ERR_INVALID: the file's path (the
 * decoded rest) is malformed.
 */
int api_take_path(const struct api_call *call, const char *path, struct arena *arena, void *ret,
		  struct err *err);
