/*
 * tools.c - a request's tools: the application's, and code execution.
 *
 * Runs in:  reckon-front-gemini and tests.
 * Reads:    JSON of any client.
 * Never:    accepts a tool that Reckon does not support.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/gemini/gemini.h"

/* ---- schemas -------------------------------------------------------------------------------- */

/* Gemini's older schemas follow OpenAPI: types in upper case, counts as text. */
static void write_type(const struct json_value *type, bool is_nullable, struct json_writer *writer)
{
	const char *name = json_read_text(type, NULL);
	char lower[16];
	size_t len = 0;

	for (; name != NULL && name[len] != '\0' && len + 1 < sizeof(lower); len++)
		lower[len] = (char)(name[len] >= 'A' && name[len] <= 'Z' ? name[len] - 'A' + 'a'
									 : name[len]);
	lower[len] = '\0';
	json_write_key(writer, "type");
	if (is_nullable)
		json_write_array_begin(writer);
	json_write_string(writer, lower);
	if (is_nullable) {
		json_write_string(writer, "null");
		json_write_array_end(writer);
	}
}

static int write_schema(const struct json_value *schema, struct json_writer *writer,
			struct err *err);

static int write_properties(const struct json_value *object, struct json_writer *writer,
			    struct err *err)
{
	const struct json_value *value;
	const char *key;

	json_write_object_begin(writer);
	for (size_t i = 0; json_read_member_at(object, i, &key, &value); i++) {
		json_write_key(writer, key);
		if (write_schema(value, writer, err) < 0)
			return (int)err->code;
	}
	json_write_object_end(writer);
	return 0;
}

static int write_any(const struct json_value *value, struct json_writer *writer, struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(GEMINI_CONVERSATION_MAX);

	if (json_read_dump(value, &json, err) < 0)
		return (int)err->code;
	json_write_raw(writer, buf_text(&json), json.len);
	return 0;
}

static int write_alternatives(const struct json_value *array, struct json_writer *writer,
			      struct err *err)
{
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(array); i++)
		if (write_schema(json_read_at(array, i), writer, err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	return 0;
}

/* Recognizes "3" for "minItems": Gemini's JSON writes large numbers as text. */
static bool is_count(const char *key, const struct json_value *value)
{
	const char *text = json_read_text(value, NULL);

	return text != NULL && (strncmp(key, "min", 3) == 0 || strncmp(key, "max", 3) == 0) &&
	       text[0] >= '1' && text[0] <= '9' && strlen(text) < 16 &&
	       strspn(text, "0123456789") == strlen(text);
}

/* The JSON Schema spelling of a keyword: some SDKs send their language's spelling. */
static const char *keyword_of(const char *key)
{
	static const char *const known[][2] = {
		{ "any_of", "anyOf" },		     { "min_items", "minItems" },
		{ "max_items", "maxItems" },	     { "min_length", "minLength" },
		{ "max_length", "maxLength" },	     { "min_properties", "minProperties" },
		{ "max_properties", "maxProperties" },
		{ "property_ordering", "propertyOrdering" },
		{ "additional_properties", "additionalProperties" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i][0], key) == 0)
			return known[i][1];
	return key;
}

static int write_keyword(const char *key, const struct json_value *value,
			 struct json_writer *writer, struct err *err)
{
	const bool is_object = json_read_kind(value) == JSON_KIND_OBJECT;

	json_write_key(writer, key);
	if (strcmp(key, "properties") == 0 && is_object)
		return write_properties(value, writer, err);
	if (strcmp(key, "items") == 0 && is_object)
		return write_schema(value, writer, err);
	if (strcmp(key, "anyOf") == 0 && json_read_kind(value) == JSON_KIND_ARRAY)
		return write_alternatives(value, writer, err);
	if (is_count(key, value)) {
		const char *text = json_read_text(value, NULL);

		json_write_raw(writer, text, strlen(text));
		return 0;
	}
	return write_any(value, writer, err);
}

/* The JSON reader bounds the recursion depth. */
static int write_schema(const struct json_value *schema, struct json_writer *writer,
			struct err *err) /* NOLINT(misc-no-recursion) */
{
	const struct json_value *value;
	bool is_nullable = false;
	const char *key;

	if (json_read_kind(schema) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "parameters: a schema is an object");
	(void)json_read_bool(json_read_member(schema, "nullable"), &is_nullable);
	json_write_object_begin(writer);
	for (size_t i = 0; json_read_member_at(schema, i, &key, &value); i++) {
		const char *keyword = keyword_of(key);

		if (json_read_kind(value) == JSON_KIND_NULL || strcmp(key, "nullable") == 0 ||
		    (keyword != key && json_read_member(schema, keyword) != NULL))
			continue;
		if (strcmp(key, "type") == 0 && json_read_kind(value) == JSON_KIND_STRING)
			write_type(value, is_nullable, writer);
		else if (write_keyword(keyword, value, writer, err) < 0)
			return (int)err->code;
	}
	json_write_object_end(writer);
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------ */

static int write_function(const struct json_value *function, struct json_writer *writer,
			  struct err *err)
{
	const struct json_value *plain = order_member(function, "parametersJsonSchema");
	const struct json_value *schema = json_read_member(function, "parameters");
	const char *name = order_text(function, "name");

