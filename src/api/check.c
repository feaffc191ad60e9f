/*
 * check.c - whether a struct keeps what the field table says of it.
 *
 * Runs in:  reckond and what speaks for clients; both check, and only the first is trusted.
 * Reads:    structs that were just decoded.
 * Never:    changes one.
 */
#include "api/check.h"

#include <inttypes.h>
#include <string.h>

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
		return field->given_offset == API_NO_OFFSET ||
		       *(const bool *)((const char *)value + field->given_offset);
	case API_TEXT:
	case API_ID:
		return *(const char *const *)at != NULL;
	case API_CODE:
	case API_JSON:
		return ((const struct api_bytes *)at)->data != NULL;
	case API_WORD:
		memcpy(&word, at, sizeof(word));
		return word != 0;
	case API_ENV:
	case API_MANY:
		return true;
	}
	return false;
}

bool api_is_id(const char *text, size_t len)
{
	return len > 0 && len <= API_ID_MAX &&
	       strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz_.-") >= len;
}

static int check_number(const struct api_field *field, uint64_t number, struct err *err)
{
	if (number >= field->least && number <= field->most)
		return 0;
	return err_set(err, ERR_INVALID, "%s must be from %" PRIu64 " to %" PRIu64, field->name,
		       field->least, field->most);
}

static int check_text(const struct api_field *field, const char *text, struct err *err)
{
	const size_t len = strlen(text);

	if (field->is_path && (text[0] != '/' || len > field->most))
		return err_set(err, ERR_INVALID,
			       "%s must be an absolute path of at most %" PRIu64 " bytes",
			       field->name, field->most);
	if (len < field->least || len > field->most)
		return err_set(err, ERR_INVALID, "%s must have %" PRIu64 " to %" PRIu64 " characters",
			       field->name, field->least, field->most);
	return 0;
}

static int check_bytes(const struct api_field *field, const struct api_bytes *bytes,
		       struct err *err)
{
	if (bytes->len > field->most)
		return err_set(err, ERR_INVALID, "%s is longer than %" PRIu64 " bytes", field->name,
			       field->most);
	if (field->kind == API_JSON && bytes->len == 0)
		return err_set(err, ERR_INVALID, "%s is no JSON", field->name);
	return 0;
}

static int check_word(const struct api_field *field, unsigned word, struct err *err)
{
	for (unsigned i = 0; field->words[i] != NULL; i++)
		if (i + 1 == word)
			return 0;
	return err_set(err, ERR_INVALID, "%s has no word %u", field->name, word);
}

static size_t env_name_len(const char *variable)
{
	const size_t len = strspn(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "abcdefghijklmnopqrstuvwxyz0123456789_");

	return variable[0] >= '0' && variable[0] <= '9' ? 0 : len;
}

static int check_env(const struct api_field *field, const struct api_list *list, struct err *err)
{
	const char *const *variables = list->items;
	size_t total = 0;

	if (list->count > field->most)
		return err_set(err, ERR_INVALID, "%s: more than %" PRIu64 " variables", field->name,
			       field->most);
	for (size_t i = 0; i < list->count; i++) {
		const size_t len = env_name_len(variables[i]);

		if (len == 0 || variables[i][len] != '=')
			return err_set(err, ERR_INVALID, "%s: \"%.*s\" is no variable's name",
				       field->name, (int)strcspn(variables[i], "=") % 61, variables[i]);
		total += strlen(variables[i]) + 1;
	}
	if (total > API_ENV_TOTAL_MAX)
		return err_set(err, ERR_INVALID, "%s: more than %u bytes", field->name,
			       API_ENV_TOTAL_MAX);
	return 0;
}

static int check_many(const struct api_field *field, const struct api_list *list, struct err *err)
{
	const char *at = list->items;

	if (list->count < field->least || list->count > field->most)
		return err_set(err, ERR_INVALID, "%s has %zu entries", field->name, list->count);
	for (size_t i = 0; i < list->count; i++, at += field->type->size)
		if (api_check(field->type, at, err) < 0)
			return err_wrap(err, "%s", field->name);
	return 0;
}

static int check_field(const struct api_field *field, const void *value, struct err *err)
{
	const void *at = api_at(field, value);
	unsigned word;

	if (!api_is_given(field, value))
		return !field->is_required
			       ? 0
			       : err_set(err, ERR_INVALID, "%s is missing", field->name);
	switch (field->kind) {
	case API_FLAG:
		return 0;
	case API_NUMBER:
		return check_number(field, *(const uint64_t *)at, err);
	case API_TEXT:
		return check_text(field, *(const char *const *)at, err);
	case API_ID:
		if (!api_is_id(*(const char *const *)at, strlen(*(const char *const *)at)))
			return err_set(err, ERR_INVALID, "%s is no id", field->name);
		return 0;
	case API_CODE:
	case API_JSON:
		return check_bytes(field, at, err);
	case API_WORD:
		memcpy(&word, at, sizeof(word));
		return check_word(field, word, err);
	case API_ENV:
		return check_env(field, at, err);
	case API_MANY:
		return check_many(field, at, err);
	}
	return err_set(err, ERR_INVALID, "%s is of no kind", field->name);
}

int api_check(const struct api_type *type, const void *value, struct err *err)
{
	for (size_t i = 0; i < type->count; i++)
		if (check_field(&type->fields[i], value, err) < 0)
			return (int)err->code;
	return 0;
}
