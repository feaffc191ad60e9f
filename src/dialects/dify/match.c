/* match.c - Dify's users configure an address of the code executor that ends in /dify. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/dify", NULL };

extern const struct dialect_match dialect_match_dify;

const struct dialect_match dialect_match_dify = {
	.name = "dify",
	.prefixes = prefixes,
};
