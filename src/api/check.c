/*
 * check.c - checks a struct against the field table.
 *
 * Runs in:  reckond and the dialects; both check, but only reckond's check is trusted.
 * Reads:    freshly decoded structs.
 * Never:    changes a struct.
 */
#include "api/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/text.h"

static int check_type(const struct api_type *type, const void *value, const char *prefix,
		      struct err *err);

const void *api_at(const struct api_field *field, const void *value)
{
	return (const char *)value + field->offset;
}

void *api_to(const struct api_field *field, void *value)
{
	return (char *)value + field->offset;
}

void api_set_given(const struct api_field *field, void *value)
{
	if (field->given_offset != API_NO_OFFSET)
		*(bool *)((char *)value + field->given_offset) = true;
}

bool api_is_given(const struct api_field *field, const void *value)
{
	const void *at = api_at(field, value);
	unsigned word;

	switch (field->kind) {
	case API_FLAG:
	case API_NUMBER:
	case API_SECONDS:
	case API_TIME:
	case API_MONEY:
	case API_ENV:
	case API_MANY:
		return field->given_offset == API_NO_OFFSET ||
		       *(const bool *)((const char *)value + field->given_offset);
	case API_TEXT:
	case API_ID:
		return *(const char *const *)at != NULL;
	case API_ONE:
		return *(const void *const *)at != NULL;
	case API_CODE:
	case API_JSON:
	case API_OBJECT:
	case API_BASE64:
		return ((const struct api_bytes *)at)->data != NULL;
	case API_WORD:
		memcpy(&word, at, sizeof(word));
		return word != 0;
	case API_WORDS:
		return !field->is_required || *(const uint64_t *)at != 0;
	}
	return false;
}

/* Whether the field is given and not just a false flag, no words, or an empty list. */
static bool is_set(const struct api_field *field, const void *value)
{
	const void *at = api_at(field, value);

	if (!api_is_given(field, value))
		return false;
	if (field->kind == API_FLAG)
		return *(const bool *)at;
	if (field->kind == API_WORDS)
		return *(const uint64_t *)at != 0;
	if (field->kind == API_ENV || field->kind == API_MANY)
		return ((const struct api_list *)at)->count > 0;
	return true;
}

bool api_is_id(const struct api_field *field, const char *text, size_t len)
{
	return len > 0 && len <= field->most &&
	       strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz_.-") >= len;
}

/* A field, and the names of the fields that contain it: "limits." */
struct where {
	const struct api_field *field;
	const char *prefix;
};

static int check_number(const struct where *where, uint64_t number, struct err *err)
{
	const struct api_field *field = where->field;

	if ((number >= field->least && number <= field->most) ||
	    (number == 0 && field->is_nullable))
		return 0;
	if (field->kind == API_SECONDS || field->kind == API_MONEY) {
		const double unit = field->kind == API_SECONDS ? 1000 : API_MONEY_UNIT;

		return err_set(err, ERR_INVALID, "%s%s must be from %g to %.15g", where->prefix,
			       field->name, (double)field->least / unit,
			       (double)field->most / unit);
	}
	return err_set(err, ERR_INVALID, "%s%s must be from %" PRIu64 " to %" PRIu64,
		       where->prefix, field->name, field->least, field->most);
}

