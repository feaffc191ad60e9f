/*
 * routes.c - Anthropic's API: which path is whose.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    heads of anybody.
 * Never:    is called by another file of this folder: what handlers need is below them.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/anthropic/anthropic.h"

extern const struct dialect dialect_anthropic;

static void create_message(struct request *request, const char *rest)
{
	(void)rest;
	message_create(request);
}

static void files(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	char id[NAME_SIZE];
	const char *slash;

	if (rest[0] == '\0' && verb == HTTP_VERB_POST) {
		files_create(request);
		return;
	}
	if (rest[0] == '\0') {
		files_list(request);
		return;
	}
	slash = strchr(rest + 1, '/');
	(void)snprintf(id, sizeof(id), "%.*s",
		       (int)(slash != NULL ? (size_t)(slash - rest - 1) : strlen(rest + 1)),
		       rest + 1);
	if (slash == NULL && verb == HTTP_VERB_DELETE)
		files_delete(request, id);
	else if (slash == NULL)
		files_show(request, id);
	else if (strcmp(slash, "/content") == 0)
		files_content(request, id);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

static const struct route {
	unsigned verbs;
	const char *path;
	bool is_whole; /* nothing may stand behind it */
	void (*fn)(struct request *request, const char *rest);
} routes[] = {
	{ HTTP_VERB_POST, "/v1/messages", true, create_message },
	{ HTTP_VERB_POST, "/v1/messages/count_tokens", true, anthropic_count_tokens },
	{ HTTP_VERB_GET, "/v1/models", false, anthropic_models },
	{ HTTP_VERB_GET | HTTP_VERB_POST | HTTP_VERB_DELETE, "/v1/files", false, files },
};

static void handle(struct request *request)
{
	static const char prefix[] = "/anthropic";
	const struct http *http = request_head(request);
	const char *path = http->path;
	bool is_path = false;

	if (strncmp(path, prefix, sizeof(prefix) - 1) == 0)
		path += sizeof(prefix) - 1;
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		const struct route *route = &routes[i];
		const size_t len = strlen(route->path);

		if (strncmp(path, route->path, len) != 0 ||
		    (path[len] != '\0' && (route->is_whole || path[len] != '/')))
			continue;
		is_path = true;
		if ((route->verbs & http->verb) == 0)
			continue;
		request_note(request, route->path, NULL, NULL);
		route->fn(request, path + len);
		return;
	}
	answer_refuse_simple(request, is_path ? 405 : 404, "not_found",
			     is_path ? "this method does nothing here"
				     : "there is nothing at this path", NULL);
}

static const struct key_place keys[] = { { KEY_HEADER, "x-api-key" },
					 { KEY_BEARER, NULL },
					 { KEY_NONE, NULL } };

const struct dialect dialect_anthropic = {
	.name = "anthropic",
	.keys = keys,
	.handle = handle,
	.refuse = anthropic_refuse,
};
