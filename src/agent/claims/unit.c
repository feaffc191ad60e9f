/*
 * unit.c - reads the unit after a number.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    text of a model, output of hostile code.
 * Never:    reads outside the text.
 */
#include "agent/claims/unit.h"

#include <string.h>
#include <strings.h>

#define WORD_MAX 16u

enum kind { SHARE, SCALE, PLAIN };

static const struct row {
	const char *word;
	enum kind kind;
	bool exact_case;
	double factors[UNIT_FACTORS_MAX - 1]; /* besides 1; ends with 0 */
} rows[] = {
	{ "%", SHARE, true, { 0.01 } },
	{ "percent", SHARE, false, { 0.01 } },
	{ "percentage", SHARE, false, { 0.01 } },
	{ "prozent", SHARE, false, { 0.01 } },
	{ "prozentpunkte", SHARE, false, { 0.01 } },
	{ "pp", SHARE, true, { 0.01 } },
	{ "\xe2\x80\xb0", SHARE, true, { 0.001 } },
	{ "k", SCALE, true, { 1e3 } },
	{ "K", SCALE, true, { 1e3 } },
	{ "thousand", SCALE, false, { 1e3 } },
	{ "tausend", SCALE, false, { 1e3 } },
	{ "tsd", SCALE, false, { 1e3 } },
	{ "lakh", SCALE, false, { 1e5 } },
	{ "M", SCALE, true, { 1e6 } },
	{ "m", SCALE, true, { 1e6 } },
	{ "mn", SCALE, false, { 1e6 } },
	{ "mio", SCALE, false, { 1e6 } },
	{ "mln", SCALE, false, { 1e6 } },
	{ "million", SCALE, false, { 1e6 } },
	{ "millions", SCALE, false, { 1e6 } },
	{ "millionen", SCALE, false, { 1e6 } },
	{ "crore", SCALE, false, { 1e7 } },
	{ "B", SCALE, true, { 1e9 } },
	{ "bn", SCALE, false, { 1e9 } },
	{ "mrd", SCALE, false, { 1e9 } },
	{ "billion", SCALE, false, { 1e9, 1e12 } }, /* in German, a trillion */
	{ "billions", SCALE, false, { 1e9 } },
	{ "milliarde", SCALE, false, { 1e9 } },
	{ "milliarden", SCALE, false, { 1e9 } },
	{ "billionen", SCALE, false, { 1e12 } },
	{ "T", SCALE, true, { 1e12 } },
	{ "tn", SCALE, false, { 1e12 } },
	{ "trillion", SCALE, false, { 1e12 } },
	{ "kB", PLAIN, false, { 1e3, 1024 } },
	{ "KiB", PLAIN, false, { 1024 } },
	{ "MB", PLAIN, true, { 1e6, 1048576, 1e3, 1024 } },
	{ "MiB", PLAIN, true, { 1048576, 1024 } },
	{ "GB", PLAIN, true, { 1e9, 1073741824, 1e3, 1024 } },
	{ "GiB", PLAIN, true, { 1073741824, 1048576, 1024 } },
	{ "TB", PLAIN, true, { 1e12, 1e9, 1e6, 1e3 } },
	{ "ns", PLAIN, true, { 1e-9 } },
	{ "us", PLAIN, true, { 1e-6 } },
	{ "\xc2\xb5s", PLAIN, true, { 1e-6 } },
	{ "\xce\xbcs", PLAIN, true, { 1e-6 } },
	{ "ms", PLAIN, true, { 1e-3 } },
	{ "s", PLAIN, true, { 0 } },
	{ "min", PLAIN, true, { 60 } },
	{ "minutes", PLAIN, false, { 60 } },
	{ "h", PLAIN, true, { 3600, 60 } },
	{ "hours", PLAIN, false, { 3600, 60 } },
	{ "days", PLAIN, false, { 86400, 24 } },
	{ "mm", PLAIN, true, { 1e-3 } },
	{ "cm", PLAIN, true, { 1e-2 } },
	{ "km", PLAIN, true, { 1e3 } },
	{ "mg", PLAIN, true, { 1e-3 } },
	{ "kg", PLAIN, true, { 1e3 } },
	{ "kW", PLAIN, true, { 1e3 } },
	{ "kWh", PLAIN, true, { 1e3 } },
	{ "MW", PLAIN, true, { 1e6, 1e3 } },
	{ "MWh", PLAIN, true, { 1e6, 1e3 } },
	{ "EUR", PLAIN, true, { 0 } },
	{ "USD", PLAIN, true, { 0 } },
	{ "GBP", PLAIN, true, { 0 } },
	{ "CHF", PLAIN, true, { 0 } },
	{ "JPY", PLAIN, true, { 0 } },
	{ "euro", PLAIN, false, { 0 } },
	{ "euros", PLAIN, false, { 0 } },
	{ "dollars", PLAIN, false, { 0 } },
	{ "$", PLAIN, true, { 0 } },
	{ "\xe2\x82\xac", PLAIN, true, { 0 } }, /* euro */
	{ "\xc2\xa3", PLAIN, true, { 0 } },	/* pound */
	{ "\xc2\xa5", PLAIN, true, { 0 } },	/* yen */
	{ "\xc2\xb0", PLAIN, true, { 0 } },	/* degree */
};