	if (name == NULL)
		return err_set(err, ERR_INVALID, "tools: a function has a name");
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", name);
	json_write_member_string(writer, "description", order_text(function, "description"));
	if (json_read_kind(plain) == JSON_KIND_OBJECT) {
		json_write_key(writer, "parameters");
		if (write_any(plain, writer, err) < 0)
			return (int)err->code;
	} else if (json_read_kind(schema) != JSON_KIND_NULL) {
		json_write_key(writer, "parameters");
		if (write_schema(schema, writer, err) < 0)
			return (int)err->code;
	}
	json_write_object_end(writer);
	return 0;
}

static bool is_allowed(const struct json_value *names, const struct json_value *function)
{
	const char *name = order_text(function, "name");

	if (json_read_count(names) == 0 || name == NULL)
		return true;
	for (size_t i = 0; i < json_read_count(names); i++) {
		const char *allowed = json_read_text(json_read_at(names, i), NULL);

		if (allowed != NULL && strcmp(allowed, name) == 0)
			return true;
	}
	return false;
}

static int write_functions(const struct json_value *functions, const struct json_value *names,
			   struct json_writer *writer, struct err *err)
{
	for (size_t i = 0; i < json_read_count(functions); i++)
		if (is_allowed(names, json_read_at(functions, i)) &&
		    write_function(json_read_at(functions, i), writer, err) < 0)
			return (int)err->code;
	return 0;
}

static bool is_named(const char *key, const char *camel, const char *snake)
{
	return strcmp(key, camel) == 0 || strcmp(key, snake) == 0;
}

static int write_tool(const struct json_value *tool, const struct json_value *names,
		      struct order *order, struct json_writer *writer, struct err *err)
{
	const struct json_value *value;
	const char *key;

	if (json_read_kind(tool) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "tools: a tool is an object");
	for (size_t i = 0; json_read_member_at(tool, i, &key, &value); i++) {
		if (json_read_kind(value) == JSON_KIND_NULL)
			continue;
		if (is_named(key, "codeExecution", "code_execution") &&
		    json_read_kind(value) == JSON_KIND_OBJECT)
			order->runs_code = true;
		else if (!is_named(key, "functionDeclarations", "function_declarations") ||
			 json_read_kind(value) != JSON_KIND_ARRAY)
			return err_set(err, ERR_INVALID, "tools: '%.60s' is not supported here",
				       key);
		else if (write_functions(value, names, writer, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* ---- tool choice ---------------------------------------------------------------------------- */

static int write_choice(const char *mode, const struct json_value *names,
			struct json_writer *writer, struct err *err)
{
	const char *only = json_read_text(json_read_at(names, 0), NULL), *choice;

	if (mode == NULL || strcmp(mode, "AUTO") == 0 || strcmp(mode, "VALIDATED") == 0 ||
	    strcmp(mode, "MODE_UNSPECIFIED") == 0)
		choice = "auto";
	else if (strcmp(mode, "NONE") == 0)
		choice = "none";
	else if (strcmp(mode, "ANY") == 0)
		choice = json_read_count(names) == 1 && only != NULL ? only : "required";
	else
		return err_set(err, ERR_INVALID, "toolConfig.functionCallingConfig.mode: it is "
			       "AUTO, ANY, NONE or VALIDATED");
	json_write_member_string(writer, "tool_choice", choice);
	return 0;
}

int tools_write(const struct json_value *body, struct order *order, struct json_writer *writer,
		struct err *err)
{
	const struct json_value *tools = order_member(body, "tools");
	const struct json_value *config =
		order_member(order_member(body, "toolConfig"), "functionCallingConfig");
	const struct json_value *names = order_member(config, "allowedFunctionNames");

	if (json_read_kind(tools) != JSON_KIND_NULL && json_read_kind(tools) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "tools: it is an array");
	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(tools); i++)
		if (write_tool(json_read_at(tools, i), names, order, writer, err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	json_write_member_bool(writer, "code", order->runs_code);
	return write_choice(order_text(config, "mode"), names, writer, err);
}

bool tools_run_code(const struct json_value *body)
{
	const struct json_value *tools = order_member(body, "tools");

	for (size_t i = 0; i < json_read_count(tools); i++)
		if (order_has(json_read_at(tools, i), "codeExecution"))
			return true;
	return false;
}
