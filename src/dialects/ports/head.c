/*
 * head.c - rewrites heads of requests and answers between a client and a program in a box.
 *
 * Runs in:  reckon-front-ports.
 * Reads:    heads of any client, and of untrusted programs.
 * Never:    passes a key or token of Reckon to a program, or lets an answer on the API's origin act
 *           there.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "dialects/ports/ports.h"

/* Headers for a single connection (RFC 9110, 7.6.1), or written anew. */
static const char *const of_connection[] = {
	"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
	"te", "trailer", "transfer-encoding", "upgrade", "content-length",
};

/* Request headers that the proxy sets itself or removes. */
static const char *const of_request[] = {
	"host", "cookie", "expect", "forwarded", "x-forwarded-for", "x-forwarded-host",
	"x-forwarded-proto", "x-forwarded-prefix", "x-reckon-key", "x-reckon-timeout",
	"e2b-traffic-access-token", "e2b-sandbox-id", "e2b-sandbox-port",
};

/* Answer headers that the front sets itself, or that affect more than this answer. */
static const char *const of_answer[] = {
	"date", "cache-control", "x-content-type-options", "strict-transport-security", "alt-svc",
	"public-key-pins", "nel", "report-to", "reporting-endpoints",
};

/* Also removed on the API's origin: headers that have lasting effect, or give other origins
 * access. */
static const char *const of_api_origin[] = {
	"set-cookie", "clear-site-data", "service-worker-allowed", "refresh",
	"access-control-allow-origin", "access-control-allow-credentials",
	"access-control-allow-methods", "access-control-allow-headers",
	"access-control-expose-headers", "access-control-max-age",
	"access-control-allow-private-network",
};

