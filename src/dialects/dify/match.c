/* match.c - Dify is given the address of its code executor: what ends in /dify. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/dify", NULL };

extern const struct dialect_match dialect_match_dify;

const struct dialect_match dialect_match_dify = {
	.name = "dify",
	.prefixes = prefixes,
};
