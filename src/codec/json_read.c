/*
 * json_read.c - parses untrusted JSON: strict, bounded, small.
 *
 * Runs in:  trusted processes and the command line.
 * Reads:    hostile JSON.
 * Never:    recurses deeper than JSON_READ_DEPTH_MAX or repairs invalid text.
 */
#include "codec/json_read.h"

#include <jansson.h>
#include <string.h>

/*
 * jansson recurses once per level and needs some hundred bytes even for a short value; its own
 * limits are far higher or missing. Counting outside strings first is exact for valid text; in
 * invalid text the parser finds the error.
 */
static int check_size(const char *text, size_t len, size_t depth_max, struct err *err)
{
	size_t depth = 0, values = 1;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '['))
			depth++, values++;
		else if (!in_string && (c == '}' || c == ']') && depth > 0)
			depth--;
		else if (!in_string && (c == ',' || c == ':'))
			values++;
		if (depth > depth_max)
			return err_set(err, ERR_INVALID, "JSON nested deeper than %zu levels",
				       depth_max);
		if (values > JSON_READ_VALUES_MAX)
			return err_set(err, ERR_LIMIT, "JSON of more than %u values",
				       JSON_READ_VALUES_MAX);
	}
	return 0;
}

static int load(const char *text, size_t len, size_t max_len, size_t depth_max, size_t flags,
		json_t **ret, struct err *err)
{
	json_error_t fault;
	json_t *root;

	if (len > max_len)
		return err_set(err, ERR_LIMIT, "JSON of %zu bytes, at most %zu are taken", len,
			       max_len);
	/* jansson would stop at a NUL byte after the value. */
	if (memchr(text, '\0', len) != NULL)
		return err_set(err, ERR_INVALID, "not JSON, it holds a NUL byte");
	if (check_size(text, len, depth_max, err) < 0)
		return (int)err->code;
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL |
			  flags, &fault);
	if (root == NULL)
		return err_set(err, ERR_INVALID, "not JSON, line %d column %d: %.160s", fault.line,
			       fault.column, fault.text);
	*ret = root;
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Only for text that the parser accepted: so every '"' outside a string opens one. */
static int add_compact(const char *text, size_t len, struct buf *ret, struct err *err)
{
	bool in_string = false;
	char *out;
	size_t used = 0;

	if (buf_reserve(ret, len, &out, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string && c == '\\')
			out[used++] = text[i++];
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && is_space(c))
			continue;
		out[used++] = text[i];
	}
	ret->len += used;
	ret->data[ret->len] = '\0';
	return 0;
}

enum json_kind json_read_kind(const struct json_value *value)
{
	const json_t *json = (const json_t *)value;

	if (json == NULL)
		return JSON_KIND_NULL;
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return JSON_KIND_OBJECT;
	case JSON_ARRAY:
		return JSON_KIND_ARRAY;
	case JSON_STRING:
		return JSON_KIND_STRING;
	case JSON_INTEGER:
	case JSON_REAL:
		return JSON_KIND_NUMBER;
	case JSON_TRUE:
	case JSON_FALSE:
		return JSON_KIND_BOOL;
	case JSON_NULL:
		break;
	}
	return JSON_KIND_NULL;
}

int json_read_compact(const char *text, size_t len, size_t max_len, struct buf *ret,
		      enum json_kind *ret_kind, struct err *err)
{
	json_auto_t *root = NULL;

	/* Parse integers as reals: the value is not used, and 2**80 is valid JSON. */
	if (load(text, len, max_len, JSON_READ_COMPACT_DEPTH_MAX, JSON_DECODE_INT_AS_REAL, &root,
		 err) < 0)
		return (int)err->code;
	if (add_compact(text, len, ret, err) < 0)
		return (int)err->code;
	*ret_kind = json_read_kind((const struct json_value *)root);
	return 0;
}

int json_read_parse(const char *text, size_t len, size_t max_len, struct json_value **ret,
		    struct err *err)
{
	json_t *root;

	if (load(text, len, max_len, JSON_READ_DEPTH_MAX, 0, &root, err) < 0)
		return (int)err->code;
	*ret = (struct json_value *)root;
	return 0;
}

void json_read_free(struct json_value *document)
{
	json_decref((json_t *)document);
}

const struct json_value *json_read_member(const struct json_value *value, const char *key)
{
	return (const struct json_value *)json_object_get((const json_t *)value, key);
}

const struct json_value *json_read_at(const struct json_value *value, size_t index)
{
	return (const struct json_value *)json_array_get((const json_t *)value, index);
}

