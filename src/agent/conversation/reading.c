/*
 * reading.c - parses requests to read an output that was truncated or shortened.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    text of a model.
 * Never:    accepts more than a handle, two numbers and a search text.
 */
#include "agent/conversation/reading.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define COMMAND "reckon output"
#define WORD_MAX 300u
#define DIGITS_MAX 18u

struct words {
	const char *at, *end;
	char word[WORD_MAX + 1]; /* the last word */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Removes white space, and the marks of a notebook or shell prompt at the beginning. */
static void trim(const char **code, size_t *len)
{
	while (*len > 0 && (is_blank(**code) || memchr("!%$", **code, 3) != NULL)) {
		(*code)++;
		(*len)--;
	}
	while (*len > 0 && is_blank((*code)[*len - 1]))
		(*len)--;
}

bool reading_is(const char *code, size_t len)
{
	static const char command[] = COMMAND;
	const size_t n = sizeof(command) - 1;

	trim(&code, &len);
	return len >= n && memcmp(code, command, n) == 0 && (len == n || is_blank(code[n])) &&
	       memchr(code, '\n', len) == NULL && memchr(code, '\0', len) == NULL;
}

/* Reads the next word, which may be quoted; false: there is none. */
static bool next_word(struct words *words)
{
	char quote = '\0';
	size_t len = 0;

	while (words->at < words->end && is_blank(*words->at))
		words->at++;
	if (words->at == words->end)
		return false;
	for (; words->at < words->end && (quote != '\0' || !is_blank(*words->at)); words->at++) {
		if (quote == '\0' && (*words->at == '"' || *words->at == '\''))
			quote = *words->at;
		else if (*words->at == quote)
			quote = '\0';
		else if (len < WORD_MAX)
			words->word[len++] = *words->at;
	}
	words->word[len] = '\0';
	return true;
}

static const char *read_number(const char *text, uint64_t *ret)
{
	size_t len = 0;

	*ret = 0;
	while (len < DIGITS_MAX && isdigit((unsigned char)text[len]))
		*ret = *ret * 10 + (uint64_t)(text[len++] - '0');
	return len > 0 ? text + len : NULL;
}

/* Reads "A:B", "A-B", "A:" or "A". */
static int take_pair(const char *text, enum agent_unit unit, struct reading *ret, struct err *err)
{
	const char *end = read_number(text, &ret->part.first);

	ret->part.unit = unit;
	ret->part.last = ret->part.first;
	if (end != NULL && (*end == ':' || *end == '-')) {
		end++;
		if (*end == '\0')
			ret->part.last = UINT64_MAX;
		else
			end = read_number(end, &ret->part.last);
	}
	if (end == NULL || *end != '\0' || ret->part.last < ret->part.first ||
	    (unit == AGENT_UNIT_LINES && ret->part.first == 0))
		return err_set(err, ERR_INVALID,
			       "invalid range '%.60s': expected a range such as 151:400", text);
	return 0;
}

static int take_count(const char *text, enum agent_unit unit, struct reading *ret, struct err *err)
{
	const char *end = read_number(text, &ret->part.last);

	ret->part.unit = unit;
	if (end == NULL || *end != '\0' || ret->part.last == 0)
		return err_set(err, ERR_INVALID, "invalid number of lines '%.60s'", text);
	return 0;
}

static int take_needle(const char *text, struct reading *ret, struct err *err)
{
	if (text[0] == '\0' || strlen(text) > AGENT_NEEDLE_MAX || strchr(text, '\n') != NULL)
		return err_set(err, ERR_INVALID, "what is looked for is a text of one line");
	(void)snprintf(ret->needle, sizeof(ret->needle), "%s", text);
	return 0;
}

static int take_handle(const char *text, struct reading *ret, struct err *err)
{
	const size_t len = strlen(text);
	bool is_word = len > 0 && len <= AGENT_HANDLE_MAX;

	for (size_t i = 0; i < len && is_word; i++)
		is_word = isalnum((unsigned char)text[i]) || text[i] == '_';
	if (!is_word)
		return err_set(err, ERR_INVALID,
			       "invalid handle '%.60s'; they are words such as "
			       "out_5f3a or result_3, and stand where something was left out",
			       text);
	memcpy(ret->handle, text, len + 1);
	return 0;
}

static void reading_init(struct reading *reading)
{
	*reading = (struct reading){ .part = { AGENT_UNIT_LINES, 1, UINT64_MAX, 0 } };
}

/* Reads one word, and its value if it is an option. */
static int take_word(struct words *words, struct reading *ret, struct err *err)
{
	static const struct {
		const char *name;
		enum agent_unit unit;
	} options[] = { { "--lines", AGENT_UNIT_LINES }, { "--head", AGENT_UNIT_HEAD },
			{ "--tail", AGENT_UNIT_TAIL },	 { "--range", AGENT_UNIT_BYTES },
			{ "--grep", AGENT_UNIT_COUNT_ } };
	char name[WORD_MAX + 1], *equals;

	if (words->word[0] != '-')
		return take_handle(words->word, ret, err);
	memcpy(name, words->word, sizeof(name));
	equals = strchr(name, '=');
	if (equals != NULL) {
		memmove(words->word, words->word + (equals - name) + 1, strlen(equals));
		*equals = '\0';
	} else if (!next_word(words)) {
		return err_set(err, ERR_INVALID, "%.60s lacks its value", name);
	}
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (strcmp(options[i].name, name) != 0)
			continue;
		if (options[i].unit == AGENT_UNIT_COUNT_)
			return take_needle(words->word, ret, err);
		return options[i].unit == AGENT_UNIT_HEAD || options[i].unit == AGENT_UNIT_TAIL
			       ? take_count(words->word, options[i].unit, ret, err)
			       : take_pair(words->word, options[i].unit, ret, err);
	}
	return err_set(err, ERR_INVALID, "'%.60s' is none of --lines, --head, --tail, --grep",
		       name);
}

