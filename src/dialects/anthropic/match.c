/* match.c - Anthropic's API: below /anthropic, and where its SDKs look when they get no path. */
#include <string.h>

#include "dialects/match.h"

static const char *const prefixes[] = { "/anthropic", "/v1/messages", NULL };

/* Other APIs have files and models at the same paths: only Anthropic's requests have a version
 * header. */
static bool is_ours(const struct http *http)
{
	return strncmp(http->path, "/v1/", 4) == 0 &&
	       http_header(http, "anthropic-version") != NULL;
}

extern const struct dialect_match dialect_match_anthropic;

const struct dialect_match dialect_match_anthropic = {
	.name = "anthropic",
	.prefixes = prefixes,
	.is_ours = is_ours,
};
