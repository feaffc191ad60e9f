/*
 * claims.c - checks the numbers in an answer against the outputs that the model was shown.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    an answer of a model.
 * Never:    decides whether an answer is right, only whether the run has its numbers.
 */
#include "agent/claims/claims.h"

#include <math.h>
#include <string.h>

#include "agent/claims/context.h"
#include "agent/claims/number.h"
#include "agent/claims/prose.h"
#include "agent/claims/unit.h"

#define SLACK 1e-9 /* relative rounding error of a division and a multiplication */
#define SMALL 3	   /* whole numbers up to this say nothing alone: "both", "three of them" */
#define LINK "sandbox:/mnt/data/"
#define NUMBERS_MAX 20000u /* in one answer; later numbers are not checked */

static bool is_near(struct evidence *evidence, double value, double step)
{
	const double reach = step / 2 + fabs(value) * SLACK;

	return evidence_has(evidence, value - reach, value + reach);
}

/* 1,200 counts as a rounded 1,234; 1,000 does so only after a word such as "about". */
static double step_of(const struct number_reading *reading, bool is_hedged)
{
	const unsigned written = reading->digits - reading->zeros;

	if (!reading->is_whole || reading->zeros == 0 || reading->digits <= reading->zeros)
		return reading->step;
	if (written >= 2 || (is_hedged && reading->zeros >= 1))
		return pow(10, reading->zeros);
	return reading->step;
}

static bool is_supported(struct evidence *evidence, const struct number_reading *reading,
			 const struct unit *unit, bool is_hedged)
{
	const double step = step_of(reading, is_hedged);

	for (size_t i = 0; i < unit->factor_count; i++)
		if (is_near(evidence, reading->value * unit->factors[i], step * unit->factors[i]))
			return true;
	return false;
}

/* Whether each group is supported as a number of its own: "3,456" may be a list. */
static bool are_parts_supported(const char *text, struct evidence *evidence,
				const struct number *number)
{
	for (size_t i = 0; i < number->group_count; i++) {
		struct number_reading reading[NUMBER_READINGS_MAX];

		if (number->groups[i].sep == NUMBER_POINT ||
		    number_read(text, number, i, 1, reading) == 0 ||
		    !is_near(evidence, reading[0].value, 1))
			return false;
	}
	return number->group_count > 1;
}

static bool says_nothing(const struct prose *prose, const struct number *number,
			 const struct unit *unit, bool has_currency)
{
	const struct number_reading *reading = &number->readings[0];

	return number->group_count == 1 && reading->is_whole && !unit->is_known && !has_currency &&
	       (reading->value <= SMALL || prose_counts(prose, reading->value));
}

/* The claim with its sign and unit, as a reader sees it. */
static struct agent_claim claim_of(const char *text, const struct number *number,
				   const struct unit *unit)
{
	size_t start = number->start - unit_currency_before(text, number->start);

	/* In "10-21" the second number is not negative. */
	if (start > 0 && text[start - 1] == '-' &&
	    (start < 2 || text[start - 2] < '0' || text[start - 2] > '9'))
		start--;
	else if (start > 2 && memcmp(text + start - 3, "\xe2\x88\x92", 3) == 0)
		start -= 3;
	return (struct agent_claim){
		.kind = AGENT_CLAIM_NUMBER, .offset = start, .len = unit->end - start
	};
}

void claims_add(struct agent_checked *checked, const struct agent_claim *claim)
{
	if (claim->kind == AGENT_CLAIM_NUMBER)
		checked->numbers_unsupported++;
	else
		checked->links_unsupported++;
	if (checked->listed < AGENT_CLAIMS_MAX)
		checked->claims[checked->listed++] = *claim;
}

static void check(const struct prose *prose, const struct number *number,
		  struct evidence *evidence, struct agent_checked *ret)
{
	const char *text = prose->text;
	const bool has_currency = unit_currency_before(text, number->start) > 0;
	const bool is_hedged = context_is_hedged(text, number->start);
	struct agent_claim claim;
	struct unit unit;

	unit_read(text, prose->len, number->end, &unit);
	if (!unit.is_known)
		context_range_unit(text, prose->len, number->end, &unit);
	if (says_nothing(prose, number, &unit, has_currency))
		return;
	ret->numbers++;
	for (size_t i = 0; i < number->count; i++)
		if (is_supported(evidence, &number->readings[i], &unit, is_hedged))
			return;
	if (are_parts_supported(text, evidence, number))
		return;
	claim = claim_of(text, number, &unit);
	claims_add(ret, &claim);
}

void claims_check_numbers(const char *text, size_t len, struct evidence *evidence,
			  struct agent_checked *ret)
{
	struct prose prose;
	struct number number;
	size_t at = 0;

	prose_init(&prose, text, len);
	while (ret->numbers < NUMBERS_MAX && number_next(text, len, &at, &number)) {
		size_t end = 0;

		if (prose.hidden[number.start])
			continue;
		if (context_is_name(text, len, &number, &end)) {
			at = end > at ? end : at;
			continue;
		}
		check(&prose, &number, evidence, ret);
	}
	prose_done(&prose);
}

/* ---- links ---- */

static int hex_of(char c)
{
	const char *const digits = "0123456789abcdef";
	const char *found = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return found != NULL ? (int)(found - digits) : -1;
}

/* Decodes "a%20b.png" to "a b.png". */
static int unescape(const char *text, size_t len, struct buf *ret, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%' && i + 2 < len && hex_of(text[i + 1]) >= 0 &&
		    hex_of(text[i + 2]) >= 0) {
			c = (char)(hex_of(text[i + 1]) * 16 + hex_of(text[i + 2]));
			i += 2;
		}
		/* Names are sent one on each line, so these characters are refused. */
		if (c == '\0' || c == '\n')
			return err_set(err, ERR_INVALID, "not a name");
		if (buf_addc(ret, c, err) < 0)
			return (int)err->code;
	}
	return 0;
}

bool claims_next_link(const char *text, size_t len, size_t *at, struct buf *ret_name,
		      struct agent_claim *ret)
{
	const size_t head = sizeof(LINK) - 1;

	while (*at < len) {
		const char *found = memmem(text + *at, len - *at, LINK, head);
		struct err full; /* a longer text is not a name */
		size_t start, n;

		if (found == NULL)
			break;
		start = (size_t)(found - text) + head;
		n = agent_link_length(text + start, len - start);
		*at = start + n;
		buf_clear(ret_name);
		if (n == 0 || unescape(text + start, n, ret_name, &full) < 0)
			continue;
		*ret = (struct agent_claim){ .kind = AGENT_CLAIM_LINK, .offset = start, .len = n };
		return true;
	}
	*at = len;
	return false;
}
