/*
 * json_in.c - parses a client's JSON body and query into the struct that a call takes.
 *
 * Runs in:  the dialects.
 * Reads:    text of any client.
 * Never:    ignores an unknown field.
 */
#include "api/json_in.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "api/moment.h"
#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_read.h"

#define EXACT_MAX 9007199254740992.0 /* a double holds every whole number up to here exactly */

static const struct api_field *find(const struct api_type *type, const char *name,
				    enum api_place place)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->fields[i].place == place && strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	return NULL;
}

/* ---- one value ------------------------------------------------------------------------------ */

/* A field of a body, and the names of the fields that contain it: "limits." */
struct taking {
	const struct api_field *field;
	const struct json_value *value;
	struct arena *arena;
	const char *prefix;
};

static int refuse(const struct taking *taking, const char *must, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s%s must %s", taking->prefix, taking->field->name, must);
}

static int take_flag(const struct taking *taking, bool *ret, struct err *err)
{
	return json_read_bool(taking->value, ret) ? 0 : refuse(taking, "be true or false", err);
}

/* 5607.0 is a whole number, too: JSON has only one kind of number. */
static int take_number(const struct taking *taking, uint64_t *ret, struct err *err)
{
	int64_t whole;
	double real;

	if (json_read_int(taking->value, &whole) && whole >= 0)
		*ret = (uint64_t)whole;
	else if (json_read_double(taking->value, &real) && real >= 0 && real <= EXACT_MAX &&
		 real == floor(real))
		*ret = (uint64_t)real;
	else
		return refuse(taking, "be a whole number, 0 or more", err);
	/* In C null is 0, so a 0 that the client sent must be refused. */
	if (*ret == 0 && taking->field->is_nullable && taking->field->least > 0)
		return refuse(taking, "be 1 or more, or null", err);
	return 0;
}

static int take_seconds(const struct taking *taking, uint64_t *ret, struct err *err)
{
	const double least = (double)taking->field->least, most = (double)taking->field->most;
	double seconds;
	int64_t whole;

	if (json_read_int(taking->value, &whole))
		seconds = (double)whole;
	else if (!json_read_double(taking->value, &seconds))
		return refuse(taking, "be a number of seconds", err);
	if (!isfinite(seconds) || seconds * 1000 < least || seconds * 1000 > most)
		return err_set(err, ERR_INVALID, "%s%s must be from %g to %g", taking->prefix,
			       taking->field->name, least / 1000, most / 1000);
	*ret = (uint64_t)(seconds * 1000 + 0.5);
	return 0;
}

static int take_time(const struct taking *taking, uint64_t *ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(taking->value, &len);

	if (text != NULL && strlen(text) == len && api_moment(text, ret))
		return 0;
	return refuse(taking, "be a time as in RFC 3339, for example 2030-01-31T12:00:00Z", err);
}

static int take_text(const struct taking *taking, const char **ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(taking->value, &len);

	if (text == NULL)
		return refuse(taking, "be a string", err);
	if (strlen(text) != len)
		return refuse(taking, "be a string without NUL", err);
	*ret = arena_text(taking->arena, text, len);
	return 0;
}

/* Rounds to the nearest millionth. */
static int take_money(const struct taking *taking, uint64_t *ret, struct err *err)
{
	const double least = (double)taking->field->least / API_MONEY_UNIT;
	const double most = (double)taking->field->most / API_MONEY_UNIT;
	double amount;
	int64_t whole;

	if (json_read_int(taking->value, &whole))
		amount = (double)whole;
	else if (!json_read_double(taking->value, &amount))
		return refuse(taking, "be an amount of money, a number", err);
	if (!isfinite(amount) || amount < least || amount > most)
		return err_set(err, ERR_INVALID,
			       "%s%s must be an amount of money, from %g to %.15g", taking->prefix,
			       taking->field->name, least, most);
	*ret = (uint64_t)(amount * API_MONEY_UNIT + 0.5);
	return 0;
}

/* Replaces text that cannot be an id by "-", which no object has as its id. */
static int take_id(const struct taking *taking, const char **ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(taking->value, &len);

	if (text == NULL)
		return refuse(taking, "be a string", err);
	if (strlen(text) != len || len == 0 || len > API_NAMED_MAX)
		return err_set(err, ERR_INVALID, "%s must have 1 to %u characters",
			       taking->field->name, API_NAMED_MAX);
	*ret = api_is_id(taking->field, text, len) ? arena_text(taking->arena, text, len) : "-";
	return 0;
}

