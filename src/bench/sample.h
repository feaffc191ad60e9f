/* sample.h - measured values and their quantiles. */
#pragma once

#include <stddef.h>

struct samples {
	double *at;
	size_t count;
	size_t capacity;
};

void samples_add(struct samples *samples, double value);

/* The smallest value that at least `fraction` of all are not above; 0 when there is none. */
double samples_quantile(const struct samples *samples, double fraction);

void samples_done(struct samples *samples);
