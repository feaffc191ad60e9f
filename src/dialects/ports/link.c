/*
 * link.c - links to ports: they redirect from the API's origin to the port's, and set a cookie
 * there.
 *
 * Runs in:  reckon-front-ports.
 * Reads:    paths and queries of any client.
 * Never:    sets a cookie for a host that serves more than one port, or leaves a token in a URL
 *           that a page could read.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "dialects/ports/ports.h"

#define LINE_MAX_BYTES 20000u

static void redirect(struct request *request, const char *headers)
{
	if (answer_begin(request, 303, NULL, 0, headers) == 0)
		answer_end(request);
}

bool ports_is_token(const char *text)
{
	const size_t len = strlen(text);

	return len > 0 && len <= PORTS_TOKEN_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
		       len;
}

/* The host whose subdomains are the ports: a loopback address has none, but "localhost" has. */
static bool add_host(const struct http *http, const char *label, struct buf *ret, struct err *err)
{
	const char *host = http_header(http, "host");
	const char *port;

	if (host == NULL)
		return false;
	port = host[0] == '[' ? strchr(host, ']') : host;
	port = port != NULL ? strchr(port, ':') : NULL;
	if (strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0)
		return buf_addf(ret, err, "//%s.localhost%s", label, port != NULL ? port : "") == 0;
	/* Other IPv4 addresses and IPv6 addresses have no subdomains. */
	if (host[0] == '[' || strspn(host, "0123456789.:") == strlen(host))
		return false;
	return buf_addf(ret, err, "//%s.%s", label, host) == 0;
}

void ports_follow_link(struct request *request, const struct ports_address *address)
{
	cleanup_buf struct buf headers = BUF_INIT(LINE_MAX_BYTES);
	const struct http *http = request_head(request);
	struct err err;

	if (address->port == 0 || !ports_is_token(address->token)) {
		answer_refuse_simple(request, 404, "not_found", "this is not a link to a port",
				     "use the whole url, as it was given");
		return;
	}
	if (buf_adds(&headers, "Location: ", &err) < 0 ||
	    !add_host(http, address->label, &headers, &err)) {
		answer_refuse_simple(request, 400, "invalid",
				     "ports have host names, and there is none here",
				     "use the daemon's name in the url, not its address");
		return;
	}
	if (buf_addf(&headers, &err, "%s?%s=%s%s%s\r\nReferrer-Policy: no-referrer\r\n",
		     address->path, PORTS_PARAMETER, address->token,
		     http->query[0] != '\0' ? "&" : "", http->query) < 0)
		answer_refuse_simple(request, 414, "invalid", "the url is too long", NULL);
	else
		redirect(request, buf_text(&headers));
}

/* Where the parameter begins, and its length, without the separator. */
static const char *find_parameter(const char *query, size_t *ret_len)
{
	const size_t name_len = strlen(PORTS_PARAMETER);

	for (const char *at = query; *at != '\0';) {
		const size_t len = strcspn(at, "&");

		if (strncmp(at, PORTS_PARAMETER "=", name_len + 1) == 0) {
			*ret_len = len;
			return at;
		}
		at += len + (at[len] == '&');
	}
	return NULL;
}

bool ports_take_link(struct request *request, const struct ports_address *address)
{
	cleanup_buf struct buf headers = BUF_INIT(LINE_MAX_BYTES);
	const struct http *http = request_head(request);
	const char *proto = http_header(http, "x-forwarded-proto");
	char token[PORTS_TOKEN_MAX + 2], rest[HTTP_HEAD_MAX]; /* one that is too long shows as that */
	const char *found, *behind;
	struct err err;
	size_t len;

	found = find_parameter(http->query, &len);
	if (found == NULL || (http->verb & (HTTP_VERB_GET | HTTP_VERB_HEAD)) == 0)
		return false;
	(void)snprintf(token, sizeof(token), "%.*s", (int)(len - strlen(PORTS_PARAMETER "=")),
		       found + strlen(PORTS_PARAMETER "="));
	if (!ports_is_token(token))
		return false;
	behind = found + len + (found[len] == '&');
	(void)snprintf(rest, sizeof(rest), "%.*s%s", (int)(found - http->query), http->query,
		       behind);
	/* A path that begins with two slashes would be read as a host. */
	if (buf_addf(&headers, &err,
		     "Location: /%s%s%s\r\nSet-Cookie: " PORTS_COOKIE
		     "=%s; Path=/; HttpOnly; SameSite=Lax%s\r\nReferrer-Policy: no-referrer\r\n",
		     address->path + strspn(address->path, "/"), rest[0] != '\0' ? "?" : "", rest,
		     token,
		     proto != NULL && strcasecmp(proto, "https") == 0 ? "; Secure" : "") < 0)
		answer_refuse_simple(request, 414, "invalid", "the url is too long", NULL);
	else
		redirect(request, buf_text(&headers));
	return true;
}
