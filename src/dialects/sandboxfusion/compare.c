/*
 * compare.c - finds the code in a model's answer, and compares an output with the expected one.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    text of models and of hostile programs.
 * Never:    reads past the given length: the texts need not end with NUL.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialects/sandboxfusion/sandboxfusion.h"

#define FENCE "```"
#define TOLERANCE 1e-5
#define NUMBER_MAX 63u

struct text {
	const char *at, *end;
};

/* The next line without its line break; false: none left. */
static bool next_line(struct text *text, struct text *ret)
{
	const char *end;

	if (text->at == text->end)
		return false;
	end = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*ret = (struct text){ text->at, end != NULL ? end : text->end };
	text->at = end != NULL ? end + 1 : text->end;
	return true;
}

static void strip(struct text *text)
{
	while (text->at < text->end && isspace((unsigned char)*text->at))
		text->at++;
	while (text->end > text->at && isspace((unsigned char)text->end[-1]))
		text->end--;
}

static size_t length(const struct text *text)
{
	return (size_t)(text->end - text->at);
}

/* ---- code ----------------------------------------------------------------------------------- */

static bool is_fence(struct text line, struct text *ret_label)
{
	strip(&line);
	if (length(&line) < 3 || memcmp(line.at, FENCE, 3) != 0)
		return false;
	line.at += 3;
	strip(&line);
	*ret_label = line;
	return true;
}

static bool is_word(const struct text *label, const char *word)
{
	return strlen(word) == length(label) && strncasecmp(label->at, word, length(label)) == 0;
}

static bool is_label(const struct text *label, const struct fusion_language *language,
		     const struct program_language *row)
{
	if (is_word(label, language->name) || (row != NULL && is_word(label, row->name)))
		return true;
	for (const char *const *at = row != NULL ? row->aliases : NULL; at != NULL && *at != NULL;
	     at++)
		if (is_word(label, *at))
			return true;
	return false;
}

bool fusion_find_code(const char *text, size_t len, const struct fusion_language *language,
		      const struct program_language *row, const char **ret, size_t *ret_len)
{
	struct text rest = { text, text + len }, line, label, found = { 0 };
	const char *begin = NULL;
	bool is_labelled = false, has_label = false;

	while (next_line(&rest, &line)) {
		if (!is_fence(line, &label))
			continue;
		if (begin == NULL) {
			begin = rest.at;
			is_labelled = is_label(&label, language, row);
			continue;
		}
		if (is_labelled || !has_label)
			found = (struct text){ begin, line.at };
		has_label = has_label || is_labelled;
		begin = NULL;
	}
	*ret = found.at;
	*ret_len = found.at != NULL ? length(&found) : 0;
	return found.at != NULL;
}

/* ---- output --------------------------------------------------------------------------------- */

static bool read_number(const struct text *word, double *ret)
{
	char copy[NUMBER_MAX + 1];
	char *end;

	if (length(word) == 0 || length(word) > NUMBER_MAX)
		return false;
	memcpy(copy, word->at, length(word));
	copy[length(word)] = '\0';
	*ret = strtod(copy, &end);
	return *end == '\0' && isfinite(*ret);
}

static bool is_same_word(const struct text *a, const struct text *b)
{
	double first, second;

	if (length(a) == length(b) && strncasecmp(a->at, b->at, length(a)) == 0)
		return true;
	return read_number(a, &first) && read_number(b, &second) &&
	       fabs(first - second) <= TOLERANCE * fmax(1, fabs(second));
}

static bool next_word(struct text *line, struct text *ret)
{
	strip(line);
	ret->at = ret->end = line->at;
	while (ret->end < line->end && !isspace((unsigned char)*ret->end))
		ret->end++;
	line->at = ret->end;
	return ret->end > ret->at;
}

static bool is_same_line(struct text a, struct text b)
{
	struct text first, second;
	bool has_first, has_second;

	do {
		has_first = next_word(&a, &first);
		has_second = next_word(&b, &second);
		if (has_first != has_second || (has_first && !is_same_word(&first, &second)))
			return false;
	} while (has_first);
	return true;
}

bool fusion_is_expected(const char *output, size_t output_len, const char *want, size_t want_len)
{
	struct text a = { output, output + output_len }, b = { want, want + want_len };
	struct text first, second;
	bool has_first, has_second;

	strip(&a);
	strip(&b);
	do {
		has_first = next_line(&a, &first);
		has_second = next_line(&b, &second);
		if (has_first != has_second || (has_first && !is_same_line(first, second)))
			return false;
	} while (has_first);
	return true;
}
