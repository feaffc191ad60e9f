/*
 * number.c - parses numbers in text in all common notations.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    text of a model, output of hostile code.
 * Never:    reads outside the text, or uses more groups than its table has.
 */
#include "agent/claims/number.h"

#include <math.h>
#include <string.h>

#define EXPONENT_MAX 400

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
	return is_digit(c) || is_letter(c) || c == '_';
}

size_t number_digits_at(const char *text, size_t len, size_t at)
{
	size_t n = 0;

	while (at + n < len && is_digit(text[at + n]))
		n++;
	return n;
}

/* ---- separators ---- */

static size_t sep_at(const char *text, size_t len, size_t at, enum number_sep *ret)
{
	static const struct {
		const char *bytes;
		enum number_sep sep;
	} seps[] = {
		{ ".", NUMBER_POINT },	       { ",", NUMBER_COMMA },
		{ " ", NUMBER_SPACE },	       { "\xc2\xa0", NUMBER_SPACE },
		{ "\xe2\x80\xaf", NUMBER_SPACE }, { "\xe2\x80\x89", NUMBER_SPACE },
		{ "'", NUMBER_MARK },	       { "\xe2\x80\x99", NUMBER_MARK },
		{ "_", NUMBER_UNDERSCORE },
	};

	for (size_t i = 0; i < sizeof(seps) / sizeof(seps[0]); i++) {
		const size_t n = strlen(seps[i].bytes);

		if (at + n > len || memcmp(text + at, seps[i].bytes, n) != 0)
			continue;
		*ret = seps[i].sep;
		return n;
	}
	return 0;
}

/* Reads the group after a separator; false: the number ends before it. */
static bool next_group(const char *text, size_t len, const struct number *number, size_t at,
		       struct number_group *ret)
{
	enum number_sep sep = NUMBER_NONE;
	const size_t width = sep_at(text, len, at, &sep);
	const size_t digits = width > 0 ? number_digits_at(text, len, at + width) : 0;

	if (digits == 0 || number->group_count == NUMBER_GROUPS_MAX)
		return false;
	/*
	 * A space is usually between two numbers, so only three digits after it continue a number.
	 */
	if ((sep == NUMBER_SPACE || sep == NUMBER_MARK) &&
	    (digits != 3 || number->groups[number->group_count - 1].len > 3))
		return false;
	*ret = (struct number_group){ at + width, digits, sep };
	return true;
}

static size_t exponent_at(const char *text, size_t len, size_t at, int *ret)
{
	size_t n = 1, digits;
	bool is_negative;
	int value = 0;

	if (at >= len || (text[at] != 'e' && text[at] != 'E'))
		return 0;
	is_negative = at + 1 < len && text[at + 1] == '-';
	if (at + 1 < len && (text[at + 1] == '-' || text[at + 1] == '+'))
		n++;
	digits = number_digits_at(text, len, at + n);
	if (digits == 0 || digits > 4 || (at + n + digits < len && is_word(text[at + n + digits])))
		return 0;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (text[at + n + i] - '0');
	*ret = is_negative ? -value : value;
	return n + digits;
}

/* ---- readings ---- */

static void add_digits(const char *text, const struct number_group *group, double *value,
		       unsigned *digits, unsigned *zeros)
{
	for (size_t i = 0; i < group->len; i++) {
		const char c = text[group->start + i];

		*value = *value * 10 + (c - '0');
		*digits += *digits > 0 || c != '0';
		*zeros = c == '0' ? *zeros + 1 : 0;
	}
}

/* The value of `count` groups, of which the first `whole` are before the decimal point. */
static struct number_reading value_of(const char *text, const struct number_group *groups,
				      size_t whole, size_t count)
{
	struct number_reading ret = { .step = 1, .is_whole = whole == count };
	size_t decimals = 0;

	for (size_t i = 0; i < count; i++) {
		add_digits(text, &groups[i], &ret.value, &ret.digits, &ret.zeros);
		if (i >= whole)
			decimals += groups[i].len;
	}
	/* A single division gives the same double as parsing "0.1". */
	if (decimals > 0 && decimals <= EXPONENT_MAX / 2) {
		ret.step = pow(10, -(double)decimals);
		ret.value /= pow(10, (double)decimals);
	}
	return ret;
}

