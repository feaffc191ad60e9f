/*
 * number.h - parses numbers in text in all common notations. Pure.
 *
 * 1,234.5 and 1.234,5 and 1 234,5 are the same number; "1,234" may be one of two numbers. So a
 * number has several readings, and a caller accepts any of them.
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
	NUMBER_SPACE, /* including narrow and no-break spaces */
	NUMBER_MARK,  /* apostrophe: 1'234 */
	NUMBER_UNDERSCORE,
};

/* A group of digits and the separator before it. */
struct number_group {
	size_t start, len;
	enum number_sep sep;
};

struct number_reading {
	double value;
	double step;	   /* value of its last digit's place */
	bool is_whole;	   /* no decimals */
	unsigned digits;   /* digits of the integer part */
	unsigned zeros;	   /* trailing zeros of a whole number */
};

struct number {
	size_t start, end; /* the digits, separators and exponent */
	struct number_group groups[NUMBER_GROUPS_MAX];
	size_t group_count;
	bool has_exponent, leads_with_point;
	int exponent;
	/* readings of all groups as one number; none for a date, a version, an address, a list */
	struct number_reading readings[NUMBER_READINGS_MAX];
	size_t count;
};

/* Finds the next number from *at on and moves *at past it; skips names such as x1 and 7f3a. */
bool number_next(const char *text, size_t len, size_t *at, struct number *ret);

/* Reads some of the groups as one number; returns the number of readings. */
size_t number_read(const char *text, const struct number *number, size_t from, size_t count,
		   struct number_reading ret[NUMBER_READINGS_MAX]);

size_t number_digits_at(const char *text, size_t len, size_t at); /* number of digits at `at` */