/* Checks the form alone, not the calendar: days are only compared. */
static bool is_day(const char *text)
{
	static const char form[] = "dddd-dd-dd";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

static int check_text(const struct where *where, const char *text, struct err *err)
{
	const struct api_field *field = where->field;
	const size_t len = strlen(text);

	if (field->form == API_FORM_PATH && (text[0] != '/' || len > field->most))
		return err_set(err, ERR_INVALID,
			       "%s%s must be an absolute path of at most %" PRIu64 " bytes",
			       where->prefix, field->name, field->most);
	if (field->form == API_FORM_SESSION_NAME && !id_is_name(text, len, "se"))
		return err_set(err, ERR_INVALID,
			       "%s%s must have 1 to %d letters, digits, '.', '_' and '-', and not "
			       "begin with se_",
			       where->prefix, field->name, ID_NAME_MAX);
	if (field->form == API_FORM_DAY && !is_day(text))
		return err_set(err, ERR_INVALID, "%s%s must be a day, as in 2026-11-22",
			       where->prefix, field->name);
	if (field->form == API_FORM_LINE && !text_is_plain(text))
		return err_set(err, ERR_INVALID, "%s%s must have no control characters",
			       where->prefix, field->name);
	if (len < field->least || len > field->most)
		return err_set(err, ERR_INVALID,
			       "%s%s must have %" PRIu64 " to %" PRIu64 " characters",
			       where->prefix, field->name, field->least, field->most);
	return 0;
}

static int check_bytes(const struct where *where, const struct api_bytes *bytes, struct err *err)
{
	const struct api_field *field = where->field;

	if (bytes->len < field->least || bytes->len > field->most)
		return err_set(err, ERR_INVALID, "%s%s must have %" PRIu64 " to %" PRIu64 " bytes",
			       where->prefix, field->name, field->least, field->most);
	if (field->kind == API_JSON && bytes->len == 0)
		return err_set(err, ERR_INVALID, "%s%s is not JSON", where->prefix, field->name);
	if (field->kind == API_OBJECT && (bytes->len < 2 || bytes->data[0] != '{' ||
					  memchr(bytes->data, '\0', bytes->len) != NULL))
		return err_set(err, ERR_INVALID, "%s%s must be an object", where->prefix,
			       field->name);
	return 0;
}

static unsigned count_words(const struct api_field *field)
{
	unsigned count = 0;

	while (field->words[count] != NULL)
		count++;
	return count;
}

static int check_word(const struct where *where, unsigned word, struct err *err)
{
	if (word <= count_words(where->field))
		return 0;
	return err_set(err, ERR_INVALID, "%s%s has no word %u", where->prefix, where->field->name,
		       word);
}

static int check_words(const struct where *where, uint64_t words, struct err *err)
{
	if (words >> count_words(where->field) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "%s%s has no words %" PRIx64, where->prefix,
		       where->field->name, words);
}

static size_t env_name_len(const char *variable)
{
	const size_t len = strspn(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "abcdefghijklmnopqrstuvwxyz0123456789_");

	return variable[0] >= '0' && variable[0] <= '9' ? 0 : len;
}

/* Bytes of a variable's name to show in a message. */
static int shown_len(const char *variable)
{
	const size_t len = strcspn(variable, "=");

	return (int)(len < 60 ? len : 60);
}

static int check_env(const struct where *where, const struct api_list *list, struct err *err)
{
	const char *name = where->field->name, *const *variables = list->items;
	size_t total = 0;

	if (list->count > where->field->most)
		return err_set(err, ERR_INVALID, "%s: more than %" PRIu64 " variables", name,
			       where->field->most);
	for (size_t i = 0; i < list->count; i++) {
		const size_t len = env_name_len(variables[i]);

		if (len == 0 || variables[i][len] != '=')
			return err_set(err, ERR_INVALID, "%s: \"%.*s\" is not a variable's name",
				       name, shown_len(variables[i]), variables[i]);
		total += strlen(variables[i]) + 1;
	}
	if (total > API_ENV_TOTAL_MAX)
		return err_set(err, ERR_INVALID, "%s: more than %u bytes", name,
			       API_ENV_TOTAL_MAX);
	return 0;
}

static int check_many(const struct where *where, const struct api_list *list, struct err *err)
{
	const struct api_field *field = where->field;
	const char *at = list->items;

	if (list->count < field->least || list->count > field->most)
		return err_set(err, ERR_INVALID, "%s%s has %zu entries", where->prefix, field->name,
			       list->count);
	for (size_t i = 0; i < list->count; i++, at += field->type->size)
		if (check_type(field->type, at, field->name, err) < 0)
			return (int)err->code;
	return 0;
}

static int check_given(const struct where *where, const void *value, struct err *err)
{
	const struct api_field *field = where->field;
	const void *at = api_at(field, value);
	unsigned word;

	switch (field->kind) {
	case API_FLAG:
		return 0;
	case API_NUMBER:
	case API_SECONDS:
	case API_TIME:
	case API_MONEY:
		return check_number(where, *(const uint64_t *)at, err);
	case API_TEXT:
		return check_text(where, *(const char *const *)at, err);
	case API_ID:
		if (!api_is_id(field, *(const char *const *)at, strlen(*(const char *const *)at)))
			return err_set(err, ERR_INVALID, "%s%s is not an id", where->prefix,
				       field->name);
		return 0;
	case API_CODE:
	case API_JSON:
	case API_OBJECT:
	case API_BASE64:
		return check_bytes(where, at, err);
	case API_WORD:
		memcpy(&word, at, sizeof(word));
		return check_word(where, word, err);
	case API_WORDS:
		return check_words(where, *(const uint64_t *)at, err);
	case API_ENV:
		return check_env(where, at, err);
	case API_ONE:
		return check_type(field->type, *(const void *const *)at, field->name, err);
	case API_MANY:
		return check_many(where, at, err);
	}
	return err_set(err, ERR_INVALID, "%s is of no kind", field->name);
}

static const struct api_field *find(const struct api_type *type, const char *name)
{
	for (size_t i = 0; i < type->count; i++)
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	return NULL;
}

static int check_need(const struct api_type *type, const struct api_field *field,
		      const void *value, struct err *err)
{
	const struct api_field *other = find(type, field->needs);
	unsigned word;

	if (other == NULL)
		return err_set(err, ERR_INVALID, "%s cannot be used here", field->name);
	if (other->kind == API_FLAG)
		return is_set(other, value) ? 0
					    : err_set(err, ERR_INVALID, "%s needs \"%s\": true",
						      field->name, other->name);
	memcpy(&word, api_at(other, value), sizeof(word));
	if (word == field->needs_value || (word == 0 && field->needs_or_none))
		return 0;
	return err_set(err, ERR_INVALID, "%s needs \"%s\": \"%s\"", field->name, other->name,
		       other->words[field->needs_value - 1]);
}

/* Checks the fields that cannot be used together, and those that need another field. */
static int check_companions(const struct api_type *type, const struct where *where,
			    const void *value, struct err *err)
{
	const struct api_field *field = where->field, *other;

	for (const char *const *name = field->excludes; name != NULL && *name != NULL; name++)
		if ((other = find(type, *name)) != NULL && is_set(other, value))
			return err_set(err, ERR_INVALID, "%s%s and %s%s cannot be used together",
				       where->prefix, field->name, where->prefix, *name);
	return field->needs != NULL ? check_need(type, field, value, err) : 0;
}

static int check_type(const struct api_type *type, const void *value, const char *prefix,
		      struct err *err)
{
	char text[64] = "";

	if (prefix[0] != '\0')
		(void)snprintf(text, sizeof(text), "%s.", prefix);
	for (size_t i = 0; i < type->count; i++) {
		const struct where where = { &type->fields[i], text };

		if (!api_is_given(where.field, value)) {
			if (where.field->is_required)
				return err_set(err, ERR_INVALID, "%s%s is missing", text,
					       where.field->name);
			continue;
		}
		if (check_given(&where, value, err) < 0 ||
		    (is_set(where.field, value) && check_companions(type, &where, value, err) < 0))
			return (int)err->code;
	}
	return 0;
}

int api_check(const struct api_type *type, const void *value, struct err *err)
{
	return check_type(type, value, "", err);
}
