/* sample.h - measured values and their quantiles. */
#pragma once

#include <stddef.h>

struct samples {
	double *at;
	size_t count;
	size_t capacity;
};

void samples_add(struct samples *samples, double value);

/*
 * The smallest value such that at least `fraction` of all values do not exceed it; 0 without
 * values.
 */
double samples_quantile(const struct samples *samples, double fraction);

void samples_done(struct samples *samples);
