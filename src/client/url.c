/*
 * url.c - parses a daemon's address as users write it.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    --url and RECKON_URL.
 * Never:    accepts an address with parts it does not understand: the client sends a key there.
 */
#include "client/url.h"

#include <stdio.h>
#include <string.h>

#define API "/reckon/v1"
#define HOST_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"
#define PATH_CHARS HOST_CHARS "/~%+,;=@:"

static int bad(const char *text, const char *why, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "%.100s: %s", text, why);
	return err_remedy(err, "write http://HOST:PORT, https://HOST[:PORT] or unix:/PATH");
}

static int parse_unix(const char *text, const char *path, struct url *ret, struct err *err)
{
	if (strncmp(path, "///", 3) == 0)
		path += 2;
	if (path[0] != '/' || path[1] == '\0')
		return bad(text, "the path of a socket begins with /", err);
	if (snprintf(ret->socket, sizeof(ret->socket), "%s", path) >= (int)sizeof(ret->socket))
		return bad(text, "the path of a socket has at most 107 bytes", err);
	(void)snprintf(ret->base, sizeof(ret->base), "http://localhost");
	ret->is_loopback = true;
	return 0;
}

/* The length of "[::1]" or "host" at `at`, or 0. */
static size_t host_length(const char *at)
{
	size_t len;

	if (*at != '[')
		return strspn(at, HOST_CHARS);
	len = 1 + strspn(at + 1, "0123456789abcdefABCDEF:.");
	return len > 1 && at[len] == ']' ? len + 1 : 0;
}

static bool is_loopback(const char *host, size_t len)
{
	static const char *const names[] = { "localhost", "[::1]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && memcmp(names[i], host, len) == 0)
			return true;
	/* Not 127.example.org. */
	return len > 4 && memcmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

static int check_port(const char *text, const char *at, size_t len, struct err *err)
{
	unsigned long port = 0;

	for (size_t i = 0; i < len && port <= 65535; i++)
		port = port * 10 + (unsigned long)(at[i] - '0');
	if (len == 0 || len > 5 || port == 0 || port > 65535)
		return bad(text, "the port is a number from 1 to 65535", err);
	return 0;
}

int url_parse(const char *text, struct url *ret, struct err *err)
{
	const char *at = text;
	size_t len, used;

	memset(ret, 0, sizeof(*ret));
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(text, text + 5, ret, err);
	ret->is_tls = strncmp(text, "https://", 8) == 0;
	if (!ret->is_tls && strncmp(text, "http://", 7) != 0)
		return bad(text, "is not an address of a daemon", err);
	at += ret->is_tls ? 8 : 7;
	len = host_length(at);
	if (strchr(at, '@') != NULL)
		return bad("the URL", "a user or a password does not belong there", err);
	if (len == 0)
		return bad(text, "the host is missing or malformed", err);
	ret->is_loopback = is_loopback(at, len);
	at += len;
	if (*at == ':') {
		len = strspn(at + 1, "0123456789");
		if (check_port(text, at + 1, len, err) < 0)
			return (int)err->code;
		at += 1 + len;
	}
	if ((*at != '\0' && *at != '/') || strspn(at, PATH_CHARS) != strlen(at))
		return bad(text, "the path is malformed, or a query stands behind it", err);
	used = strlen(text);
	if (used >= sizeof(ret->base))
		return bad(text, "is too long", err);
	memcpy(ret->base, text, used);
	while (used > 0 && ret->base[used - 1] == '/')
		ret->base[--used] = '\0';
	if (used > strlen(API) && strcmp(ret->base + used - strlen(API), API) == 0)
		ret->base[used - strlen(API)] = '\0';
	return 0;
}
