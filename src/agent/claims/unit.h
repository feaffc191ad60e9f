/*
 * unit.h - reads the unit after a number, such as %, million, MB. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define UNIT_FACTORS_MAX 5u

struct unit {
	/* factors between the claim and the same value in an output; one of them is 1 */
	double factors[UNIT_FACTORS_MAX];
	size_t factor_count;
	bool is_share; /* %, per mille */
	bool is_scale; /* thousand, million, k, M */
	bool is_known; /* any of these, a unit or a currency */
	size_t end;    /* the end of the unit, or of the number if there is none */
};

/* Reads the unit at `at`, after a number. */
void unit_read(const char *text, size_t len, size_t at, struct unit *ret);
/* Length of the currency sign before `at`; 0: there is none. */
size_t unit_currency_before(const char *text, size_t at);
