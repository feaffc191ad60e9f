/*
 * body.c - reads a request's body into memory, into a file, or piece by piece.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bodies of any client.
 * Never:    accepts more bytes than its caller allows.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "httpd/server.h"

static uint64_t body_ms(const struct conn *conn)
{
	return page_get(conn->server->page->body_ms);
}

static int take(struct http *http, const char *bytes, size_t len, void *arg)
{
	struct request *request = arg;

	(void)http;
	if (!request->sink_is_full)
		request->sink_is_full = !request->sink(bytes, len, request->sink_arg);
	return 0;
}

static int refuse_bad(struct conn *conn)
{
	const unsigned status = conn->http.status;

	conn->http.keep_alive = false;
	answer_refuse_simple(&conn->request, status,
			     status == 413 ? "body_too_large" : "invalid", conn->http.err.text,
			     conn->http.err.remedy);
	return -1;
}

static int wait_for_more(struct conn *conn)
{
	const int code = request_wait(&conn->request, WAIT_BODY, body_ms(conn));

	if (code <= 0)
		return code;
	conn->http.keep_alive = false;
	answer_refuse_simple(&conn->request, 408, "timeout",
			     "the body of the request took too long", "send it faster");
	return -1;
}

static void begin_body(struct request *request, uint64_t max, request_body_fn *fn, void *arg)
{
	struct conn *conn = conn_of(request);

	request->sink = fn;
	request->sink_arg = arg;
	request->sink_is_full = false;
	conn->http.body_max = max;
	conn->http.body_fn = take;
	conn->http.body_arg = request;
}

int request_body_now(struct request *request, request_body_fn *fn, void *arg)
{
	struct conn *conn = conn_of(request);

	begin_body(request, UINT64_MAX, fn, arg);
	if (request->message_done)
		return 1;
	if (conn->in.len == 0 && conn->read_ended)
		conn_abort(conn);
	if (request->client == CLIENT_GONE)
		return -1;
	if (conn->in.len > 0)
		(void)conn_feed_body(conn);
	if (conn->http.status != 0)
		return refuse_bad(conn);
	return request->message_done ? 1 : 0;
}

int request_body_some(struct request *request, request_body_fn *fn, void *arg)
{
	struct conn *conn = conn_of(request);

	if (!request->message_done && !conn->read_ended && conn->in.len == 0 &&
	    wait_for_more(conn) < 0)
		return -1;
	return request_body_now(request, fn, arg);
}

/* Whether the body has a Content-Encoding: stored undecoded, its content would be wrong. */
static bool is_encoded(const struct conn *conn)
{
	const char *encoding = http_header(&conn->http, "content-encoding");

	return encoding != NULL && conn->http.has_body && strcasecmp(encoding, "identity") != 0;
}

void request_take_encoded(struct request *request)
{
	request->takes_encoded = true;
}

int request_body_each(struct request *request, uint64_t max, request_body_fn *fn, void *arg)
{
	struct conn *conn = conn_of(request);
	const char *expect = http_header(&conn->http, "expect");

	begin_body(request, max, fn, arg);
	if (is_encoded(conn) && !request->takes_encoded) {
		answer_refuse(request, &(struct refusal){
					       .status = 415,
					       .code = "unsupported_media_type",
					       .message = "the body has a Content-Encoding",
					       .remedy = "send it as it is",
					       .headers = "Accept-Encoding: identity\r\n" });
		return -1;
	}
	if (conn->http.length > max) {
		(void)http_refuse(&conn->http, 413, ERR_LIMIT, "the body is longer than %llu bytes",
				  (unsigned long long)max);
		return refuse_bad(conn);
	}
	if (expect != NULL && conn->http.has_body && conn->in.len == 0)
		(void)answer_write(request, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	while (!request->message_done && !request->sink_is_full) {
		if (conn->in.len == 0 && conn->read_ended)
			conn_abort(conn);
		if (conn->in.len == 0 && wait_for_more(conn) < 0)
			return -1;
		if (request->client == CLIENT_GONE)
			return -1;
		(void)conn_feed_body(conn);
		if (conn->http.status != 0)
			return refuse_bad(conn);
	}
	return request->sink_is_full ? 1 : 0;
}

/* ---- into memory ---------------------------------------------------------------------------- */

struct memory {
	struct buf *buf;
	struct err err;
};

static bool add(const char *bytes, size_t len, void *arg)
{
	struct memory *memory = arg;

	return buf_add(memory->buf, bytes, len, &memory->err) == 0;
}

int request_body(struct request *request, uint64_t max, struct buf *ret)
{
	struct memory memory = { .buf = ret };
	const int code = request_body_each(request, max, add, &memory);

	if (code <= 0)
		return code;
	conn_of(request)->http.keep_alive = false;
	answer_refuse_simple(request, 413, "body_too_large", memory.err.text, "");
	return -1;
}

/* ---- into a file ---------------------------------------------------------------------------- */

struct file {
	int fd;
	struct err err;
};

static bool write_file(const char *bytes, size_t len, void *arg)
{
	struct file *file = arg;

	return fd_write_full(file->fd, bytes, len, &file->err) == 0;
}

int request_body_to(struct request *request, int fd, uint64_t max)
{
	struct file file = { .fd = fd };
	const int code = request_body_each(request, max, write_file, &file);
	bool is_full;

	if (code <= 0)
		return code;
	is_full = file.err.errnum == ENOSPC || file.err.errnum == EDQUOT;
	conn_of(request)->http.keep_alive = false;
	answer_refuse_simple(request, is_full ? 507 : 500, is_full ? "disk_full" : "internal",
			     file.err.text, "");
	return -1;
}
