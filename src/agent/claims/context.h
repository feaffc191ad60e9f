/*
 * context.h - what the words around a number make of it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/claims/number.h"
#include "agent/claims/unit.h"

/*
 * Whether it names or orders something and states nothing: a year, a date, a list number, an
 * ordinal, a label. *ret_end (or 0): more that belongs to it goes to there.
 */
bool context_is_name(const char *text, size_t len, const struct number *number, size_t *ret_end);
/* "about", "nearly", "~". */
bool context_is_hedged(const char *text, size_t at);
/* In "10-20 %" the first number has the unit of the second. */
void context_range_unit(const char *text, size_t len, size_t at, struct unit *ret);