static bool is_in(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* Whether a list contains the word: "keep-alive, Upgrade". */
static bool has_word(const char *list, const char *word)
{
	const size_t len = strlen(word);

	while (list != NULL && *list != '\0') {
		const size_t part = strcspn(list, ", \t");

		if (part == len && strncasecmp(list, word, len) == 0)
			return true;
		list += part;
		list += strspn(list, ", \t");
	}
	return false;
}

bool ports_wants_upgrade(const struct http *http)
{
	return http->verb == HTTP_VERB_GET && http->minor == 1 && !http->has_body &&
	       http_header(http, "upgrade") != NULL &&
	       has_word(http_header(http, "connection"), "upgrade");
}

/* ---- cookies -------------------------------------------------------------------------------- */

static bool is_ours(const char *cookie, size_t len)
{
	return len > strlen(PORTS_COOKIE) && strncmp(cookie, PORTS_COOKIE "=",
						     strlen(PORTS_COOKIE) + 1) == 0;
}

static int add_cookies(const char *value, struct buf *ret, struct err *err)
{
	const char *between = "Cookie: ";
	const char *cookie;
	size_t len;

	while ((cookie = http_cookie_next(&value, &len)) != NULL) {
		if (is_ours(cookie, len))
			continue;
		if (buf_addf(ret, err, "%s%.*s", between, (int)len, cookie) < 0)
			return (int)err->code;
		between = "; ";
	}
	return between[0] == ';' ? buf_adds(ret, "\r\n", err) : 0;
}

/* Whether the cookie has the name of ours, or is for other hosts, too. */
static bool is_bad_cookie(const char *value)
{
	const char *attribute = value;

	if (is_ours(value, strcspn(value, ";")))
		return true;
	while ((attribute = strchr(attribute, ';')) != NULL) {
		attribute += 1 + strspn(attribute + 1, " \t");
		if (strncasecmp(attribute, "domain", 6) == 0)
			return true;
	}
	return false;
}

/* ---- requests ------------------------------------------------------------------------------- */

static int add_line(const struct http_header *header, struct buf *ret, struct err *err)
{
	return buf_addf(ret, err, "%s: %s\r\n", header->name, header->value);
}

static int add_request_lines(const struct http *http, const struct ports_address *address,
			     bool keeps_authorization, struct buf *ret, struct err *err)
{
	const char *connection = http_header(http, "connection");
	const bool is_by_name = address->road == PORTS_BY_HOST || address->road == PORTS_BY_HEADER;
	const bool is_by_header = address->road == PORTS_BY_HEADER;

	for (size_t i = 0; i < http->header_count; i++) {
		const struct http_header *header = &http->header[i];

		if (strcmp(header->name, "cookie") == 0 && is_by_name &&
		    add_cookies(header->value, ret, err) < 0)
			return (int)err->code;
		if (is_in(header->name, of_connection, ARRAY_LEN(of_connection)) ||
		    is_in(header->name, of_request, ARRAY_LEN(of_request)) ||
		    has_word(connection, header->name) ||
		    (strcmp(header->name, "authorization") == 0 && !keeps_authorization) ||
		    (strcmp(header->name, "x-access-token") == 0 && is_by_header))
			continue;
		if (add_line(header, ret, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int add_request_framing(const struct http *http, struct buf *ret, struct err *err)
{
	if (ports_wants_upgrade(http))
		return buf_addf(ret, err, "Connection: Upgrade\r\nUpgrade: %s\r\n",
				http_header(http, "upgrade"));
	if (http->is_chunked && buf_adds(ret, "Transfer-Encoding: chunked\r\n", err) < 0)
		return (int)err->code;
	if (!http->is_chunked && http_header(http, "content-length") != NULL &&
	    buf_addf(ret, err, "Content-Length: %llu\r\n", (unsigned long long)http->length) < 0)
		return (int)err->code;
	return buf_adds(ret, "Connection: close\r\n", err);
}

int ports_request_head(struct request *request, const struct ports_address *address,
		       bool keeps_authorization, struct buf *ret, struct err *err)
{
	const struct http *http = request_head(request);
	const char *host = http_header(http, "host");
	const char *proto = http_header(http, "x-forwarded-proto");
	const bool is_https = proto != NULL && strcasecmp(proto, "https") == 0;

	if (buf_addf(ret, err, "%s %s%s%s HTTP/1.1\r\n", http->method, address->path,
		     http->query[0] != '\0' ? "?" : "", http->query) < 0)
		return (int)err->code;
	/* By path the program need not know the API's host name: it expects localhost. */
	if (address->road == PORTS_BY_HOST ? buf_addf(ret, err, "Host: %s\r\n", host) < 0
					   : buf_addf(ret, err, "Host: localhost:%u\r\n",
						      address->port) < 0)
		return (int)err->code;
	if (add_request_lines(http, address, keeps_authorization, ret, err) < 0 ||
	    add_request_framing(http, ret, err) < 0 ||
	    buf_addf(ret, err, "X-Forwarded-Proto: %s\r\n", is_https ? "https" : "http") < 0 ||
	    (host != NULL && buf_addf(ret, err, "X-Forwarded-Host: %s\r\n", host) < 0) ||
	    (address->base[0] != '\0' &&
	     buf_addf(ret, err, "X-Forwarded-Prefix: %s\r\n", address->base) < 0))
		return (int)err->code;
	return buf_adds(ret, "\r\n", err);
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Moves the program's absolute path below the base; leaves complete URLs unchanged. */
static int add_location(const char *value, const struct ports_address *address, struct buf *ret,
			struct err *err)
{
	const bool is_path = value[0] == '/' && value[1] != '/';

	return buf_addf(ret, err, "location: %s%s\r\n", is_path ? address->base : "", value);
}

int ports_answer_head(const struct http_answer *answer, const struct ports_address *address,
		      struct buf *ret, struct err *err)
{
	const char *connection = http_answer_header(answer, "connection");
	const bool is_by_path = address->road == PORTS_BY_PATH;
	const bool is_on_api_origin = is_by_path || address->road == PORTS_BY_HEADER;

	for (size_t i = 0; i < answer->header_count; i++) {
		const struct http_header *header = &answer->header[i];

		if (is_in(header->name, of_connection, ARRAY_LEN(of_connection)) ||
		    is_in(header->name, of_answer, ARRAY_LEN(of_answer)) ||
		    has_word(connection, header->name) ||
		    (is_on_api_origin &&
		     is_in(header->name, of_api_origin, ARRAY_LEN(of_api_origin))) ||
		    (strcmp(header->name, "set-cookie") == 0 && is_bad_cookie(header->value)))
			continue;
		if (strcmp(header->name, "location") == 0
			    ? add_location(header->value, address, ret, err) < 0
			    : add_line(header, ret, err) < 0)
			return (int)err->code;
	}
	if (answer->status == 101)
		return buf_addf(ret, err, "Upgrade: %s\r\n",
				http_answer_header(answer, "upgrade") != NULL
					? http_answer_header(answer, "upgrade")
					: "");
	/* The sandbox gives the page a unique origin: its scripts cannot use anything of the API's
	 * origin. */
	return is_by_path ? buf_adds(ret, "Content-Security-Policy: sandbox\r\n", err) : 0;
}
