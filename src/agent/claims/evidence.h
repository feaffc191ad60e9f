/*
 * evidence.h - the set of numbers that a model was shown, against which its claims are checked.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define EVIDENCE_MAX ((size_t)2 * 1000 * 1000)

struct evidence {
	double *values; /* absolute values */
	size_t count, room;
	bool is_sorted;
	bool is_full; /* some numbers were left out, so a missing one may have been shown */
};

void evidence_done(struct evidence *evidence);
/* Adds every reading of the numbers in a text, also as percentages and in thousands. */
void evidence_add(struct evidence *evidence, const char *text, size_t len);
/* Whether one of the numbers is between `low` and `high`. */
bool evidence_has(struct evidence *evidence, double low, double high);
