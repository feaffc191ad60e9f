/*
 * number.h - numbers in text, however people and programs write them. Pure.
 *
 * 1,234.5 and 1.234,5 and 1 234,5 are one number; "1,234" may be two. So a run of digits has
 * readings, and whoever looks a number up takes any of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NUMBER_GROUPS_MAX 24u
#define NUMBER_READINGS_MAX 2u

enum number_sep {
	NUMBER_NONE,
	NUMBER_POINT,
	NUMBER_COMMA,
	NUMBER_SPACE, /* also the narrow and the unbreakable ones */
	NUMBER_MARK,  /* 1'234 */
	NUMBER_UNDERSCORE,
};

/* Digits, and what stands before them. */
struct number_group {
	size_t start, len;
	enum number_sep sep;
};

struct number_reading {
	double value;
	double step;	   /* the worth of its last digit */
	bool is_whole;	   /* it has no decimals */
	unsigned digits;   /* of the whole, for trailing zeros */
	unsigned zeros;	   /* at the end of a whole one */
};

struct number {
	size_t start, end; /* of the digits and what is between them, with an exponent */
	struct number_group groups[NUMBER_GROUPS_MAX];
	size_t group_count;
	bool has_exponent, leads_with_point;
	int exponent;
	/* of all of it as one number; none: a date, a version, an address, a list */
	struct number_reading readings[NUMBER_READINGS_MAX];
	size_t count;
};

/* The next one at or behind *at, which goes behind it; names such as x1 and 7f3a are none. */
bool number_next(const char *text, size_t len, size_t *at, struct number *ret);

/* What some of its groups mean as one number; how many readings. */
size_t number_read(const char *text, const struct number *number, size_t from, size_t count,
		   struct number_reading ret[NUMBER_READINGS_MAX]);

size_t number_digits_at(const char *text, size_t len, size_t at); /* how many stand there */
