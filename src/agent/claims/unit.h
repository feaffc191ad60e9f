/*
 * unit.h - what stands behind a number and changes what it is worth: %, million, MB. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define UNIT_FACTORS_MAX 5u

struct unit {
	double factors[UNIT_FACTORS_MAX]; /* by which an output may show it otherwise; 1 is one */
	size_t factor_count;
	bool is_share; /* %, per mille */
	bool is_scale; /* thousand, million, k, M */
	bool is_known; /* any of these, a unit or a currency */
	size_t end;    /* behind it; where the number ends when there is none */
};

/* What stands at `at`, behind a number. */
void unit_read(const char *text, size_t len, size_t at, struct unit *ret);
/* How many bytes before `at` are the sign of a currency; 0: none. */
size_t unit_currency_before(const char *text, size_t at);
