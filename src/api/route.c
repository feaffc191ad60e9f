/*
 * route.c - which call a request line of the native API names.
 *
 * Runs in:  what speaks for clients.
 * Reads:    paths as they were sent.
 * Never:    decodes one: what an id can be needs no escape.
 */
#include "api/route.h"

#include <string.h>

#include "api/calls.h"
#include "api/check.h"

#define PREFIX "/reckon/v1/"

/* What a pattern is held against: a whole path, or what stands behind the prefix, or nothing. */
static const char *below(const struct api_call *call, const char *path)
{
	if (call->path[0] == '/')
		return path;
	return strncmp(path, PREFIX, strlen(PREFIX)) == 0 ? path + strlen(PREFIX) : "";
}

static const struct api_field *part_of(const struct api_type *type, const char *name, size_t len)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->fields[i].place == API_PATH && strlen(type->fields[i].name) == len &&
		    memcmp(type->fields[i].name, name, len) == 0)
			return &type->fields[i];
	return NULL;
}

/* Walks along; fills in `ret` unless that is NULL. */
static bool match(const struct api_call *call, const char *path, struct arena *arena, void *ret)
{
	const char *pattern = call->path;

	while (*pattern != '\0') {
		const size_t len = strcspn(path, "/");
		const size_t name_len = strcspn(pattern, "}");
		const struct api_field *field;

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		if (len == 0)
			return false;
		field = part_of(call->takes, pattern + 1, name_len - 1);
		if (ret != NULL && field != NULL)
			*(const char **)api_to(field, ret) =
				api_is_id(field, path, len) ? arena_text(arena, path, len) : "-";
		pattern += name_len + 1;
		path += len;
	}
	return *path == '\0';
}

const struct api_call *api_route(enum http_verb verb, const char *path, unsigned *ret_verbs)
{
	const struct api_call *found = NULL;

	*ret_verbs = 0;
	for (size_t i = 1; i < API_CALL_COUNT; i++) {
		const struct api_call *call = &api_calls[i];
		const bool has_head = call->verb == HTTP_VERB_GET;

		if (!match(call, below(call, path), NULL, NULL))
			continue;
		*ret_verbs |= (unsigned)call->verb | (has_head ? HTTP_VERB_HEAD : 0u);
		if (call->verb == verb || (has_head && verb == HTTP_VERB_HEAD))
			found = call;
	}
	return found;
}

void api_take_path(const struct api_call *call, const char *path, struct arena *arena, void *ret)
{
	(void)match(call, below(call, path), arena, ret);
}
