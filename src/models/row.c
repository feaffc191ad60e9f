/*
 * row.c - one table of the keys of models.ini, and the parsing of their values.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    a value that the user or the administrator wrote.
 * Never:    accepts a value that it would have to change.
 */
#include "models/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#define IN_DEFAULT (1u << MODELS_DEFAULT)
#define IN_PROVIDER (1u << MODELS_PROVIDER)
#define IN_MODEL (1u << MODELS_MODEL)
#define IN_ANY (IN_DEFAULT | IN_PROVIDER | IN_MODEL)

#define AT(member) offsetof(struct models_entry, member)

static const struct models_row rows[] = {
	{ IN_DEFAULT | IN_PROVIDER, "model", MODELS_ROW_TEXT, AT(model), MODELS_MODEL_MAX, NULL },
	{ IN_PROVIDER, "protocol", MODELS_ROW_CHOICE, AT(protocol), AGENT_PROTOCOL_COUNT_,
	  "chat responses messages gemini" },
	{ IN_PROVIDER, "base-url", MODELS_ROW_URL, AT(base_url), MODELS_URL_MAX, NULL },
	{ IN_PROVIDER, "key-env", MODELS_ROW_NAME, AT(key_env), 100, NULL },
	{ IN_PROVIDER, "key-file", MODELS_ROW_PATH, AT(key_file), 4095, NULL },
	{ IN_PROVIDER, "key", MODELS_ROW_SECRET, AT(key), MODELS_KEY_MAX, NULL },
	{ IN_PROVIDER | IN_MODEL, "calling", MODELS_ROW_CHOICE, AT(calling), AGENT_CALLING_COUNT_,
	  "tools fenced schema" },
	{ IN_PROVIDER | IN_MODEL, "answer-limit", MODELS_ROW_CHOICE, AT(limit), AGENT_LIMIT_COUNT_,
	  "auto max_tokens max_completion_tokens" },
	{ IN_PROVIDER | IN_MODEL, "echo-thoughts", MODELS_ROW_CHOICE, AT(echo), AGENT_ECHO_COUNT_,
	  "auto all none" },
	{ IN_PROVIDER, "headers", MODELS_ROW_HEADERS, AT(headers), 2000, NULL },
	{ IN_PROVIDER | IN_MODEL, "images", MODELS_ROW_CHOICE, AT(images), 2, "no yes" },
	{ IN_ANY, "verify", MODELS_ROW_CHOICE, AT(verify), AGENT_VERIFY_COUNT_, "off mark ask" },
	{ IN_ANY, "context", MODELS_ROW_COUNT, AT(context_tokens), 100000000, NULL },
	{ IN_ANY, "answer-tokens", MODELS_ROW_COUNT, AT(answer_tokens), 1000000, NULL },
	{ IN_DEFAULT | IN_PROVIDER, "retries", MODELS_ROW_COUNT, AT(retries), 100, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-in", MODELS_ROW_AMOUNT, AT(price_in), 0, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-cached", MODELS_ROW_AMOUNT, AT(price_cached), 0, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-cache-write", MODELS_ROW_AMOUNT, AT(price_written), 0, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-out", MODELS_ROW_AMOUNT, AT(price_out), 0, NULL },
	{ IN_DEFAULT, "max-steps", MODELS_ROW_COUNT, AT(steps_max), 1000, NULL },
	{ IN_DEFAULT, "max-tokens", MODELS_ROW_COUNT, AT(tokens_max), UINT32_MAX, NULL },
	{ IN_DEFAULT, "max-time", MODELS_ROW_SECONDS, AT(wall_ms), 7 * 86400, NULL },
	{ IN_DEFAULT, "budget", MODELS_ROW_AMOUNT, AT(budget_micro), 0, NULL },
};

_Static_assert(ARRAY_LEN(rows) <= 32, "a bit for each says whether it was there");

/* ---- values ---- */

