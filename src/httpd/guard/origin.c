/*
 * origin.c - detects requests that a foreign web page may have caused.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    the headers Origin and Host, which a browser sets and a page cannot.
 * Never:    treats a key or a reachable port as the user's consent.
 *
 * A page can send requests to every address that its browser can reach; if the page's own name
 * resolves to 127.0.0.1 (DNS rebinding), it can even read the answers. These headers reveal both.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "httpd/guard/host_name.h"
#include "httpd/server.h"

/* Length of the host in "HOST[:PORT]", including brackets. */
static size_t host_len(const char *authority)
{
	return authority[0] == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
}

static bool is_local_name(const char *authority)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	const size_t len = strlen(authority);
	const size_t host = host_len(authority);

	if (host > len || strspn(authority + host, ":0123456789") != len - host)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == host && strncasecmp(authority, names[i], host) == 0)
			return true;
	return false;
}

bool request_is_local(const struct request *request)
{
	const struct conn *conn =
		(const struct conn *)((const char *)request - offsetof(struct conn, request));
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);

	if (getpeername(conn->fd, (struct sockaddr *)&from, &len) < 0)
		return false;
	if (from.ss_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, &from, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
	}
	if (from.ss_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, &from, sizeof(v6));
		return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127);
	}
	return from.ss_family == AF_UNIX;
}

bool request_origin_is_allowed(const struct request *request)
{
	const struct http *http = request_head(request);
	const char *origin = http_header(http, "origin");
	const char *host = http_header(http, "host");
	const char *authority;

	if (origin == NULL)
		return true;
	authority = strstr(origin, "://");
	if (authority == NULL)
		return false;
	authority += 3;
	if (is_local_name(authority))
		return true;
	/* origin_is_misdirected() has already refused foreign host names. */
	return host != NULL && strcasecmp(host, authority) == 0;
}

/*
 * A foreign page can make a browser send a SameSite cookie only with a top-level GET, but all ports
 * of a host are one site: other methods and WebSockets need the exact origin.
 */
bool request_may_use_cookie(const struct request *request)
{
	const struct http *http = request_head(request);
	const char *origin = http_header(http, "origin");
	const char *host = http_header(http, "host");
	const char *site = http_header(http, "sec-fetch-site");
	const bool only_reads = (http->verb & (HTTP_VERB_GET | HTTP_VERB_HEAD)) != 0 &&
				http_header(http, "upgrade") == NULL;

	if (only_reads)
		return true;
	if (origin == NULL)
		return site == NULL || strcasecmp(site, "same-origin") == 0 ||
		       strcasecmp(site, "none") == 0;
	if (strncasecmp(origin, "http://", 7) == 0)
		origin += 7;
	else if (strncasecmp(origin, "https://", 8) == 0)
		origin += 8;
	return host != NULL && strcasecmp(origin, host) == 0;
}

void origin_refuse_misdirected(void *arg)
{
	struct conn *conn = arg;
	const char *host = http_header(&conn->http, "host");
	char message[192];

	(void)snprintf(message, sizeof(message), "this daemon is not known as %.128s", host);
	answer_refuse(
		&conn->request,
		&(struct refusal){
			.status = 421,
			.code = "misdirected",
			.message = message,
			.cause = "a name that anybody may lead here would let their web pages in",
			.remedy = "use its address or localhost, or serve with --allow-host NAME",
		});
}

/* Also checks requests that another process read; no host name leads to a Unix socket. */
bool origin_is_misdirected(const struct conn *conn)
{
	const char *host = http_header(&conn->http, "host");
	int domain = AF_UNSPEC;
	socklen_t len = sizeof(domain);

	if (host == NULL || host_name_is_allowed(host, conn->server->allowed_hosts))
		return false;
	return getsockopt(conn->fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain != AF_UNIX;
}
