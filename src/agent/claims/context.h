/*
 * context.h - decides by the words around a number what it means. No side effects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/claims/number.h"
#include "agent/claims/unit.h"

/*
 * Whether the number is a name or an index and not a claim: a year, a date, a list number, an
 * ordinal, a label. *ret_end: where the whole expression ends, or 0.
 */
bool context_is_name(const char *text, size_t len, const struct number *number, size_t *ret_end);
/* Whether "about", "nearly" or "~" is before the number. */
bool context_is_hedged(const char *text, size_t at);
/* In "10-20 %" the first number gets the unit of the second. */
void context_range_unit(const char *text, size_t len, size_t at, struct unit *ret);
