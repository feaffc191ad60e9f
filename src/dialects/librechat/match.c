/* match.c - LibreChat is configured with an address that ends in /librechat or /librechat/v1. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/librechat", NULL };

extern const struct dialect_match dialect_match_librechat;

const struct dialect_match dialect_match_librechat = {
	.name = "librechat",
	.prefixes = prefixes,
};
