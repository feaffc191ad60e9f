/* match.c - Piston's clients are configured with a base address that ends in /piston/api/v2. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/piston", NULL };

extern const struct dialect_match dialect_match_piston;

const struct dialect_match dialect_match_piston = {
	.name = "piston",
	.prefixes = prefixes,
};
