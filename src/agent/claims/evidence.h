/*
 * evidence.h - every number that a model was shown, to look up those that it states. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define EVIDENCE_MAX ((size_t)2 * 1000 * 1000)

struct evidence {
	double *values; /* without their signs */
	size_t count, room;
	bool is_sorted;
	bool is_full; /* some were left out: what is not found may be there */
};

void evidence_done(struct evidence *evidence);
/* Every way in which its digits can be read, also as shares of a hundred and as thousands. */
void evidence_add(struct evidence *evidence, const char *text, size_t len);
/* Whether one is from `low` to `high`. */
bool evidence_has(struct evidence *evidence, double low, double high);
