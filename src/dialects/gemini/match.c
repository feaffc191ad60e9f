/* match.c - Gemini's API: below /gemini, and where its SDKs look when they get no path. */
#include <string.h>

#include "dialects/match.h"

static const char *const prefixes[] = { "/gemini", "/v1beta", "/upload/v1beta", NULL };

/* Newer SDKs use /v1, which other APIs have, too; but each of their requests has this header. */
static bool is_ours(const struct http *http)
{
	return (strncmp(http->path, "/v1/", 4) == 0 ||
		strncmp(http->path, "/upload/v1/", 11) == 0) &&
	       http_header(http, "x-goog-api-key") != NULL;
}

extern const struct dialect_match dialect_match_gemini;

const struct dialect_match dialect_match_gemini = {
	.name = "gemini",
	.prefixes = prefixes,
	.is_ours = is_ours,
};
