/*
 * match.c - recognises requests of E2B, whose paths have no prefix of their own, by headers, host
 * names and paths.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    heads from clients.
 * Never:    takes a path below the prefix of another protocol.
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

/*
 * Host names are PORT-ID.…; these are the ports of envd and the interpreter. Other ports belong to
 * programs in the sandbox.
 */
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
