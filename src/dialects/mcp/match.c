/* match.c - MCP takes /mcp. */
#include "dialects/match.h"

static const char *const prefixes[] = { "/mcp", NULL };

extern const struct dialect_match dialect_match_mcp;

const struct dialect_match dialect_match_mcp = { .name = "mcp", .prefixes = prefixes };