static const char *const blanks[] = { " ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\\" };

static size_t blank_at(const char *text, size_t len, size_t at)
{
	for (size_t i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++) {
		const size_t n = strlen(blanks[i]);

		if (at + n <= len && memcmp(text + at, blanks[i], n) == 0)
			return n;
	}
	return 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0xc3;
}

/* The length of the word at `at`, or of a single sign. */
static size_t word_at(const char *text, size_t len, size_t at)
{
	size_t n = 0;

	while (at + n < len && n <= WORD_MAX && is_letter(text[at + n]))
		n++;
	return n;
}

static const struct row *find(const char *text, size_t len, size_t at, size_t *ret_len)
{
	const size_t word = word_at(text, len, at);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t n = strlen(rows[i].word);
		/* A word must not be followed by a letter; a sign may be. */
		const bool is_word = is_letter(rows[i].word[0]) &&
				     (unsigned char)rows[i].word[0] < 0x80;

		if (at + n > len || (is_word && n != word))
			continue;
		if (rows[i].exact_case ? memcmp(text + at, rows[i].word, n) != 0
				       : strncasecmp(text + at, rows[i].word, n) != 0)
			continue;
		*ret_len = n;
		return &rows[i];
	}
	return NULL;
}

static void take(const struct row *row, struct unit *ret)
{
	ret->is_known = true;
	ret->is_share |= row->kind == SHARE;
	ret->is_scale |= row->kind == SCALE;
	for (size_t i = 0; i < UNIT_FACTORS_MAX - 1 && row->factors[i] != 0 &&
			   ret->factor_count < UNIT_FACTORS_MAX;
	     i++)
		ret->factors[ret->factor_count++] = row->factors[i];
}

void unit_read(const char *text, size_t len, size_t at, struct unit *ret)
{
	*ret = (struct unit){ .factors = { 1 }, .factor_count = 1, .end = at };
	/* "3.4 Mio. EUR": a scale may be followed by a unit. */
	for (unsigned i = 0; i < 2; i++) {
		size_t n = 0, gap = blank_at(text, len, at);
		const struct row *row;

		row = find(text, len, at + gap, &n);
		/*
		 * After a space, a single letter is not a scale: "in 5 m" is metres; "5m" may be
		 * millions.
		 */
		if (row == NULL || (row->kind == SCALE && gap > 0 && n == 1))
			return;
		if (i == 1 && row->kind != PLAIN)
			return;
		take(row, ret);
		at += gap + n;
		ret->end = at;
		if (row->kind != SCALE)
			return;
		if (at < len && text[at] == '.')
			at++;
	}
}

size_t unit_currency_before(const char *text, size_t at)
{
	static const char *const signs[] = { "$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		const size_t n = strlen(signs[i]);

		if (at >= n && memcmp(text + at - n, signs[i], n) == 0)
			return n;
	}
	return 0;
}
