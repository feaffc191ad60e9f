/*
 * evidence.c - collects every number that a model was shown.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    questions, code and output, which may be hostile.
 * Never:    keeps the texts, or more numbers than its limit.
 */
#include "agent/claims/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claims/number.h"
#include "agent/claims/unit.h"
#include "base/mem.h"

#define ROOM_FIRST ((size_t)1024)
#define JOINED_MAX 5u /* groups of digits that form one number: 1,234,567,890.12 */

void evidence_done(struct evidence *evidence)
{
	free(evidence->values);
	*evidence = (struct evidence){ 0 };
}

static void add(struct evidence *evidence, double value)
{
	/* Store a repeated value only once. */
	if (!isfinite(value) ||
	    (evidence->count > 0 && !evidence->is_sorted &&
	     evidence->values[evidence->count - 1] == value))
		return;
	if (evidence->count == EVIDENCE_MAX) {
		evidence->is_full = true;
		return;
	}
	if (evidence->count == evidence->room) {
		evidence->room = evidence->room == 0 ? ROOM_FIRST : evidence->room * 2;
		evidence->values = mem_grow(evidence->values, evidence->room,
					    sizeof(*evidence->values));
	}
	evidence->values[evidence->count++] = value;
	evidence->is_sorted = false;
}

static void add_number(struct evidence *evidence, const char *text, size_t len,
		       const struct number *number)
{
	struct unit unit;

	for (size_t from = 0; from < number->group_count; from++)
		for (size_t n = 1; n <= JOINED_MAX && from + n <= number->group_count; n++) {
			struct number_reading readings[NUMBER_READINGS_MAX];
			const size_t count = number_read(text, number, from, n, readings);

			for (size_t i = 0; i < count; i++)
				add(evidence, readings[i].value);
		}
	unit_read(text, len, number->end, &unit);
	for (size_t i = 0; i < number->count; i++) {
		add(evidence, number->readings[i].value);
		for (size_t k = 0; k < unit.factor_count && (unit.is_share || unit.is_scale); k++)
			add(evidence, number->readings[i].value * unit.factors[k]);
	}
}

void evidence_add(struct evidence *evidence, const char *text, size_t len)
{
	struct number number;
	size_t at = 0;

	while (!evidence->is_full && number_next(text, len, &at, &number))
		add_number(evidence, text, len, &number);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(struct evidence *evidence)
{
	size_t unique_count = 0;

	qsort(evidence->values, evidence->count, sizeof(*evidence->values), compare);
	for (size_t i = 0; i < evidence->count; i++)
		if (unique_count == 0 || evidence->values[unique_count - 1] != evidence->values[i])
			evidence->values[unique_count++] = evidence->values[i];
	evidence->count = unique_count;
	evidence->is_sorted = true;
}

bool evidence_has(struct evidence *evidence, double low, double high)
{
	size_t from = 0, to;

	if (evidence->count == 0)
		return false;
	if (!evidence->is_sorted)
		sort(evidence);
	to = evidence->count;
	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (evidence->values[middle] < low)
			from = middle + 1;
		else
			to = middle;
	}
	return from < evidence->count && evidence->values[from] <= high;
}