bool models_amount_read(const char *text, const char **ret_end, uint64_t *ret)
{
	uint64_t value = 0, unit = 1000000;
	size_t digits = 0;

	for (; *text >= '0' && *text <= '9'; text++, digits++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > 1000000)
			return false;
	}
	value *= unit;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, digits++) {
			if (unit == 1)
				return false; /* more digits would be dropped silently */
			unit /= 10;
			value += (uint64_t)(*text - '0') * unit;
		}
	if (digits == 0 || value > UINT64_C(1000000000000))
		return false;
	*ret_end = text;
	*ret = value;
	return true;
}

int models_url_check(const char *url, const char *what, struct err *err)
{
	const char *host = NULL;

	if (strncmp(url, "https://", 8) == 0)
		host = url + 8;
	else if (strncmp(url, "http://", 7) == 0)
		host = url + 7;
	if (host == NULL || *host == '\0' || *host == '/') {
		err_set(err, ERR_INVALID, "%s: invalid address '%.100s'", what, url);
		return err_remedy(err, "it begins with https:// or http://");
	}
	for (const char *at = url; *at != '\0'; at++)
		if ((unsigned char)*at <= 0x20 || *at == 0x7f)
			return err_set(err, ERR_INVALID,
				       "%s: it holds a space or control character", what);
	if (strpbrk(host, "?#") != NULL)
		return err_set(err, ERR_INVALID, "%s: it ends before '?' and '#'", what);
	if (memchr(host, '@', strcspn(host, "/")) != NULL)
		return err_set(err, ERR_INVALID, "%s: no name and password belong there", what);
	if (strlen(url) > MODELS_URL_MAX)
		return err_set(err, ERR_INVALID, "%s: it is too long", what);
	return 0;
}

static bool is_variable(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char rest[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return text[0] != '\0' && strchr(letters, text[0]) != NULL &&
	       text[strspn(text, rest)] == '\0';
}

/* Checks "NAME: VALUE | NAME: VALUE"; rejects headers that Reckon sets itself. */
static int check_headers(const char *value, const char *what, struct err *err)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	static const char *const ours[] = { "host", "content-length", "content-type", "connection",
					    "transfer-encoding", "expect", "accept" };
	unsigned count = 0;

	for (const char *at = value; at != NULL; count++) {
		const char *mark = strstr(at, AGENT_HEADERS_MARK);
		const size_t name = strspn(at, letters);

		if (name == 0 || at[name] != ':' || at[name + 1] != ' ' || at[name + 2] == '\0' ||
		    (mark != NULL && mark <= at + name + 1) || count == AGENT_HEADERS_MAX)
			return err_set(err, ERR_INVALID,
				       "%s takes up to %u of NAME: VALUE, with '" AGENT_HEADERS_MARK
				       "' between them",
				       what, AGENT_HEADERS_MAX);
		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			if (strlen(ours[i]) == name && strncasecmp(ours[i], at, name) == 0)
				return err_set(err, ERR_INVALID, "%s: %s is set by Reckon", what,
					       ours[i]);
		at = mark != NULL ? mark + sizeof(AGENT_HEADERS_MARK) - 1 : NULL;
	}
	return 0;
}

static int check_text(const struct models_row *row, const char *what, const char *value,
		      struct err *err)
{
	if (value[0] == '\0' || strlen(value) > row->max || !text_is_plain(value))
		return err_set(err, ERR_INVALID, "%s takes 1 to %llu characters of text", what,
			       (unsigned long long)row->max);
	if (row->kind == MODELS_ROW_HEADERS)
		return check_headers(value, what, err);
	if (row->kind == MODELS_ROW_URL)
		return models_url_check(value, what, err);
	if (row->kind == MODELS_ROW_NAME && !is_variable(value))
		return err_set(err, ERR_INVALID, "%s takes the name of a variable", what);
	if (row->kind == MODELS_ROW_PATH && value[0] != '/' && strncmp(value, "~/", 2) != 0)
		return err_set(err, ERR_INVALID, "%s takes a path from / or ~/ on", what);
	return 0;
}

