/*
 * json_in.c - what a client sends, a JSON body and a query, as the struct that a call takes.
 *
 * Runs in:  what speaks for clients.
 * Reads:    text of anybody.
 * Never:    passes over a field it does not know.
 */
#include "api/json_in.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "codec/json_read.h"

#define EXACT_MAX 9007199254740992.0 /* up to here each whole number is a double */

static const struct api_field *find(const struct api_type *type, const char *name,
				    enum api_place place)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->fields[i].place == place && strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	return NULL;
}

/* ---- one value ------------------------------------------------------------------------------ */

static int take_flag(const struct api_field *field, const struct json_value *value, void *ret,
		     struct err *err)
{
	if (json_read_bool(value, api_to(field, ret)))
		return 0;
	return err_set(err, ERR_INVALID, "%s must be true or false", field->name);
}

/* 5607.0 is a whole number, too: JSON knows one kind only. */
static int take_number(const struct api_field *field, const struct json_value *value, void *ret,
		       struct err *err)
{
	uint64_t *to = api_to(field, ret);
	double real;
	int64_t whole;

	if (json_read_int(value, &whole) && whole >= 0) {
		*to = (uint64_t)whole;
		return 0;
	}
	if (json_read_double(value, &real) && real >= 0 && real <= EXACT_MAX &&
	    real == floor(real)) {
		*to = (uint64_t)real;
		return 0;
	}
	return err_set(err, ERR_INVALID, "%s must be a whole number, 0 or more", field->name);
}

static int take_text(const struct api_field *field, const struct json_value *value,
		     struct arena *arena, void *ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "%s must be a string", field->name);
	if (strlen(text) != len)
		return err_set(err, ERR_INVALID, "%s must be a string without NUL", field->name);
	*(const char **)api_to(field, ret) = arena_text(arena, text, len);
	return 0;
}

/* What can be no id is one that nothing has. */
static int take_id(const struct api_field *field, const struct json_value *value,
		   struct arena *arena, void *ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "%s must be a string", field->name);
	if (strlen(text) != len || len == 0 || len > API_NAMED_MAX)
		return err_set(err, ERR_INVALID, "%s must have 1 to %u characters", field->name,
			       API_NAMED_MAX);
	*(const char **)api_to(field, ret) =
		api_is_id(text, len) ? arena_text(arena, text, len) : "-";
	return 0;
}

static int take_code(const struct api_field *field, const struct json_value *value,
		     struct arena *arena, void *ret, struct err *err)
{
	struct api_bytes *to = api_to(field, ret);
	const char *text = json_read_text(value, &to->len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "%s must be a string", field->name);
	to->data = arena_text(arena, text, to->len);
	return 0;
}

static int take_word(const struct api_field *field, const struct json_value *value, void *ret,
		     struct err *err)
{
	const char *text = json_read_text(value, NULL);

	for (unsigned i = 0; text != NULL && field->words[i] != NULL; i++)
		if (strcmp(field->words[i], text) == 0) {
			*(unsigned *)api_to(field, ret) = i + 1;
			return 0;
		}
	return err_set(err, ERR_INVALID, "%s must be one of the words that the API names",
		       field->name);
}

static int take_env(const struct api_field *field, const struct json_value *value,
		    struct arena *arena, void *ret, struct err *err)
{
	struct api_list *to = api_to(field, ret);
	const struct json_value *member;
	const char *name, **items;

	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "%s must be an object of strings", field->name);
	items = arena_new(arena, json_read_count(value) + 1, sizeof(*items));
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
		const size_t name_len = strlen(name);
		size_t len = 0;
		const char *text = json_read_text(member, &len);
		char *both;

		/* Or the name would be another one, and the value begin with its rest. */
		if (strchr(name, '=') != NULL)
			return err_set(err, ERR_INVALID, "%s: \"%.60s\" is no variable's name",
				       field->name, name);
		if (text == NULL || strlen(text) != len)
			return err_set(err, ERR_INVALID, "%s.%.60s must be a string without NUL",
				       field->name, name);
		both = arena_new(arena, name_len + 1 + len + 1, 1);
		(void)snprintf(both, name_len + 1 + len + 1, "%s=%s", name, text);
		items[to->count++] = both;
	}
	to->items = items;
	return 0;
}

