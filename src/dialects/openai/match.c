/* match.c - OpenAI's API: below /openai, and at the paths that its clients use by default. */
#include <string.h>

#include "dialects/match.h"

static const char *const prefixes[] = { "/openai", "/v1/responses", "/v1/containers",
					"/v1/chat/completions", "/v1/conversations",
					"/v1/assistants", "/v1/threads", NULL };

/* Anthropic has models and files at the same paths, but with a version header. */
static bool is_ours(const struct http *http)
{
	return (strncmp(http->path, "/v1/models", 10) == 0 ||
		strncmp(http->path, "/v1/files", 9) == 0) &&
	       http_header(http, "anthropic-version") == NULL;
}

extern const struct dialect_match dialect_match_openai;

const struct dialect_match dialect_match_openai = {
	.name = "openai",
	.prefixes = prefixes,
	.is_ours = is_ours,
};