int reading_of_words(const char *code, size_t len, struct reading *ret, struct err *err)
{
	struct words words;

	reading_init(ret);
	trim(&code, &len);
	words = (struct words){ .at = code + sizeof(COMMAND) - 1, .end = code + len };
	while (next_word(&words))
		if (take_word(&words, ret, err) < 0)
			return (int)err->code;
	return ret->handle[0] != '\0' ? 0 : take_handle("", ret, err);
}

int reading_of_arguments(const struct json_value *arguments, struct reading *ret, struct err *err)
{
	size_t len = 0;
	const char *handle = json_read_text(json_read_member(arguments, "handle"), &len);
	const char *lines = json_read_text(json_read_member(arguments, "lines"), NULL);
	const char *grep = json_read_text(json_read_member(arguments, "grep"), NULL);

	/* Some models put the whole command into the argument. */
	if (handle != NULL && reading_is(handle, len))
		return reading_of_words(handle, len, ret, err);
	reading_init(ret);
	if (take_handle(handle != NULL ? handle : "", ret, err) < 0)
		return (int)err->code;
	if (lines != NULL && lines[0] != '\0' &&
	    take_pair(lines, AGENT_UNIT_LINES, ret, err) < 0)
		return (int)err->code;
	return grep != NULL && grep[0] != '\0' ? take_needle(grep, ret, err) : 0;
}

void reading_choice(const struct reading *reading, struct page_choice *ret)
{
	const struct agent_part *part = &reading->part;

	*ret = (struct page_choice){
		.has_lines = part->unit == AGENT_UNIT_LINES,
		.first = part->first,
		.last = part->last,
		.head = part->unit == AGENT_UNIT_HEAD ? part->last : 0,
		.tail = part->unit == AGENT_UNIT_TAIL ? part->last : 0,
		.has_range = part->unit == AGENT_UNIT_BYTES,
		.from = part->first,
		.to = part->last,
		.needle = reading->needle[0] != '\0' ? reading->needle : NULL,
		.page_bytes = part->bytes_max,
	};
}