/* Whether one separator groups the digits as 1,234,567 or 12,34,567. */
static bool is_grouped(const char *text, const struct number_group *groups, size_t count)
{
	bool by_three = groups[0].len <= 3, by_two = groups[0].len <= 2 && count > 2;

	if (count < 2)
		return count == 1;
	if (text[groups[0].start] == '0')
		return false;
	for (size_t i = 1; i < count; i++) {
		if (groups[i].sep != groups[1].sep)
			return false;
		by_three = by_three && groups[i].len == 3;
		by_two = by_two && groups[i].len == (i + 1 < count ? 2 : 3);
	}
	return by_three || by_two || groups[1].sep == NUMBER_UNDERSCORE;
}

static bool is_decimal_sep(enum number_sep sep)
{
	return sep == NUMBER_POINT || sep == NUMBER_COMMA;
}

size_t number_read(const char *text, const struct number *number, size_t from, size_t count,
		   struct number_reading ret[NUMBER_READINGS_MAX])
{
	const struct number_group *groups = number->groups + from;
	const bool is_end = from + count == number->group_count;
	const struct number_group *last = &groups[count - 1];
	size_t found = 0;

	if (is_grouped(text, groups, count))
		ret[found++] = value_of(text, groups, count, count);
	if (count > 1 && is_decimal_sep(last->sep) &&
	    (count == 2 || last->sep != groups[1].sep) && is_grouped(text, groups, count - 1))
		ret[found++] = value_of(text, groups, count - 1, count);
	for (size_t i = 0; i < found && is_end && number->has_exponent; i++) {
		ret[i].value *= pow(10, number->exponent);
		ret[i].step *= pow(10, number->exponent);
		ret[i].is_whole = false;
	}
	return found;
}

/* ".5": no digits before the point. */
static void read_fraction(const char *text, struct number *number)
{
	const struct number_group *only = &number->groups[0];

	if (number->group_count != 1)
		return;
	number->readings[0] = value_of(text, only, 0, 1);
	number->readings[0].is_whole = false;
	number->count = 1;
}

/* ---- finding the next number ---- */

/* The end of the letters, digits and similar characters of a name. */
static size_t word_end(const char *text, size_t len, size_t at)
{
	while (at < len && is_word(text[at]))
		at++;
	return at;
}

/* Whether the text is a name such as "7f3a" or "2nd_try"; "12kg" is a number with its unit. */
static bool is_name(const char *text, size_t len, size_t end)
{
	size_t at = end;

	while (at < len && is_letter(text[at]))
		at++;
	return at > end && at < len && (is_digit(text[at]) || text[at] == '_');
}

static void take_groups(const char *text, size_t len, size_t start, struct number *ret)
{
	struct number_group group = { start, number_digits_at(text, len, start), NUMBER_NONE };
	size_t exponent;

	*ret = (struct number){ .start = start };
	do {
		ret->groups[ret->group_count++] = group;
		ret->end = group.start + group.len;
	} while (next_group(text, len, ret, ret->end, &group));
	exponent = exponent_at(text, len, ret->end, &ret->exponent);
	ret->has_exponent = exponent > 0;
	ret->end += exponent;
	ret->leads_with_point = start > 0 && text[start - 1] == '.' &&
				(start < 2 || !is_word(text[start - 2]));
}

bool number_next(const char *text, size_t len, size_t *at, struct number *ret)
{
	size_t i = *at;

	while (i < len) {
		if (!is_word(text[i])) {
			i++;
			continue;
		}
		if (!is_digit(text[i]) || (i > 0 && is_word(text[i - 1]))) {
			i = word_end(text, len, i);
			continue;
		}
		take_groups(text, len, i, ret);
		if (is_name(text, len, ret->end)) {
			i = word_end(text, len, ret->end);
			continue;
		}
		*at = ret->end;
		ret->count = number_read(text, ret, 0, ret->group_count, ret->readings);
		if (ret->leads_with_point)
			read_fraction(text, ret);
		return true;
	}
	*at = len;
	return false;
}
