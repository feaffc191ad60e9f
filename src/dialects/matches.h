/* matches.h - the rows, in the order of meson.build; generated into matches.c. */
#pragma once

#include "dialects/match.h"

extern const struct dialect_match *const dialect_matches[]; /* NULL-terminated */
