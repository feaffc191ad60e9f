/* match.c - the native API takes whatever is no other dialect's. */
#include "dialects/match.h"

extern const struct dialect_match dialect_match_native;

const struct dialect_match dialect_match_native = { .name = "native" };
