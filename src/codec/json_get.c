/*
 * json_get.c - members of a JSON object, with a default for missing ones.
 *
 * Runs in:  every program that reads JSON.
 * Reads:    documents that json_read.c has parsed.
 * Never:    fails: a member of another type counts as missing.
 */
#include "codec/json_get.h"

#include <string.h>

const char *json_get_text(const struct json_value *object, const char *key)
{
	return json_read_text(json_read_member(object, key), NULL);
}

const char *json_get_str(const struct json_value *object, const char *key)
{
	const char *text = json_get_text(object, key);

	return text != NULL ? text : "";
}

const char *json_get_c_text(const struct json_value *object, const char *key)
{
	size_t len;
	const char *text = json_read_text(json_read_member(object, key), &len);

	return text != NULL && strlen(text) == len ? text : NULL;
}

bool json_get_is(const struct json_value *object, const char *key, const char *word)
{
	const char *text = json_get_text(object, key);

	return text != NULL && strcmp(text, word) == 0;
}

uint64_t json_get_count(const struct json_value *object, const char *key)
{
	int64_t count = 0;

	(void)json_read_int(json_read_member(object, key), &count);
	return count > 0 ? (uint64_t)count : 0;
}

bool json_get_has(const struct json_value *object, const char *key)
{
	return json_read_kind(json_read_member(object, key)) != JSON_KIND_NULL;
}

bool json_get_has_object(const struct json_value *object, const char *key)
{
	return json_read_kind(json_read_member(object, key)) == JSON_KIND_OBJECT;
}