static int take_value(const struct api_field *field, const struct json_value *value,
		      struct arena *arena, void *ret, struct err *err)
{
	api_set_given(field, ret);
	switch (field->kind) {
	case API_FLAG:
		return take_flag(field, value, ret, err);
	case API_NUMBER:
		return take_number(field, value, ret, err);
	case API_TEXT:
		return take_text(field, value, arena, ret, err);
	case API_ID:
		return take_id(field, value, arena, ret, err);
	case API_CODE:
		return take_code(field, value, arena, ret, err);
	case API_WORD:
		return take_word(field, value, ret, err);
	case API_ENV:
		return take_env(field, value, arena, ret, err);
	case API_JSON:
	case API_MANY:
		break;
	}
	return err_set(err, ERR_INVALID, "%s is taken from nobody", field->name);
}

/* ---- a body --------------------------------------------------------------------------------- */

static int take_members(const struct api_type *type, const struct json_value *object,
			struct arena *arena, void *ret, struct err *err)
{
	const struct json_value *value;
	const char *name;

	if (json_read_kind(object) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body must be a JSON object");
	for (size_t i = 0; json_read_member_at(object, i, &name, &value); i++) {
		const struct api_field *field = find(type, name, API_BODY);

		if (field == NULL)
			return err_set(err, ERR_INVALID, "unknown field %.60s", name);
		if (take_value(field, value, arena, ret, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int api_take_body(const struct api_type *type, const char *text, size_t len, struct arena *arena,
		  void *ret, struct err *err)
{
	struct json_value *document;
	int code;

	/* No body is an empty object. */
	if (len == 0)
		return 0;
	if (json_read_parse(text, len, API_JSON_MAX, &document, err) < 0)
		return err_wrap(err, "the body is not JSON");
	code = take_members(type, document, arena, ret, err);
	json_read_free(document);
	return code;
}

/* ---- a query -------------------------------------------------------------------------------- */

static int query_flag(const struct api_field *field, const char *value, void *ret,
		      struct err *err)
{
	bool *to = api_to(field, ret);

	*to = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
	if (*to || strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
		return 0;
	return err_set(err, ERR_INVALID, "%s must be 0 or 1", field->name);
}

static int query_number(const struct api_field *field, const char *value, void *ret,
			struct err *err)
{
	char *end;

	errno = 0;
	*(uint64_t *)api_to(field, ret) = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || errno != 0 || *end != '\0')
		return err_set(err, ERR_INVALID, "%s must be a number", field->name);
	return 0;
}

static int query_value(const struct api_field *field, const char *value, struct arena *arena,
		       void *ret, struct err *err)
{
	const size_t len = strlen(value);

	api_set_given(field, ret);
	if (field->kind == API_FLAG)
		return query_flag(field, value, ret, err);
	if (field->kind == API_NUMBER)
		return query_number(field, value, ret, err);
	if (field->kind != API_TEXT && field->kind != API_ID)
		return err_set(err, ERR_INVALID, "%s stands in no query", field->name);
	if (field->kind == API_ID && len == 0)
		return err_set(err, ERR_INVALID, "%s must be an id or a name", field->name);
	*(const char **)api_to(field, ret) =
		field->kind == API_ID && !api_is_id(value, len) ? "-"
								: arena_text(arena, value, len);
	return 0;
}

int api_take_query(const struct api_type *type, const char *query, struct arena *arena, void *ret,
		   struct err *err)
{
	char name[64], value[4097];
	int more;

	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value), err)) > 0) {
		const struct api_field *field = find(type, name, API_QUERY);

		if (field == NULL)
			return err_set(err, ERR_INVALID, "unknown parameter %.60s", name);
		if (query_value(field, value, arena, ret, err) < 0)
			return (int)err->code;
	}
	return more;
}
