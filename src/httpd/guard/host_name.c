/*
 * host_name.c - checks by the Host header whether a request is meant for this server.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    the header Host, which a browser sets and a page cannot.
 * Never:    looks a name up.
 *
 * A hostile page can make its own name resolve to our address after it was loaded (DNS rebinding):
 * the browser then lets the page read our answers. The Host header reveals that foreign name. IP
 * addresses and names of this machine are safe: a hostile page cannot have them.
 */
#include "httpd/guard/host_name.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS ", \t"
#define ADDRESS_MAX 64u

static bool is_address(const char *name, size_t len)
{
	char text[ADDRESS_MAX];
	struct in6_addr v6;
	struct in_addr v4;

	if (len >= sizeof(text))
		return false;
	if (name[0] != '[') {
		(void)snprintf(text, sizeof(text), "%.*s", (int)len, name);
		return inet_pton(AF_INET, text, &v4) == 1;
	}
	if (len < 2 || name[len - 1] != ']')
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)(len - 2), name + 1);
	return inet_pton(AF_INET6, text, &v6) == 1;
}

/* Whether `name` is `top` itself or ends with ".top". */
static bool is_at_or_below(const char *name, size_t len, const char *top, size_t top_len)
{
	if (len < top_len || strncasecmp(name + len - top_len, top, top_len) != 0)
		return false;
	return len == top_len || (len > top_len + 1 && name[len - top_len - 1] == '.');
}

bool host_name_is_allowed(const char *host, const char *allowed)
{
	const size_t whole = strlen(host);
	size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

	if (len > whole || strspn(host + len, ":0123456789") != whole - len)
		return false;
	if (is_address(host, len))
		return true;
	/* "localhost." with a dot is the same name. */
	if (len > 1 && host[len - 1] == '.')
		len--;
	if (is_at_or_below(host, len, "localhost", strlen("localhost")))
		return true;
	for (const char *at = allowed + strspn(allowed, SEPARATORS); *at != '\0';
	     at += strspn(at, SEPARATORS)) {
		const size_t part = strcspn(at, SEPARATORS);

		if (is_at_or_below(host, len, at, part))
			return true;
		at += part;
	}
	return false;
}
