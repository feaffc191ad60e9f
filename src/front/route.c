/*
 * route.c - from a path to what it names.
 *
 * Runs in:  reckon-front.
 * Reads:    the path of a request line, as sent.
 * Never:    decodes twice. Only a file's path may hold encoded characters that matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "front/front.h"

#define PREFIX "/reckon/v1/"
#define PATH_BYTES_MAX 4095u

/* "*" is an id; the last part of a file's path may hold slashes: "**". */
static const struct {
	const char *pattern;
	enum route_id route;
	unsigned verbs;
} routes[] = {
	{ "health", ROUTE_HEALTH, HTTP_VERB_GET },
	{ "openapi.json", ROUTE_OPENAPI, HTTP_VERB_GET },
	{ "sessions", ROUTE_SESSIONS, HTTP_VERB_GET | HTTP_VERB_POST },
	{ "sessions/*", ROUTE_SESSION, HTTP_VERB_GET | HTTP_VERB_PATCH | HTTP_VERB_DELETE },
	{ "sessions/*/executions", ROUTE_EXECUTIONS, HTTP_VERB_GET | HTTP_VERB_POST },
	{ "sessions/*/executions/*", ROUTE_EXECUTION, HTTP_VERB_GET },
	{ "sessions/*/executions/*/events", ROUTE_EVENTS, HTTP_VERB_GET },
	{ "sessions/*/interrupt", ROUTE_INTERRUPT, HTTP_VERB_POST },
	{ "sessions/*/variables", ROUTE_VARIABLES, HTTP_VERB_GET },
	{ "sessions/*/complete", ROUTE_COMPLETE, HTTP_VERB_POST },
	{ "sessions/*/files", ROUTE_FILES, HTTP_VERB_GET },
	{ "sessions/*/files/**", ROUTE_FILE, HTTP_VERB_GET | HTTP_VERB_PUT | HTTP_VERB_DELETE },
	{ "outputs/*", ROUTE_ARTIFACT, HTTP_VERB_GET },
	{ "artifacts/*", ROUTE_ARTIFACT, HTTP_VERB_GET },
};

struct part {
	const char *text;
	size_t len;
};

/* Matches and gives what the stars stand for. */
static bool match(const char *pattern, const char *path, struct part stars[3], size_t *ret_count)
{
	size_t count = 0;

	while (*pattern != '\0') {
		if (pattern[0] == '*' && pattern[1] == '*') {
			stars[count++] = (struct part){ path, strlen(path) };
			*ret_count = count;
			return path[0] != '\0';
		}
		if (*pattern == '*') {
			const size_t len = strcspn(path, "/");

			if (len == 0)
				return false;
			stars[count++] = (struct part){ path, len };
			path += len;
			pattern++;
			continue;
		}
		if (*pattern++ != *path++)
			return false;
	}
	*ret_count = count;
	return *path == '\0';
}

static bool take_id(const struct part *part, char *ret, size_t size)
{
	if (part->len >= size ||
	    strspn(part->text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") <
		    part->len)
		return false;
	memcpy(ret, part->text, part->len);
	ret[part->len] = '\0';
	return true;
}

/* An id that no id can be is one that does not exist. */
static void take_some_id(const struct part *part, char *ret, size_t size)
{
	if (!take_id(part, ret, size))
		(void)snprintf(ret, size, "-");
}

static int take_stars(struct target *ret, const struct part *stars, size_t count, struct err *err)
{
	if (ret->route == ROUTE_ARTIFACT) {
		take_some_id(&stars[0], ret->handle, sizeof(ret->handle));
		return 0;
	}
	if (count > 0)
		take_some_id(&stars[0], ret->session, sizeof(ret->session));
	if (ret->route == ROUTE_FILE) {
		ret->path = mem_new0(PATH_BYTES_MAX + 1, 1);
		if (!http_decode(stars[1].text, stars[1].len, ret->path, PATH_BYTES_MAX + 1))
			return err_set(err, ERR_INVALID, "the file's path is malformed");
	} else if (count > 1) {
		take_some_id(&stars[1], ret->execution, sizeof(ret->execution));
	}
	return 0;
}

int route_find(const char *path, struct target *ret, struct err *err)
{
	struct part stars[3];
	size_t count;

	memset(ret, 0, sizeof(*ret));
	ret->route = ROUTE_NONE;
	if (strncmp(path, PREFIX, strlen(PREFIX)) != 0)
		return err_set(err, ERR_NOT_FOUND, "there is nothing at %.100s", path);
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (match(routes[i].pattern, path + strlen(PREFIX), stars, &count)) {
			ret->route = routes[i].route;
			ret->verbs = routes[i].verbs;
			return take_stars(ret, stars, count, err);
		}
	return err_set(err, ERR_NOT_FOUND, "there is nothing at %.100s", path);
}

void target_done(struct target *target)
{
	free(target->path);
	memset(target, 0, sizeof(*target));
	target->route = ROUTE_NONE;
}
