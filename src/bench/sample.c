/*
 * sample.c - measured values and their quantiles.
 *
 * Runs in:  reckon-bench.
 * Reads:    numbers of its own.
 * Never:    drops a value: slow outliers are part of the result.
 */
#include "bench/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

void samples_add(struct samples *samples, double value)
{
	if (samples->count == samples->capacity) {
		samples->capacity = samples->capacity > 0 ? samples->capacity * 2 : 64;
		samples->at = mem_grow(samples->at, samples->capacity, sizeof(*samples->at));
	}
	samples->at[samples->count++] = value;
}

static int compare(const void *left, const void *right)
{
	const double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

double samples_quantile(const struct samples *samples, double fraction)
{
	cleanup_free double *sorted = NULL;
	size_t rank;

	if (samples->count == 0)
		return 0;
	sorted = mem_new0(samples->count, sizeof(*sorted));
	memcpy(sorted, samples->at, samples->count * sizeof(*sorted));
	qsort(sorted, samples->count, sizeof(*sorted), compare);
	rank = (size_t)ceil(fraction * (double)samples->count);
	return sorted[rank > 0 ? rank - 1 : 0];
}

void samples_done(struct samples *samples)
{
	free(samples->at);
	*samples = (struct samples){ 0 };
}
