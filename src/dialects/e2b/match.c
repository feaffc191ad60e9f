/*
 * match.c - E2B stands at the root: its requests are told by headers, by host names, and by paths.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    heads of anybody.
 * Never:    claims what lies under a prefix of another protocol.
 */
#include <string.h>

#include "dialects/match.h"

static const char *const prefixes[] = {
	"/sandboxes", "/v2/sandboxes", "/templates", "/v2/templates", "/v3/templates", "/snapshots",
	"/volumes", "/v2/volumes", "/volumecontent", "/secrets", "/teams", "/execute", "/contexts",
	"/filesystem.Filesystem", "/process.Process", NULL };
static const char *const headers[] = { "e2b-sandbox-id", "e2b-sandbox-port",
				       "connect-protocol-version", "e2b-traffic-access-token",
				       NULL };

/* Of envd and of the interpreter, whose hosts are PORT-ID.…; other ports are the programs' own. */
static const char *const hosts[] = { "49983-", "49999-", NULL };

static bool is_ours(const struct http *http)
{
	const char *key = http_header(http, "x-api-key");

	const char *token = http_header(http, "x-access-token");

	if (key != NULL && strncmp(key, "e2b_", 4) == 0)
		return true;
	if (token != NULL && strncmp(token, "st_", 3) == 0 && strcmp(http->path, "/health") == 0)
		return true;
	return strcmp(http->path, "/files") == 0;
}

extern const struct dialect_match dialect_match_e2b;

const struct dialect_match dialect_match_e2b = {
	.name = "e2b",
	.prefixes = prefixes,
	.headers = headers,
	.hosts = hosts,
	.is_ours = is_ours,
};
