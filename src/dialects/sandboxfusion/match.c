/* match.c - clients of SandboxFusion are configured with an address that ends in /sandboxfusion. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/sandboxfusion", NULL };

extern const struct dialect_match dialect_match_sandboxfusion;

const struct dialect_match dialect_match_sandboxfusion = {
	.name = "sandboxfusion",
	.prefixes = prefixes,
};