static int read_choice(const struct models_row *row, const char *what, const char *value,
		       uint64_t *ret, struct err *err)
{
	const size_t len = strlen(value);
	const char *at = row->choices;

	for (uint64_t i = 0; i < row->max; i++) {
		const size_t word = strcspn(at, " ");

		if (word == len && memcmp(at, value, len) == 0) {
			*ret = i;
			return 0;
		}
		at += word + (at[word] == ' ');
	}
	return err_set(err, ERR_INVALID, "%s takes one of: %s", what, row->choices);
}

/* Digits, and for a duration one unit. */
static int read_count(const struct models_row *row, const char *what, const char *value,
		      uint64_t *ret, struct err *err)
{
	const size_t digits = strspn(value, "0123456789");
	const uint64_t min = strcmp(row->name, "retries") == 0 ? 0 : 1;
	uint64_t factor = 1, number = 0;
	bool good = digits > 0 && digits <= 12;

	if (good && row->kind == MODELS_ROW_SECONDS && value[digits] != '\0') {
		const char *unit = strchr("s1m2h3d4", value[digits]);

		good = unit != NULL && value[digits] > '9' && value[digits + 1] == '\0';
		if (good)
			factor = (const uint64_t[]){ 1, 60, 3600, 86400 }[unit[1] - '1'];
	} else if (good) {
		good = value[digits] == '\0';
	}
	if (good)
		number = strtoull(value, NULL, 10) * factor;
	if (!good || number < min || number > row->max)
		return err_set(err, ERR_INVALID, "%s takes %s from %llu to %llu", what,
			       row->kind == MODELS_ROW_SECONDS ? "seconds (or 5m, 2h)" : "a number",
			       (unsigned long long)min, (unsigned long long)row->max);
	*ret = row->kind == MODELS_ROW_SECONDS ? number * 1000 : number;
	return 0;
}

static int read_number(const struct models_row *row, const char *what, const char *value,
		       uint64_t *ret, struct err *err)
{
	const char *end;

	if (row->kind == MODELS_ROW_CHOICE)
		return read_choice(row, what, value, ret, err);
	if (row->kind != MODELS_ROW_AMOUNT)
		return read_count(row, what, value, ret, err);
	if (!models_amount_read(value, &end, ret) || *end != '\0')
		return err_set(err, ERR_INVALID, "%s takes an amount as in 1.25", what);
	return 0;
}

int models_row_set(struct models_entry *entry, const struct models_row *row, const char *value,
		   struct err *err)
{
	char what[32];
	uint64_t number;
	char *text;

	(void)snprintf(what, sizeof(what), "\"%s\"", row->name);
	if (row->kind <= MODELS_ROW_SECRET) {
		if (check_text(row, what, value, err) < 0)
			return (int)err->code;
		text = mem_strdup(value);
		memcpy((char *)entry + row->offset, &text, sizeof(text));
		return 0;
	}
	if (read_number(row, what, value, &number, err) < 0)
		return (int)err->code;
	memcpy((char *)entry + row->offset, &number, sizeof(number));
	return 0;
}

/* ---- rows ---- */

const struct models_row *models_row_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *known = rows[i].name, *given = name;

		while (*known != '\0' && (*known == *given || (*known == '-' && *given == '_'))) {
			known++;
			given++;
		}
		if (*known == '\0' && *given == '\0')
			return &rows[i];
	}
	return NULL;
}

uint32_t models_row_bit(const struct models_row *row)
{
	return 1u << (unsigned)(row - rows);
}

void models_row_unset_all(struct models_entry *entry)
{
	const uint64_t unset = MODELS_UNSET;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind > MODELS_ROW_SECRET)
			memcpy((char *)entry + rows[i].offset, &unset, sizeof(unset));
}
