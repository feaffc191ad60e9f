/*
 * match.h - which dialect a request belongs to: each process knows how the others' requests look.
 *
 * Each folder of dialects has a match.c with its row. The first dialect, native, takes what is no
 * other's.
 */
#pragma once

#include "codec/http.h"

struct dialect_match {
	const char *name;	      /* as in dialects/table.h */
	const char *const *prefixes;  /* of paths, NULL at the end: "/mcp" is also "/mcp/…"; NULL: none */
	const char *const *headers;   /* in lower case: any of them is enough; NULL: none */
	/* Of hosts, as "49983-": they win over whatever else a head says, those of ports included;
	 * NULL: none. */
	const char *const *hosts;
	/* Anything else; NULL: nothing. It must not look at more than the head. */
	bool (*is_ours)(const struct http *http);
};

/* The number of the dialect, 0 for native. */
unsigned dialect_recognise(const struct http *http);
