/*
 * schema.c - validates JSON by the part of JSON Schema that structured outputs use. Pure.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    a schema of an application, text of a model.
 * Never:    recurses deeper than CHECK_DEPTH_MAX, or checks more than CHECK_COUNT_MAX values.
 */
#include "agent/conversation/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/json_read.h"

#define CHECK_DEPTH_MAX 100u
#define CHECK_COUNT_MAX 200000u
#define VALUE_MAX (8u * 1024u * 1024u)

struct check {
	const struct json_value *root;
	unsigned depth, count;
	char path[256]; /* path of the current value, for messages */
};

static int check_value(struct check *check, const struct json_value *schema,
		       const struct json_value *value, struct err *err);

static int wrong(const struct check *check, struct err *err, const char *what)
{
	return err_set(err, ERR_INVALID, "%s %s", check->path, what);
}

/* ---- keywords ------------------------------------------------------------------------------- */

static bool is_type(const struct json_value *value, const char *type)
{
	static const struct {
		const char *name;
		enum json_kind kind;
	} types[] = {
		{ "null", JSON_KIND_NULL },	{ "boolean", JSON_KIND_BOOL },
		{ "number", JSON_KIND_NUMBER }, { "string", JSON_KIND_STRING },
		{ "array", JSON_KIND_ARRAY },	{ "object", JSON_KIND_OBJECT },
	};
	double number = 0;

	if (strcmp(type, "integer") == 0)
		return json_read_double(value, &number) && floor(number) == number;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].name, type) == 0)
			return json_read_kind(value) == types[i].kind;
	return true; /* unknown types allow everything */
}

static bool has_type(const struct json_value *value, const struct json_value *types)
{
	const char *type = json_read_text(types, NULL);

	if (type != NULL)
		return is_type(value, type);
	if (json_read_count(types) == 0)
		return true;
	for (size_t i = 0; i < json_read_count(types); i++) {
		type = json_read_text(json_read_at(types, i), NULL);
		if (type != NULL && is_type(value, type))
			return true;
	}
	return false;
}

static bool is_equal(const struct json_value *a, const struct json_value *b)
{
	cleanup_buf struct buf one = BUF_INIT(VALUE_MAX), other = BUF_INIT(VALUE_MAX);
	struct err err;

	return json_read_dump(a, &one, &err) == 0 && json_read_dump(b, &other, &err) == 0 &&
	       one.len == other.len && memcmp(buf_text(&one), buf_text(&other), one.len) == 0;
}

static bool is_one_of(const struct json_value *value, const struct json_value *values)
{
	for (size_t i = 0; i < json_read_count(values); i++)
		if (is_equal(value, json_read_at(values, i)))
			return true;
	return false;
}

/* Resolves "#" or "#/$defs/NAME"; NULL: not found. */
static const struct json_value *find_ref(const struct json_value *root, const char *ref)
{
	const struct json_value *at = root;
	char name[256];

	if (ref[0] != '#')
		return NULL;
	for (ref++; *ref == '/' && at != NULL;) {
		const size_t len = strcspn(++ref, "/");

		if (len >= sizeof(name))
			return NULL;
		(void)snprintf(name, sizeof(name), "%.*s", (int)len, ref);
		at = json_read_member(at, name);
		ref += len;
	}
	return at;
}

/* ---- members and items ---------------------------------------------------------------------- */

static int check_inside(struct check *check, const struct json_value *schema,
			const struct json_value *value, const char *key, size_t index,
			struct err *err)
{
	const size_t len = strlen(check->path);
	int rc;

	if (key != NULL)
		(void)snprintf(check->path + len, sizeof(check->path) - len, ".%.60s", key);
	else
		(void)snprintf(check->path + len, sizeof(check->path) - len, "[%zu]", index);
	rc = check_value(check, schema, value, err);
	check->path[len] = '\0';
	return rc;
}

