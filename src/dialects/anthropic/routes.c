/*
 * routes.c - Anthropic's API: maps paths to handlers.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    heads of any client.
 * Never:    is called by another file of this folder: handlers do not depend on it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/anthropic/anthropic.h"
#include "dialects/route.h"

extern const struct dialect dialect_anthropic;

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

static const struct route routes[] = {
	{ HTTP_VERB_POST, "/v1/messages", message_create, NULL },
	{ HTTP_VERB_POST, "/v1/messages/count_tokens", anthropic_count_tokens, NULL },
	{ HTTP_VERB_GET, "/v1/models", NULL, anthropic_models },
	{ HTTP_VERB_GET | HTTP_VERB_POST | HTTP_VERB_DELETE, "/v1/files", NULL, files },
};

static void handle(struct request *request)
{
	route_below(request, "/anthropic", routes, ARRAY_LEN(routes));
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
