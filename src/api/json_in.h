/* json_in.h - parses a client's JSON body and query into the struct that a call takes. */
#pragma once

#include "api/arena.h"
#include "api/describe.h"
#include "base/err.h"

#define API_JSON_MAX (8u * 1024u * 1024u) /* bytes of a body */

/*
 * Fill in the fields of `ret`, a struct of `type`, from a body or a query. The arena owns their
 * contents. ERR_INVALID or ERR_LIMIT come with a message for the client; api_check() checks bounds
 * and missing fields.
 */
int api_take_body(const struct api_type *type, const char *text, size_t len, struct arena *arena,
		  void *ret, struct err *err);
int api_take_query(const struct api_type *type, const char *query, struct arena *arena, void *ret,
		   struct err *err);
