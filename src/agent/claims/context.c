/*
 * context.c - decides by the words around a number what it means.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    an answer of a model.
 * Never:    reads outside the text.
 */
#include "agent/claims/context.h"

#include <string.h>
#include <strings.h>

#include "agent/claims/number.h"

#define YEAR_FIRST 1800
#define YEAR_LAST 2100
#define DAY_LAST 31
#define WORD_MAX 24u

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static char at_or_0(const char *text, size_t len, size_t at)
{
	return at < len ? text[at] : '\0';
}

/* Whether the word is in `list`, whose words are separated by spaces. */
static bool is_one_of(const char *word, size_t len, const char *list)
{
	while (*list != '\0') {
		const size_t n = strcspn(list, " ");

		if (n == len && strncasecmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

/* The word before `at`, with at most a space, a point or Markdown's marks between them. */
static size_t word_before(const char *text, size_t at, const char **ret)
{
	size_t end = at, start;

	while (end > 0 && at - end < 4 && strchr(" .*_\xa0\xc2", text[end - 1]) != NULL &&
	       text[end - 1] != '\0')
		end--;
	start = end;
	while (start > 0 && end - start <= WORD_MAX && is_letter(text[start - 1]))
		start--;
	/* This also accepts the bytes of multi-byte letters. */
	*ret = text + start;
	return end - start;
}

static size_t word_behind(const char *text, size_t len, size_t at, const char **ret)
{
	size_t n = 0;

	while (at < len && strchr(" .\n", text[at]) == NULL && !is_letter(text[at]))
		return 0;
	while (at < len && (text[at] == ' ' || text[at] == '.'))
		at++;
	while (at + n < len && n <= WORD_MAX && is_letter(text[at + n]))
		n++;
	*ret = text + at;
	return n;
}

/* ---- dates ---- */

static const char months[] =
	"jan january januar jänner feb february februar mar march mär märz apr april may mai jun june "
	"juni jul july juli aug august sep sept september oct october okt oktober nov november dec "
	"december dez dezember";

static bool is_day(const char *text, size_t len, const struct number *number)
{
	const char *word;
	size_t n;

	if (number->group_count != 1 || number->readings[0].value > DAY_LAST)
		return false;
	n = word_before(text, number->start, &word);
	if (is_one_of(word, n, months))
		return true;
	n = word_behind(text, len, number->end, &word);
	return n > 0 && is_one_of(word, n, months);
}

static bool is_year(const char *text, size_t len, const struct number *number)
{
	const char next = at_or_0(text, len, number->end);
	struct unit unit;

	unit_read(text, len, number->end, &unit);
	return number->group_count == 1 && number->groups[0].len == 4 &&
	       number->readings[0].value >= YEAR_FIRST && number->readings[0].value < YEAR_LAST &&
	       (!unit.is_known || next == 's') && unit_currency_before(text, number->start) == 0;
}

/* The end of 2024-01-31, 31/01/2024, 2024-01, 2023/24 or 12:30:05; 0: none of these. */
static size_t date_end(const char *text, size_t len, const struct number *number)
{
	const size_t first = number->groups[0].len;
	const char sep = at_or_0(text, len, number->end);
	size_t at = number->end, parts = 1, n;

	if (number->group_count != 1 || first > 4 || sep == '\0' || strchr("-/:", sep) == NULL)
		return 0;
	while (parts < 4 && at_or_0(text, len, at) == sep &&
	       (n = number_digits_at(text, len, at + 1)) > 0 && n <= 4) {
		at += 1 + n;
		parts++;
	}
	if (sep == ':')
		return parts > 1 ? at : 0;
	if (parts == 3)
		return at;
	return parts == 2 && is_year(text, len, number) ? at : 0;
}

/* ---- labels ---- */

static const char labels[] =
	"figure fig figures table tables chart step steps section sections chapter page pages line "
	"lines question part phase appendix equation eq note footnote cell item point no nr number "
	"version v release ver task exercise option case level tier group cluster model quarter week "
	"abbildung abb tabelle tab schritt abschnitt kapitel seite zeile frage teil anhang nummer "
	"punkt kw";

static bool has_label(const char *text, size_t at)
{
	const char *word;
	const size_t n = word_before(text, at, &word);

	/* A point before the number ends a sentence, except after "No." and "Fig.". */
	return n > 0 && is_one_of(word, n, labels);
}

static bool is_ordinal(const char *text, size_t len, size_t end)
{
	size_t n = 0;

	while (end + n < len && is_letter(text[end + n]))
		n++;
	return n > 0 && is_one_of(text + end, n, "st nd rd th D er");
}

/* "1." and "2)" at the start of a line, and the number of a heading. */
static bool is_list_number(const char *text, size_t len, const struct number *number)
{
	const char next = at_or_0(text, len, number->end);
	const char after = at_or_0(text, len, number->end + 1);
	size_t at = number->start;
	bool is_heading = false;

	while (at > 0 && strchr("#>*_-+ \t(", text[at - 1]) != NULL && text[at - 1] != '\0') {
		is_heading |= text[at - 1] == '#';
		at--;
	}
	if (at > 0 && text[at - 1] != '\n')
		return false;
	if (is_heading)
		return true;
	return number->group_count == 1 && number->groups[0].len <= 3 && next != '\0' &&
	       strchr(".):", next) != NULL && (after == ' ' || after == '*' || after == '\t');
}

static bool is_citation(const char *text, size_t len, const struct number *number)
{
	return number->start > 0 && text[number->start - 1] == '[' &&
	       at_or_0(text, len, number->end) == ']' && number->groups[0].len <= 3;
}

/* Part of a name or expression: "COVID-19", "top-10", "#3", "x^2", "a/3". */
static bool is_bound(const char *text, size_t len, const struct number *number)
{
	const size_t start = number->start;
	const char before = start > 0 ? text[start - 1] : '\0';
	const char next = at_or_0(text, len, number->end);

	if (before != '\0' && strchr("#^&\\@/", before) != NULL)
		return true;
	if (before == '-' && start > 1 && (is_letter(text[start - 2]) || is_digit(text[start - 2])))
		return is_letter(text[start - 2]);
	if (start > 1 && (memcmp(text + start - 2, "\xc2\xa7", 2) == 0))
		return true;
	/* "2024.csv", "10^6" */
	return next == '^' || (next == '.' && is_letter(at_or_0(text, len, number->end + 1)));
}

bool context_is_name(const char *text, size_t len, const struct number *number, size_t *ret_end)
{
	*ret_end = number->count > 0 ? date_end(text, len, number) : 0;
	if (number->count == 0 || *ret_end > 0)
		return true;
	return is_year(text, len, number) || is_list_number(text, len, number) ||
	       is_ordinal(text, len, number->end) || is_citation(text, len, number) ||
	       is_bound(text, len, number) || has_label(text, number->start) ||
	       is_day(text, len, number);
}

/* ---- hedges and ranges ---- */

bool context_is_hedged(const char *text, size_t at)
{
	static const char words[] =
		"about around approximately approx roughly nearly almost over under ca circa "
		"some than etwa rund fast knapp gut ungefähr über unter zirka";
	const char *word;
	size_t n;

	at -= unit_currency_before(text, at);
	if ((at > 0 && (text[at - 1] == '~' || text[at - 1] == '>' || text[at - 1] == '<')) ||
	    (at > 2 && memcmp(text + at - 3, "\xe2\x89\x88", 3) == 0))
		return true;
	n = word_before(text, at, &word);
	return n > 0 && is_one_of(word, n, words);
}

static size_t dash_at(const char *text, size_t len, size_t at)
{
	static const char *const dashes[] = { "-", "\xe2\x80\x93", "\xe2\x80\x94", " to ",
					      " and ", " bis ", " - ", " \xe2\x80\x93 " };

	for (size_t i = 0; i < sizeof(dashes) / sizeof(dashes[0]); i++) {
		const size_t n = strlen(dashes[i]);

		if (at + n < len && memcmp(text + at, dashes[i], n) == 0)
			return n;
	}
	return 0;
}

void context_range_unit(const char *text, size_t len, size_t at, struct unit *ret)
{
	const size_t dash = dash_at(text, len, at);
	const size_t end = ret->end;
	struct number second;
	size_t from = at + dash;

	if (dash == 0 || !is_digit(at_or_0(text, len, from)) ||
	    !number_next(text, len, &from, &second) || second.start != at + dash)
		return;
	unit_read(text, len, second.end, ret);
	ret->end = end;
}
