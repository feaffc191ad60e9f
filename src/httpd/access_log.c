/*
 * access_log.c - a request's id, its trace, its log line, its counts.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    X-Request-Id and traceparent of any client.
 * Never:    logs a key, a body, a query, or a path as the client sent it.
 *
 * The id is the client's X-Request-Id if it is short and plain, so that it links a proxy's log
 * lines to ours; else a new one. It goes back as Reckon-Request-Id, and to reckond, whose log lines
 * have it, too. A valid traceparent (W3C trace context) names the trace; the request becomes a new
 * span of it, which the answer's traceparent names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "httpd/server.h"

#define HEX "0123456789abcdef"
#define TRACE_LEN 32u
#define SPAN_LEN 16u
#define TRACEPARENT_LEN 55u /* version-trace-span-flags */

/* Whether `len` lower-case hex digits follow that are not all zero. */
static bool is_hex(const char *text, size_t len)
{
	return strspn(text, HEX) >= len && strspn(text, "0") < len;
}

bool access_parse_trace(const char *header, struct access *ret)
{
	const size_t len = strlen(header);

	if (len < TRACEPARENT_LEN || strspn(header, HEX) != 2 || header[2] != '-' ||
	    memcmp(header, "ff", 2) == 0 || !is_hex(header + 3, TRACE_LEN) ||
	    header[35] != '-' || !is_hex(header + 36, SPAN_LEN) || header[52] != '-' ||
	    strspn(header + 53, HEX) != 2)
		return false;
	/* A later version may be longer, after another dash. */
	if (len > TRACEPARENT_LEN && (memcmp(header, "00", 2) == 0 || header[55] != '-'))
		return false;
	memcpy(ret->about.trace, header + 3, TRACE_LEN);
	ret->about.trace[TRACE_LEN] = '\0';
	ret->is_sampled = (strtoul((const char[]){ header[54], '\0' }, NULL, 16) & 1u) != 0;
	return true;
}

static bool new_span(char ret[SPAN_LEN + 1])
{
	unsigned char random[SPAN_LEN / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return false;
	random[0] |= 1; /* a span id must not be all zeros */
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", random[i]);
	return true;
}

static bool is_plain(const char *id)
{
	const size_t len = strlen(id);

	return len > 0 && len <= FRONT_REQUEST_ID_MAX &&
	       strspn(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.") ==
		       len;
}

void access_settings(const struct front_stats *page)
{
	log_set((enum log_level)page_get(page->log_level),
		(enum log_format)page_get(page->log_format), (unsigned)page_get(page->log_rate));
}

void access_begin(struct conn *conn)
{
	struct access *access = &conn->request.access;
	const char *id = http_header(&conn->http, "x-request-id");
	const char *parent = http_header(&conn->http, "traceparent");
	struct err ignored;

	if (access->start_ns != 0)
		return;
	access_settings(conn->server->page);
	access->start_ns = clock_mono_ns();
	if (id != NULL && is_plain(id))
		(void)snprintf(access->about.request, sizeof(access->about.request), "%s", id);
	else if (id_new(access->about.request, "rq", &ignored) < 0)
		access->about.request[0] = '\0';
	if (parent != NULL && access_parse_trace(parent, access) && !new_span(access->about.span))
		access->about.trace[0] = '\0';
}

void access_answer(struct conn *conn, unsigned status, char *ret_headers, size_t size)
{
	struct access *access = &conn->request.access;
	int used = 0;

	access_begin(conn); /* for a request without a valid head */
	access->status = status;
	ret_headers[0] = '\0';
	if (access->about.request[0] != '\0')
		used = snprintf(ret_headers, size, "Reckon-Request-Id: %s\r\n",
				access->about.request);
	if (access->about.trace[0] != '\0')
		(void)snprintf(ret_headers + used, size - (size_t)used,
			       "traceparent: 00-%s-%s-%s\r\n", access->about.trace,
			       access->about.span, access->is_sampled ? "01" : "00");
}

static void count(struct front_stats *page, const struct access *access, bool is_whole, uint64_t us)
{
	static const uint64_t ends[] = { FRONT_LATENCIES_US };
	const unsigned class = is_whole && access->status < 600 ? access->status / 100 : 0;
	size_t i = 0;

	_Static_assert(ARRAY_LEN(ends) + 1 == FRONT_LATENCY_COUNT, "one more for the rest");
	page_add(page->requests[class], 1);
	while (i < ARRAY_LEN(ends) && us > ends[i])
		i++;
	page_add(page->latency[i], 1);
	page_add(page->latency_us, us);
}

void access_end(struct conn *conn, bool is_whole)
{
	static const char *const verbs[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
	struct access *access = &conn->request.access;
	const char *verb = "-";
	uint64_t us;

	if (access->start_ns == 0)
		return;
	us = (clock_mono_ns() - access->start_ns) / 1000;
	count(conn->server->page, access, is_whole, us);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (conn->http.verb == 1u << i)
			verb = verbs[i];
	if (log_wants(LOG_INFO)) {
		log_about(&access->about);
		log_line(LOG_INFO, is_whole ? "request" : "request broken off",
			 "method=%s path=%s status=%u us=%llu in=%llu out=%llu", verb,
			 access->route[0] != '\0' ? access->route : "-", access->status,
			 (unsigned long long)us, (unsigned long long)access->received,
			 (unsigned long long)access->sent);
		log_about(NULL);
	}
	memset(access, 0, sizeof(*access));
}

void access_bytes(struct conn *conn, size_t received, size_t sent)
{
	struct front_stats *page = conn->server->page;

	conn->request.access.received += received;
	conn->request.access.sent += sent;
	if (received > 0)
		page_add(page->received, received);
	if (sent > 0)
		page_add(page->sent, sent);
}
