/*
 * address.c - host names and paths that name a port of a session.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    heads of anybody.
 * Never:    lets a request to a port's host name reach anything else, such as the API.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialects/ports/ports.h"

#define DIGITS 26u /* of an id, after "se_" */
#define SESSIONS "/reckon/v1/sessions/"
#define LINKS "/reckon/v1/ports/"
#define E2B_ENVD 49983u
#define E2B_INTERPRETER 49999u

/* Parses 1 to 65535 in `len` digits without leading zeros; 0: invalid. */
static unsigned take_port(const char *text, size_t len)
{
	unsigned port = 0;

	if (len == 0 || len > 5 || text[0] == '0')
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]))
			return 0;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	return port <= 65535 ? port : 0;
}

/* Host names ignore case; ids are upper case. */
static bool take_id(const char *text, size_t len, char ret[ID_SIZE])
{
	if (len == DIGITS + 3 && strncasecmp(text, "se_", 3) == 0) {
		text += 3;
		len -= 3;
	}
	if (len != DIGITS)
		return false;
	(void)snprintf(ret, ID_SIZE, "se_");
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]))
			return false;
		ret[3 + i] = (char)toupper((unsigned char)text[i]);
	}
	ret[3 + len] = '\0';
	return true;
}

/* PORT-ID: digits, which may be an invalid port, and an id. */
static bool take_label(const char *text, size_t len, struct ports_address *ret)
{
	const size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits >= len || text[digits] != '-' || len >= sizeof(ret->label) ||
	    !take_id(text + digits + 1, len - digits - 1, ret->session))
		return false;
	ret->port = take_port(text, digits);
	(void)snprintf(ret->label, sizeof(ret->label), "%.*s", (int)len, text);
	return true;
}

static bool is_by_host(const struct http *http, struct ports_address *ret)
{
	const char *host = http_header(http, "host");
	const char *dot = host != NULL ? strchr(host, '.') : NULL;

	if (dot == NULL || !take_label(host, (size_t)(dot - host), ret))
		return false;
	ret->road = PORTS_BY_HOST;
	ret->path = http->path;
	return true;
}

static bool is_by_path(const struct http *http, struct ports_address *ret)
{
	const char *id = http->path + strlen(SESSIONS);
	const char *behind, *port;
	size_t len;

	if (strncmp(http->path, SESSIONS, strlen(SESSIONS)) != 0)
		return false;
	behind = id + strcspn(id, "/");
	if (strncmp(behind, "/ports/", 7) != 0)
		return false;
	port = behind + 7;
	len = strcspn(port, "/");
	if (len == 0)
		return false;
	ret->road = port[len] == '/' ? PORTS_BY_PATH : PORTS_TUNNEL;
	/* An impossible id becomes "-", which is never found; an invalid port becomes 0, for the
	 * error. */
	if (!take_id(id, (size_t)(behind - id), ret->session))
		(void)snprintf(ret->session, sizeof(ret->session), "-");
	ret->port = take_port(port, len);
	ret->path = port + len;
	if ((size_t)(ret->path - http->path) < sizeof(ret->base))
		(void)snprintf(ret->base, sizeof(ret->base), "%.*s", (int)(ret->path - http->path),
			       http->path);
	return true;
}

static bool is_by_link(const struct http *http, struct ports_address *ret)
{
	const char *label = http->path + strlen(LINKS), *token;
	size_t len;

	if (strncmp(http->path, LINKS, strlen(LINKS)) != 0)
		return false;
	ret->road = PORTS_BY_LINK;
	len = strcspn(label, "/");
	if (!take_label(label, len, ret) || label[len] != '/') {
		ret->port = 0;
		return true;
	}
	token = label + len + 1;
	len = strcspn(token, "/");
	if (len <= PORTS_TOKEN_MAX)
		(void)snprintf(ret->token, sizeof(ret->token), "%.*s", (int)len, token);
	ret->path = token[len] == '/' ? token + len : "/";
	return true;
}

/* Excludes the ports of envd and the interpreter; E2B's sandbox ids are ours without "se_". */
static bool is_by_header(const struct http *http, struct ports_address *ret)
{
	const char *id = http_header(http, "e2b-sandbox-id");
	const char *port = http_header(http, "e2b-sandbox-port");

	if (id == NULL || port == NULL || !take_id(id, strlen(id), ret->session))
		return false;
	ret->port = take_port(port, strlen(port));
	if (ret->port == 0 || ret->port == E2B_ENVD || ret->port == E2B_INTERPRETER)
		return false;
	ret->road = PORTS_BY_HEADER;
	ret->path = http->path;
	return true;
}

bool ports_address(const struct http *http, struct ports_address *ret)
{
	*ret = (struct ports_address){ .road = PORTS_NONE };
	return is_by_host(http, ret) || is_by_path(http, ret) || is_by_link(http, ret) ||
	       is_by_header(http, ret);
}
