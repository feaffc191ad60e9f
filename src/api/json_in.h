/* json_in.h - what a client sends, a JSON body and a query, as the struct that a call takes. */
#pragma once

#include "api/arena.h"
#include "api/describe.h"
#include "base/err.h"

#define API_JSON_MAX (8u * 1024u * 1024u) /* bytes of a body */

/*
 * Fill in the fields of `ret`, a struct of `type`, that stand in a body, or in a query. What they
 * hold lives as long as the arena. ERR_INVALID or ERR_LIMIT say what is wrong, towards the client;
 * bounds and what is missing are judged by api_check().
 */
int api_take_body(const struct api_type *type, const char *text, size_t len, struct arena *arena,
		  void *ret, struct err *err);
int api_take_query(const struct api_type *type, const char *query, struct arena *arena, void *ret,
		   struct err *err);