static int take_code(const struct taking *taking, struct api_bytes *ret, struct err *err)
{
	const char *text = json_read_text(taking->value, &ret->len);

	if (text == NULL)
		return refuse(taking, "be a string", err);
	ret->data = arena_text(taking->arena, text, ret->len);
	return 0;
}

static int take_base64(const struct taking *taking, struct api_bytes *ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(taking->value, &len);
	cleanup_buf struct buf bytes = BUF_INIT(len + 1);

	if (text == NULL || base64_decode(text, len, &bytes, err) < 0)
		return refuse(taking, "be a string in base64", err);
	*ret = (struct api_bytes){ arena_text(taking->arena, buf_text(&bytes), bytes.len),
				   bytes.len };
	return 0;
}

static bool find_word(const struct api_field *field, const char *text, unsigned *ret)
{
	for (unsigned i = 0; text != NULL && field->words[i] != NULL; i++)
		if (strcmp(field->words[i], text) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static int refuse_words(const struct taking *taking, const char *must, struct err *err)
{
	const char *const *words = taking->field->words;
	char list[160] = "";
	size_t used = 0;

	for (size_t i = 0; words[i] != NULL && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s\"%s\"",
					 i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ",
					 words[i]);
	return err_set(err, ERR_INVALID, "%s%s must %s %s", taking->prefix, taking->field->name,
		       must, list);
}

static int take_word(const struct taking *taking, unsigned *ret, struct err *err)
{
	if (!find_word(taking->field, json_read_text(taking->value, NULL), ret))
		return refuse_words(taking, "be", err);
	(*ret)++;
	return 0;
}

static int take_words(const struct taking *taking, uint64_t *ret, struct err *err)
{
	unsigned word;

	if (json_read_kind(taking->value) != JSON_KIND_ARRAY)
		return refuse_words(taking, "be a list of", err);
	for (size_t i = 0; i < json_read_count(taking->value); i++) {
		const char *text = json_read_text(json_read_at(taking->value, i), NULL);

		if (text != NULL && !find_word(taking->field, text, &word))
			return err_set(err, ERR_INVALID, "%s%s: unknown word \"%.40s\"",
				       taking->prefix, taking->field->name, text);
		if (text == NULL)
			return refuse_words(taking, "be a list of", err);
		*ret |= (uint64_t)1 << word;
	}
	return 0;
}

static int take_object(const struct taking *taking, struct api_bytes *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(taking->field->most);

	if (json_read_kind(taking->value) != JSON_KIND_OBJECT)
		return refuse(taking, "be an object", err);
	if (json_read_dump(taking->value, &text, err) < 0)
		return err_set(err, ERR_INVALID,
			       "%s%s is larger than %" PRIu64 " bytes or too deep", taking->prefix,
			       taking->field->name, taking->field->most);
	*ret = (struct api_bytes){ arena_text(taking->arena, buf_text(&text), text.len), text.len };
	return 0;
}

static int take_json(const struct taking *taking, struct api_bytes *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(taking->field->most);

	if (json_read_dump(taking->value, &text, err) < 0)
		return err_set(err, ERR_INVALID,
			       "%s%s is larger than %" PRIu64 " bytes or too deep", taking->prefix,
			       taking->field->name, taking->field->most);
	*ret = (struct api_bytes){ arena_text(taking->arena, buf_text(&text), text.len), text.len };
	return 0;
}

static int take_env(const struct taking *taking, struct api_list *ret, struct err *err)
{
	const struct json_value *member;
	const char *name, **items;

	if (json_read_kind(taking->value) != JSON_KIND_OBJECT)
		return refuse(taking, "be an object of strings", err);
	items = arena_new(taking->arena, json_read_count(taking->value) + 1, sizeof(*items));
	for (size_t i = 0; json_read_member_at(taking->value, i, &name, &member); i++) {
		const size_t name_len = strlen(name);
		size_t len = 0;
		const char *text = json_read_text(member, &len);
		char *both;

		/* A "=" would cut the name, and the rest would become part of the value. */
		if (strchr(name, '=') != NULL)
			return err_set(err, ERR_INVALID, "%s: \"%.60s\" is not a variable's name",
				       taking->field->name, name);
		if (text == NULL || strlen(text) != len)
			return err_set(err, ERR_INVALID, "%s.%.60s must be a string without NUL",
				       taking->field->name, name);
		both = arena_new(taking->arena, name_len + 1 + len + 1, 1);
		(void)snprintf(both, name_len + 1 + len + 1, "%s=%s", name, text);
		items[ret->count++] = both;
	}
	ret->items = items;
	return 0;
}

static int take_members(const struct api_type *type, const struct json_value *object,
			const char *prefix, struct arena *arena, void *ret, struct err *err);

static int take_one(const struct taking *taking, const void **ret, struct err *err)
{
	const struct api_type *type = taking->field->type;
	void *value = arena_new(taking->arena, 1, type->size);
	char prefix[64];

	if (json_read_kind(taking->value) != JSON_KIND_OBJECT)
		return refuse(taking, "be an object", err);
	(void)snprintf(prefix, sizeof(prefix), "%s%s.", taking->prefix, taking->field->name);
	*ret = value;
	return take_members(type, taking->value, prefix, taking->arena, value, err);
}

/* An entry is an object, or a string that stands for one. */
static int take_entry(const struct taking *list, const struct json_value *value, void *ret,
		      struct err *err)
{
	const struct api_field *field = list->field;
	struct taking entry = { .arena = list->arena, .value = value };
	char prefix[64];

	(void)snprintf(prefix, sizeof(prefix), "%s%s.", list->prefix, field->name);
	if (json_read_kind(value) == JSON_KIND_OBJECT)
		return take_members(field->type, value, prefix, list->arena, ret, err);
	entry.prefix = prefix;
	if (field->short_name != NULL)
		entry.field = find(field->type, field->short_name, API_BODY);
	if (entry.field == NULL || json_read_text(value, NULL) == NULL)
		return err_set(err, ERR_INVALID, "%s%s must be a list of objects%s", list->prefix,
			       field->name, entry.field != NULL ? " or strings" : "");
	return take_text(&entry, api_to(entry.field, ret), err);
}

static int take_many(const struct taking *taking, struct api_list *ret, struct err *err)
{
	const struct api_field *field = taking->field;
	size_t count;
	char *items;

	if (json_read_kind(taking->value) != JSON_KIND_ARRAY)
		return refuse(taking, "be a list", err);
	count = json_read_count(taking->value);
	if (count > field->most)
		return err_set(err, ERR_INVALID, "%s%s: at most %" PRIu64, taking->prefix,
			       field->name, field->most);
	items = arena_new(taking->arena, count + 1, field->type->size);
	*ret = (struct api_list){ items, count };
	for (size_t i = 0; i < count; i++)
		if (take_entry(taking, json_read_at(taking->value, i),
			       items + i * field->type->size, err) < 0)
			return (int)err->code;
	return 0;
}

/* Treats a field with its default value as left out. */
static void drop_default(const struct api_field *field, void *ret)
{
	void *to = api_to(field, ret);
	const unsigned none = 0;
	unsigned word;

	if (!field->has_default || !api_is_given(field, ret))
		return;
	if (field->kind == API_WORD) {
		memcpy(&word, to, sizeof(word));
		if (word == field->default_value)
			memcpy(to, &none, sizeof(none));
		return;
	}
	if (field->given_offset == API_NO_OFFSET)
		return;
	if (field->kind == API_FLAG ? *(const bool *)to != (field->default_value != 0)
				    : *(const uint64_t *)to != field->default_value)
		return;
	*(bool *)((char *)ret + field->given_offset) = false;
	if (field->kind == API_FLAG)
		*(bool *)to = false;
	else
		*(uint64_t *)to = 0;
}

static int take_value(const struct taking *taking, void *ret, struct err *err)
{
	const struct api_field *field = taking->field;
	void *to = api_to(field, ret);

	api_set_given(field, ret);
	if (field->is_nullable && json_read_kind(taking->value) == JSON_KIND_NULL)
		return 0;
	switch (field->kind) {
	case API_FLAG:
		return take_flag(taking, to, err);
	case API_NUMBER:
		return take_number(taking, to, err);
	case API_SECONDS:
		return take_seconds(taking, to, err);
	case API_TIME:
		return take_time(taking, to, err);
	case API_TEXT:
		return take_text(taking, to, err);
	case API_ID:
		return take_id(taking, to, err);
	case API_CODE:
		return take_code(taking, to, err);
	case API_WORD:
		return take_word(taking, to, err);
	case API_WORDS:
		return take_words(taking, to, err);
	case API_OBJECT:
		return take_object(taking, to, err);
	case API_ENV:
		return take_env(taking, to, err);
	case API_BASE64:
		return take_base64(taking, to, err);
	case API_MONEY:
		return take_money(taking, to, err);
	case API_ONE:
		return take_one(taking, to, err);
	case API_MANY:
		return take_many(taking, to, err);
	case API_JSON:
		return take_json(taking, to, err);
	}
	return refuse(taking, "be of a kind that is known", err);
}

/* ---- a body --------------------------------------------------------------------------------- */

static int take_members(const struct api_type *type, const struct json_value *object,
			const char *prefix, struct arena *arena, void *ret, struct err *err)
{
	struct taking taking = { .arena = arena, .prefix = prefix };
	const char *name;

	for (size_t i = 0; json_read_member_at(object, i, &name, &taking.value); i++) {
		taking.field = find(type, name, API_BODY);
		if (taking.field == NULL)
			return err_set(err, ERR_INVALID, "unknown field %s%.60s", prefix, name);
		if (take_value(&taking, ret, err) < 0)
			return (int)err->code;
		drop_default(taking.field, ret);
	}
	return 0;
}

int api_take_body(const struct api_type *type, const char *text, size_t len, struct arena *arena,
		  void *ret, struct err *err)
{
	struct json_value *document;
	int code;

	/* A missing body counts as an empty object. */
	if (len == 0)
		return 0;
	if (json_read_parse(text, len, API_JSON_MAX, &document, err) < 0)
		return err_wrap(err, "the body is not JSON");
	if (json_read_kind(document) != JSON_KIND_OBJECT)
		code = err_set(err, ERR_INVALID, "the body must be a JSON object");
	else
		code = take_members(type, document, "", arena, ret, err);
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

/* Parses "1.5"; as in a body, but without exponents. */
static int query_seconds(const struct api_field *field, const char *value, void *ret,
			 struct err *err)
{
	char *end;
	double seconds;

	if (value[0] == '\0' || strspn(value, "0123456789.") != strlen(value))
		return err_set(err, ERR_INVALID, "%s must be a number of seconds", field->name);
	seconds = strtod(value, &end);
	if (*end != '\0')
		return err_set(err, ERR_INVALID, "%s must be a number of seconds", field->name);
	if (seconds * 1000 < (double)field->least || seconds * 1000 > (double)field->most)
		return err_set(err, ERR_INVALID, "%s must be from %g to %g", field->name,
			       (double)field->least / 1000, (double)field->most / 1000);
	*(uint64_t *)api_to(field, ret) = (uint64_t)(seconds * 1000 + 0.5);
	return 0;
}

static int query_word(const struct api_field *field, const char *value, void *ret,
		      struct err *err)
{
	const struct taking taking = { .field = field, .prefix = "" };
	unsigned *to = api_to(field, ret);

	if (!find_word(field, value, to))
		return refuse_words(&taking, "be", err);
	(*to)++;
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
	if (field->kind == API_SECONDS)
		return query_seconds(field, value, ret, err);
	if (field->kind == API_WORD)
		return query_word(field, value, ret, err);
	if (field->kind != API_TEXT && field->kind != API_ID)
		return err_set(err, ERR_INVALID, "%s stands in no query", field->name);
	if (field->kind == API_ID && len == 0)
		return err_set(err, ERR_INVALID, "%s must be an id or a name", field->name);
	*(const char **)api_to(field, ret) =
		field->kind == API_ID && !api_is_id(field, value, len) ? "-"
								: arena_text(arena, value, len);
	return 0;
}

int api_take_query(const struct api_type *type, const char *query, struct arena *arena, void *ret,
		   struct err *err)
{
	char name[64], value[4097];
	int more;

	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value), err)) >
	       0) {
		const struct api_field *field = find(type, name, API_QUERY);

		if (field == NULL)
			return err_set(err, ERR_INVALID, "unknown parameter %.60s", name);
		if (query_value(field, value, arena, ret, err) < 0)
			return (int)err->code;
		drop_default(field, ret);
	}
	return more;
}