size_t json_read_count(const struct json_value *value)
{
	const json_t *json = (const json_t *)value;

	return json_is_object(json) ? json_object_size(json) : json_array_size(json);
}

/* jansson iterates over objects only through a non-const pointer. */
static json_t *walkable(const struct json_value *value)
{
	const union {
		const struct json_value *in;
		json_t *out;
	} both = { .in = value };

	return both.out;
}

bool json_read_member_at(const struct json_value *value, size_t index, const char **ret_key,
			 const struct json_value **ret_value)
{
	json_t *object = walkable(value);
	void *at = json_object_iter(object);

	while (at != NULL && index-- > 0)
		at = json_object_iter_next(object, at);
	if (at == NULL)
		return false;
	*ret_key = json_object_iter_key(at);
	*ret_value = (const struct json_value *)json_object_iter_value(at);
	return true;
}

const char *json_read_text(const struct json_value *value, size_t *ret_len)
{
	const json_t *json = (const json_t *)value;

	if (!json_is_string(json))
		return NULL;
	if (ret_len != NULL)
		*ret_len = json_string_length(json);
	return json_string_value(json);
}

bool json_read_int(const struct json_value *value, int64_t *ret)
{
	const json_t *json = (const json_t *)value;

	if (!json_is_integer(json))
		return false;
	*ret = json_integer_value(json);
	return true;
}

bool json_read_double(const struct json_value *value, double *ret)
{
	const json_t *json = (const json_t *)value;

	if (!json_is_number(json))
		return false;
	*ret = json_number_value(json);
	return true;
}

bool json_read_bool(const struct json_value *value, bool *ret)
{
	const json_t *json = (const json_t *)value;

	if (!json_is_boolean(json))
		return false;
	*ret = json_is_true(json);
	return true;
}

struct dump {
	struct buf *ret;
	struct err *err;
};

static int dump_piece(const char *text, size_t len, void *arg)
{
	const struct dump *dump = arg;

	return buf_add(dump->ret, text, len, dump->err) < 0 ? -1 : 0;
}

/* Uses the fewest digits for the same number: 0.1, not 0.10000000000000001. */
static int dump_real(const json_t *json, struct dump *dump)
{
	json_t *again;
	bool is_same = false;
	char text[40];
	size_t len = 0;

	for (size_t digits = 15; digits <= 17 && !is_same; digits++) {
		len = json_dumpb(json, text, sizeof(text),
				 JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
		if (len == 0 || len > sizeof(text))
			return -1;
		again = json_loadb(text, len, JSON_DECODE_ANY, NULL);
		is_same = json_real_value(again) == json_real_value(json);
		json_decref(again);
	}
	return dump_piece(text, len, dump);
}

/* The parser bounds the recursion depth. */
static int dump_any(json_t *json, struct dump *dump)
{
	const char *key;
	size_t index;
	json_t *value;
	bool is_first = true;

	if (json_is_real(json))
		return dump_real(json, dump);
	if (json_is_array(json)) {
		json_array_foreach(json, index, value)
			if (dump_piece(index == 0 ? "[" : ",", 1, dump) < 0 ||
			    dump_any(value, dump) < 0)
				return -1;
		return json_array_size(json) == 0 ? dump_piece("[]", 2, dump)
						  : dump_piece("]", 1, dump);
	}
	if (!json_is_object(json))
		return json_dump_callback(json, dump_piece, dump, JSON_ENCODE_ANY);
	json_object_foreach(json, key, value) {
		json_t *name = json_string(key);
		const int code = name == NULL || dump_piece(is_first ? "{" : ",", 1, dump) < 0 ||
						 json_dump_callback(name, dump_piece, dump,
								    JSON_ENCODE_ANY) < 0
					 ? -1
					 : 0;

		json_decref(name);
		is_first = false;
		if (code < 0 || dump_piece(":", 1, dump) < 0 || dump_any(value, dump) < 0)
			return -1;
	}
	return is_first ? dump_piece("{}", 2, dump) : dump_piece("}", 1, dump);
}

int json_read_dump(const struct json_value *value, struct buf *ret, struct err *err)
{
	const size_t before = ret->len;
	struct dump dump = { .ret = ret, .err = err };

	err_clear(err);
	if (value != NULL && dump_any(walkable(value), &dump) == 0)
		return 0;
	ret->len = before;
	if (err->code != ERR_OK)
		return (int)err->code;
	return err_set(err, ERR_INVALID, "not a JSON value");
}
