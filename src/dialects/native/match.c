/* match.c - the native API gets all requests that match no other dialect. */
#include "dialects/match.h"

extern const struct dialect_match dialect_match_native;

const struct dialect_match dialect_match_native = { .name = "native" };
