/*
 * route.c - finds the call that a request line of the native API names.
 *
 * Runs in:  the dialects.
 * Reads:    paths as the client sent them.
 * Never:    decodes an id: a valid id needs no escapes. Decodes a file's path once.
 */
#include "api/route.h"

#include <string.h>

#include "api/calls.h"
#include "api/check.h"

#define PREFIX "/reckon/v1/"

/* The part of the path that the call's pattern applies to: all, or what follows the prefix, or
 * "". */
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

/* Stores one part of the path in the struct; false if it is malformed. */
static bool take_part(const struct api_field *field, const char *text, size_t len,
		      struct arena *arena, void *ret)
{
	const char **to = api_to(field, ret);
	char *path;

	if (field->kind == API_ID) {
		*to = api_is_id(field, text, len) ? arena_text(arena, text, len) : "-";
		return true;
	}
	path = arena_new(arena, len + 1, 1);
	*to = path;
	return http_decode(text, len, path, len + 1);
}

/* 1: the path matches; 0: it does not; -1: it matches, but is malformed. Fills in `ret` unless
 * NULL. */
static int match(const struct api_call *call, const char *path, struct arena *arena, void *ret)
{
	const char *pattern = call->path;
	int result = 1;

	if (*pattern == '\0')
		return 0;
	while (*pattern != '\0') {
		const size_t name_len = strcspn(pattern, "}");
		const struct api_field *field;
		size_t len;

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return 0;
			continue;
		}
		field = part_of(call->takes, pattern + 1, name_len - 1);
		/* A file's path takes the rest. */
		len = field != NULL && field->kind == API_TEXT ? strlen(path) : strcspn(path, "/");
		if (len == 0)
			return 0;
		if (ret != NULL && field != NULL && !take_part(field, path, len, arena, ret))
			result = -1;
		pattern += name_len + 1;
		path += len;
	}
	return *path == '\0' ? result : 0;
}

const struct api_call *api_route(enum http_verb verb, const char *path, unsigned *ret_verbs)
{
	const struct api_call *found = NULL;

	*ret_verbs = 0;
	for (size_t i = 1; i < API_CALL_COUNT; i++) {
		const struct api_call *call = &api_calls[i];
		/* HEAD makes no sense for a stream of events. */
		const bool has_head = call->verb == HTTP_VERB_GET && !call->gives_events;

		if (match(call, below(call, path), NULL, NULL) == 0)
			continue;
		*ret_verbs |= (unsigned)call->verb | (has_head ? HTTP_VERB_HEAD : 0u);
		if (found == NULL &&
		    (call->verb == verb || (has_head && verb == HTTP_VERB_HEAD)))
			found = call;
	}
	return found;
}

int api_take_path(const struct api_call *call, const char *path, struct arena *arena, void *ret,
		  struct err *err)
{
	if (match(call, below(call, path), arena, ret) < 0)
		return err_set(err, ERR_INVALID, "the file's path is malformed");
	return 0;
}
