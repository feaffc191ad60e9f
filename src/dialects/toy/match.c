/* match.c - the toy dialect takes /toy, and every request with a header X-Toy. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/toy", NULL };
static const char *const headers[] = { "x-toy", NULL };

extern const struct dialect_match dialect_match_toy;

const struct dialect_match dialect_match_toy = {
	.name = "toy",
	.prefixes = prefixes,
	.headers = headers,
};
