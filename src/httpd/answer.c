/*
 * answer.c - answers: a head, then bytes, as fast as the client reads them.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    files that reckond passed.
 * Never:    formats an error: the dialect does that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "httpd/server.h"

static const char *reason_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *reason;
	} known[] = {
		{ 101, "Switching Protocols" }, { 200, "OK" }, { 201, "Created" },
		{ 202, "Accepted" }, { 204, "No Content" }, { 206, "Partial Content" },
		{ 301, "Moved Permanently" }, { 302, "Found" }, { 303, "See Other" },
		{ 304, "Not Modified" }, { 307, "Temporary Redirect" }, { 400, "Bad Request" },
		{ 401, "Unauthorized" }, { 402, "Payment Required" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
		{ 408, "Request Timeout" }, { 409, "Conflict" }, { 410, "Gone" },
		{ 412, "Precondition Failed" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" }, { 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" }, { 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" }, { 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 499, "Client Closed Request" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" }, { 502, "Bad Gateway" },
		{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" }, { 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return known[i].reason;
	return "Status";
}

static void add(struct conn *conn, const void *bytes, size_t len)
{
	struct err err;

	if (buf_add(&conn->out, bytes, len, &err) < 0)
		conn_abort(conn);
}

static void add_head(struct conn *conn, unsigned status, const char *media, const char *framing,
		     const char *headers)
{
	const time_t now = time(NULL);
	char date[40] = "", access[192], text[1024];
	struct tm tm;
	int len;

	if (gmtime_r(&now, &tm) != NULL)
		(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	access_answer(conn, status, access, sizeof(access));
	len = snprintf(text, sizeof(text),
		       "HTTP/1.1 %u %s\r\nDate: %s\r\n%s%s%s%s%s"
		       "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
		       status, reason_of(status), date, media != NULL ? "Content-Type: " : "",
		       media != NULL ? media : "", media != NULL ? "\r\n" : "", framing, access);
	if (len < 0 || (size_t)len >= sizeof(text)) {
		conn_abort(conn);
		return;
	}
	add(conn, text, (size_t)len);
	if (headers != NULL)
		add(conn, headers, strlen(headers));
	add(conn, conn->request.headers, strlen(conn->request.headers));
	len = snprintf(text, sizeof(text), "Connection: %s\r\n\r\n",
		       status == 101		 ? "Upgrade"
		       : conn->http.keep_alive ? "keep-alive"
					       : "close");
	add(conn, text, (size_t)len);
}

void answer_note_headers(struct request *request, const char *headers)
{
	/* Drop headers that do not fit: a truncated line would merge with the next one. */
	if (strlen(headers) < sizeof(request->headers))
		memcpy(request->headers, headers, strlen(headers) + 1);
}

int answer_begin(struct request *request, unsigned status, const char *media, uint64_t length,
		 const char *headers)
{
	struct conn *conn = conn_of(request);
	char framing[64] = "";

	if (request->client == CLIENT_GONE)
		return -1;
	request->answer = ANSWER_BEGUN;
	request->answer_left = 0;
	/* The next request would begin inside the unread body. */
	if (!request->message_done)
		conn->http.keep_alive = false;
	if (status == 304 || status == 204 || status == 101) {
		request->is_chunked = false;
	} else if (length != HTTPD_LENGTH_UNKNOWN) {
		request->answer_left = request->is_head ? 0 : length;
		(void)snprintf(framing, sizeof(framing), "Content-Length: %" PRIu64 "\r\n",
			       length);
	} else {
		request->is_chunked = conn->http.minor == 1;
		if (!request->is_chunked)
			conn->http.keep_alive = false;
		else
			(void)snprintf(framing, sizeof(framing), "Transfer-Encoding: chunked\r\n");
	}
	add_head(conn, status, media, framing, headers);
	return request->client == CLIENT_GONE ? -1 : 0;
}