static int check_object(struct check *check, const struct json_value *schema,
			const struct json_value *value, struct err *err)
{
	const struct json_value *properties = json_read_member(schema, "properties");
	const struct json_value *required = json_read_member(schema, "required");
	const struct json_value *others = json_read_member(schema, "additionalProperties");
	const struct json_value *member;
	const char *key;
	char what[200];
	bool may_others = true;

	(void)json_read_bool(others, &may_others);
	for (size_t i = 0; i < json_read_count(required); i++) {
		key = json_read_text(json_read_at(required, i), NULL);
		if (key != NULL && json_read_member(value, key) == NULL) {
			(void)snprintf(what, sizeof(what), "has no \"%.100s\"", key);
			return wrong(check, err, what);
		}
	}
	for (size_t i = 0; json_read_member_at(value, i, &key, &member); i++) {
		const struct json_value *known = json_read_member(properties, key);

		if (known == NULL && !may_others) {
			(void)snprintf(what, sizeof(what), "may not have \"%.100s\"", key);
			return wrong(check, err, what);
		}
		if (known == NULL && json_read_kind(others) == JSON_KIND_OBJECT)
			known = others;
		if (known != NULL && check_inside(check, known, member, key, 0, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int check_array(struct check *check, const struct json_value *schema,
		       const struct json_value *value, struct err *err)
{
	const struct json_value *items = json_read_member(schema, "items");
	const size_t count = json_read_count(value);
	int64_t least = 0, most = INT64_MAX;

	(void)json_read_int(json_read_member(schema, "minItems"), &least);
	(void)json_read_int(json_read_member(schema, "maxItems"), &most);
	if ((int64_t)count < least || (int64_t)count > most)
		return wrong(check, err, "has too few or too many items");
	for (size_t i = 0; items != NULL && i < count; i++)
		if (check_inside(check, items, json_read_at(value, i), NULL, i, err) < 0)
			return (int)err->code;
	return 0;
}

static int check_any(struct check *check, const struct json_value *schemas,
		     const struct json_value *value, struct err *err)
{
	const size_t count = json_read_count(schemas);

	for (size_t i = 0; i < count; i++)
		if (check_value(check, json_read_at(schemas, i), value, err) == 0)
			return 0;
	return count > 0 ? (int)err->code : 0;
}

static int check_words(struct check *check, const struct json_value *schema,
		       const struct json_value *value, struct err *err)
{
	const struct json_value *all = json_read_member(schema, "allOf");
	const struct json_value *values = json_read_member(schema, "enum");
	const struct json_value *only = json_read_member(schema, "const");

	if (!has_type(value, json_read_member(schema, "type")))
		return wrong(check, err, "is of another type");
	if ((values != NULL && !is_one_of(value, values)) ||
	    (only != NULL && !is_equal(value, only)))
		return wrong(check, err, "is none of the values that it may have");
	for (size_t i = 0; i < json_read_count(all); i++)
		if (check_value(check, json_read_at(all, i), value, err) < 0)
			return (int)err->code;
	if (check_any(check, json_read_member(schema, "anyOf"), value, err) < 0 ||
	    check_any(check, json_read_member(schema, "oneOf"), value, err) < 0)
		return (int)err->code;
	if (json_read_kind(value) == JSON_KIND_OBJECT)
		return check_object(check, schema, value, err);
	if (json_read_kind(value) == JSON_KIND_ARRAY)
		return check_array(check, schema, value, err);
	return 0;
}

static int check_value(struct check *check, const struct json_value *schema,
		       const struct json_value *value, struct err *err)
{
	const char *ref = json_read_text(json_read_member(schema, "$ref"), NULL);
	int rc;

	if (++check->count > CHECK_COUNT_MAX || check->depth >= CHECK_DEPTH_MAX)
		return wrong(check, err, "is too deep or too large to be checked");
	check->depth++;
	rc = ref != NULL ? check_value(check, find_ref(check->root, ref), value, err)
			 : check_words(check, schema, value, err);
	check->depth--;
	return rc;
}

int schema_check(const char *schema, const char *json, size_t len, struct err *err)
{
	struct json_value *rules = NULL, *value = NULL;
	struct check check = { .path = "the answer" };
	int rc;

	if (json_read_parse(json, len, VALUE_MAX, &value, err) < 0)
		return err_wrap(err, "the answer is not JSON");
	rc = json_read_parse(schema, strlen(schema), VALUE_MAX, &rules, err);
	check.root = rules;
	if (rc == 0)
		rc = check_value(&check, rules, value, err);
	json_read_free(rules);
	json_read_free(value);
	return rc;
}
