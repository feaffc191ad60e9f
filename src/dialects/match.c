/*
 * match.c - finds the dialect of a request.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    heads of anybody.
 * Never:    looks at a body.
 */
#include "dialects/match.h"

#include <string.h>

#include "base/text.h"
#include "dialects/matches.h"

static bool is_of(const struct dialect_match *match, const struct http *http)
{
	for (size_t i = 0; match->prefixes != NULL && match->prefixes[i] != NULL; i++)
		if (text_is_within(http->path, match->prefixes[i]))
			return true;
	for (size_t i = 0; match->headers != NULL && match->headers[i] != NULL; i++)
		if (http_header(http, match->headers[i]) != NULL)
			return true;
	return match->is_ours != NULL && match->is_ours(http);
}

static bool has_host(const struct dialect_match *match, const char *host)
{
	for (size_t i = 0; match->hosts != NULL && match->hosts[i] != NULL; i++)
		if (strncmp(host, match->hosts[i], strlen(match->hosts[i])) == 0)
			return true;
	return false;
}

unsigned dialect_recognise(const struct http *http)
{
	const char *host = http_header(http, "host");

	for (unsigned i = 1; host != NULL && dialect_matches[i] != NULL; i++)
		if (has_host(dialect_matches[i], host))
			return i;
	for (unsigned i = 1; dialect_matches[i] != NULL; i++)
		if (is_of(dialect_matches[i], http))
			return i;
	return 0;
}
