/*
 * routes.c - which path of OpenAI's API is whose.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    heads of anybody.
 * Never:    is called by another file of this folder: what handlers need is below them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/conversations.h"
#include "dialects/openai/openai.h"
#include "dialects/openai/threads.h"

extern const struct dialect dialect_openai;

static const struct route {
	unsigned verbs;
	const char *path;
	bool is_whole; /* nothing may stand behind it */
	void (*fn)(struct request *request, const char *rest);
} routes[] = {
	{ HTTP_VERB_POST, "/v1/responses", true, response_create },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/responses", false, stored_handle },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/conversations", false,
	  conversations_handle },
	{ HTTP_VERB_POST, "/v1/chat/completions", true, chat_create },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/assistants", false,
	  assistants_handle },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/threads", false, threads_handle },
	{ HTTP_VERB_GET, "/v1/models", false, models_handle },
	{ HTTP_VERB_GET | HTTP_VERB_POST | HTTP_VERB_DELETE, "/v1/files", false, files_handle },
	{ HTTP_VERB_GET | HTTP_VERB_POST | HTTP_VERB_DELETE, "/v1/containers", false,
	  containers_handle },
};

static void handle(struct request *request)
{
	static const char prefix[] = "/openai";
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

static const struct key_place keys[] = { { KEY_BEARER, NULL },
					 { KEY_HEADER, "api-key" },
					 { KEY_NONE, NULL } };

const struct dialect dialect_openai = {
	.name = "openai",
	.keys = keys,
	.handle = handle,
	.refuse = openai_refuse,
};
