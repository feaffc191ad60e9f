/*
 * match.h - finds the dialect of a request: each process knows the other dialects' patterns.
 *
 * Each folder of dialects has a match.c with its row. The first dialect, native, gets all requests
 * that match no other dialect.
 */
#pragma once

#include "codec/http.h"

struct dialect_match {
	const char *name;	      /* as in dialects/table.h */
	const char *const *prefixes;  /* of paths, NULL at the end: "/mcp" is also "/mcp/…"; NULL: none */
	const char *const *headers;   /* in lower case: one of them is enough; NULL: none */
	/* Prefixes of host names such as "49983-": they take precedence over everything else in the
	 * head, even over those of ports; NULL: none. */
	const char *const *hosts;
	/* Any other test; NULL: none. It must look only at the head. */
	bool (*is_ours)(const struct http *http);
};

/* The dialect's number, 0 for native. */
unsigned dialect_recognise(const struct http *http);