bool answer_has_room(struct request *request)
{
	const struct conn *conn = conn_of(request);

	return conn->out.len - conn->out_at <= CONN_OUT_LOW;
}

int answer_write_now(struct request *request, const void *bytes, size_t len)
{
	struct conn *conn = conn_of(request);
	char size[24];

	if (request->client == CLIENT_GONE)
		return -1;
	if (len == 0 || (request->is_head && request->answer != ANSWER_NONE))
		return 0;
	if (request->is_chunked) {
		add(conn, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", len));
		add(conn, bytes, len);
		add(conn, "\r\n", 2);
	} else {
		add(conn, bytes, len);
		request->answer_left -= len < request->answer_left ? len : request->answer_left;
	}
	return request->client == CLIENT_GONE ? -1 : 0;
}

int answer_write(struct request *request, const void *bytes, size_t len)
{
	struct conn *conn = conn_of(request);
	int code = 0;

	if (answer_write_now(request, bytes, len) < 0)
		return -1;
	if (!answer_has_room(request))
		code = request_wait(request, WAIT_OUT,
				    request->at_eof == AT_EOF_GONE_STREAM
					    ? STREAM_STALL_MS
					    : page_get(conn->server->page->body_ms));
	/* A client that takes nothing holds memory and a descriptor. */
	if (code > 0)
		conn_abort(conn);
	return request->client == CLIENT_GONE ? -1 : 0;
}

int answer_file(struct request *request, int fd, uint64_t at, uint64_t length)
{
	char *chunk = conn_of(request)->server->chunk;

	if (request->is_head)
		return request->client == CLIENT_GONE ? -1 : 0;
	while (length > 0) {
		const size_t want = length < HTTPD_AHEAD_MAX ? (size_t)length : HTTPD_AHEAD_MAX;
		ssize_t n;

		do
			n = pread(fd, chunk, want, (off_t)at);
		while (n < 0 && errno == EINTR);
		if (n <= 0) {
			/* The box shortened the file meanwhile: the client must see that the answer
			 * is incomplete. */
			answer_break_off(request);
			return -1;
		}
		at += (uint64_t)n;
		length -= (uint64_t)n;
		if (answer_write(request, chunk, (size_t)n) < 0)
			return -1;
	}
	return 0;
}

void answer_end(struct request *request)
{
	struct conn *conn = conn_of(request);

	if (request->is_chunked && !request->is_head && request->client != CLIENT_GONE)
		add(conn, "0\r\n\r\n", 5);
	request->answer = ANSWER_ENDED;
}

void answer_break_off(struct request *request)
{
	conn_abort(conn_of(request));
}

void answer_text(struct request *request, unsigned status, const char *media,
		 const struct buf *text, const char *headers)
{
	if (answer_begin(request, status, media, text->len, headers) < 0 ||
	    answer_write(request, buf_text(text), text->len) < 0)
		return;
	answer_end(request);
}

void answer_refuse(struct request *request, const struct refusal *refusal)
{
	const struct dialect *dialect = request_dialect(request);

	/* Half an answer cannot become an error: the client sees that it is not whole. */
	if (request->answer != ANSWER_NONE && request->websocket != NULL &&
	    dialect->refuse_socket != NULL)
		dialect->refuse_socket(request, refusal);
	else if (request->answer != ANSWER_NONE)
		answer_break_off(request);
	else if (request->client != CLIENT_GONE)
		request_dialect(request)->refuse(request, refusal);
}

void answer_refuse_simple(struct request *request, unsigned status, const char *code,
			  const char *message, const char *remedy)
{
	answer_refuse(request, &(struct refusal){ .status = status,
						  .code = code,
						  .message = message,
						  .remedy = remedy });
}

void answer_refuse_invalid(struct request *request, const struct err *err)
{
	answer_refuse_simple(request, err->code == ERR_LIMIT ? 413 : 400, "invalid", err->text,
			     NULL);
}
