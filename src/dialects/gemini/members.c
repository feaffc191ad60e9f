/*
 * members.c - finds members of a client's JSON by Gemini's names.
 *
 * Runs in:  reckon-front-gemini and tests.
 * Reads:    JSON of any client.
 * Never:    depends on a client's spelling: Gemini accepts camel case and snake case.
 */
#include "dialects/gemini/gemini.h"

const struct json_value *order_member(const struct json_value *object, const char *name)
{
	const struct json_value *value = json_read_member(object, name);
	char snake[64];
	size_t len = 0;

	if (value != NULL)
		return value;
	for (; *name != '\0' && len + 2 < sizeof(snake); name++) {
		const bool is_upper = *name >= 'A' && *name <= 'Z';

		if (is_upper)
			snake[len++] = '_';
		snake[len++] = (char)(is_upper ? *name - 'A' + 'a' : *name);
	}
	snake[len] = '\0';
	return json_read_member(object, snake);
}

const char *order_text(const struct json_value *object, const char *name)
{
	return json_read_text(order_member(object, name), NULL);
}

bool order_has(const struct json_value *object, const char *name)
{
	return json_read_kind(order_member(object, name)) == JSON_KIND_OBJECT;
}
