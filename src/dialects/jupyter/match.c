/* match.c - clients of a Jupyter server are given an address that ends in /jupyter. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/jupyter", NULL };

extern const struct dialect_match dialect_match_jupyter;

const struct dialect_match dialect_match_jupyter = {
	.name = "jupyter",
	.prefixes = prefixes,
};
