/*
 * routes.c - maps paths of OpenAI's API to handlers.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    heads of any client.
 * Never:    is called by another file of this folder: handlers do not depend on it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/openai.h"
#include "dialects/openai/assistants/threads.h"
#include "dialects/route.h"

extern const struct dialect dialect_openai;

static const struct route routes[] = {
	{ HTTP_VERB_POST, "/v1/responses", response_create, NULL },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/responses", NULL, stored_handle },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/conversations", NULL,
	  conversations_handle },
	{ HTTP_VERB_POST, "/v1/chat/completions", chat_create, NULL },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/assistants", NULL,
	  assistants_handle },
	{ HTTP_VERB_GET | HTTP_VERB_DELETE | HTTP_VERB_POST, "/v1/threads", NULL, threads_handle },
	{ HTTP_VERB_GET, "/v1/models", NULL, models_handle },
	{ HTTP_VERB_GET | HTTP_VERB_POST | HTTP_VERB_DELETE, "/v1/files", NULL, files_handle },
	{ HTTP_VERB_GET | HTTP_VERB_POST | HTTP_VERB_DELETE, "/v1/containers", NULL,
	  containers_handle },
};

static void handle(struct request *request)
{
	route_below(request, "/openai", routes, ARRAY_LEN(routes));
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
