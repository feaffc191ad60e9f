/*
 * reply.c - what reckond says, as HTTP.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    answers with anything but JSON when something is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "front/front.h"

#define MEDIA_BYTES "application/octet-stream"
#define JSON_MAX ((size_t)64 * 1024 * 1024)

static const struct {
	const char *name;
	unsigned status;
} errors[FRONT_ERR_COUNT_] = {
	[FRONT_ERR_INTERNAL] = { "internal", 500 },
	[FRONT_ERR_INVALID] = { "invalid", 400 },
	[FRONT_ERR_UNAUTHORIZED] = { "unauthorized", 401 },
	[FRONT_ERR_DENIED] = { "denied", 403 },
	[FRONT_ERR_NOT_FOUND] = { "not_found", 404 },
	[FRONT_ERR_SESSION_NOT_FOUND] = { "session_not_found", 404 },
	[FRONT_ERR_SESSION_CLOSED] = { "session_closed", 410 },
	[FRONT_ERR_SESSION_EXPIRED] = { "session_expired", 410 },
	[FRONT_ERR_SESSION_LOST] = { "session_lost", 410 },
	[FRONT_ERR_EXECUTION_NOT_FOUND] = { "execution_not_found", 404 },
	[FRONT_ERR_CONFLICT] = { "idempotency_conflict", 409 },
	[FRONT_ERR_BUSY] = { "busy", 429 },
	[FRONT_ERR_LIMIT] = { "limit", 413 },
	[FRONT_ERR_TIMEOUT] = { "timeout", 504 },
	[FRONT_ERR_UNAVAILABLE] = { "unavailable", 503 },
	[FRONT_ERR_KEY_EXPIRED] = { "key_expired", 401 },
	[FRONT_ERR_SCOPE] = { "scope_missing", 403 },
	[FRONT_ERR_TENANT_SUSPENDED] = { "tenant_suspended", 403 },
	[FRONT_ERR_TENANT_NOT_FOUND] = { "tenant_not_found", 404 },
	[FRONT_ERR_KEY_NOT_FOUND] = { "key_not_found", 404 },
	[FRONT_ERR_LAST_ADMIN_KEY] = { "last_admin_key", 409 },
	[FRONT_ERR_NAME_TAKEN] = { "name_taken", 409 },
	[FRONT_ERR_QUOTA] = { "quota_exceeded", 429 },
	[FRONT_ERR_QUOTA_CAP] = { "quota_exceeded", 403 },
	[FRONT_ERR_QUOTA_SIZE] = { "quota_exceeded", 413 },
	[FRONT_ERR_OVERLOADED] = { "overloaded", 503 },
	[FRONT_ERR_SESSION_EXISTS] = { "session_exists", 409 },
	[FRONT_ERR_DRAINING] = { "draining", 503 },
	[FRONT_ERR_NOT_READY] = { "not_ready", 503 },
	[FRONT_ERR_EXPIRED] = { "expired", 410 },
	[FRONT_ERR_KERNEL_LOST] = { "kernel_lost", 409 },
	[FRONT_ERR_PRECONDITION] = { "precondition_failed", 412 },
	[FRONT_ERR_EXISTS] = { "exists", 409 },
	[FRONT_ERR_LINK_GONE] = { "link_gone", 410 },
	[FRONT_ERR_CONTEXT_NOT_FOUND] = { "context_not_found", 404 },
	[FRONT_ERR_EXECUTION_LOST] = { "execution_lost", 410 },
	[FRONT_ERR_DISK_FULL] = { "disk_full", 507 },
	[FRONT_ERR_MODEL_MISSING] = { "model_missing", 409 },
	[FRONT_ERR_RUN_NOT_FOUND] = { "run_not_found", 404 },
	[FRONT_ERR_EXECUTION_CANCELLED] = { "execution_cancelled", 410 },
};

const char *reply_error_name(enum front_error error, unsigned *ret_status)
{
	if ((unsigned)error >= FRONT_ERR_COUNT_)
		error = FRONT_ERR_INTERNAL;
	*ret_status = errors[error].status;
	return errors[error].name;
}

static const char *reason_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *reason;
	} known[] = {
		{ 200, "OK" },		   { 201, "Created" },	     { 202, "Accepted" },
		{ 204, "No Content" },	   { 206, "Partial Content" }, { 400, "Bad Request" },
		{ 304, "Not Modified" },   { 412, "Precondition Failed" },
		{ 401, "Unauthorized" },   { 403, "Forbidden" },     { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 408, "Request Timeout" }, { 409, "Conflict" },
		{ 410, "Gone" },	   { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" }, { 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 501, "Not Implemented" }, { 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return known[i].reason;
	return "Status";
}

/* The name of an error that HTTP itself knows. */
static const char *name_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *name;
	} known[] = {
		{ 400, "invalid" },	   { 404, "not_found" },    { 413, "body_too_large" },
		{ 431, "head_too_large" }, { 501, "not_supported" }, { 505, "not_supported" },
		{ 507, "disk_full" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return known[i].name;
	return "internal";
}

void reply_head(struct conn *conn, unsigned status, const char *type, uint64_t length,
		const char *extra)
{
	const time_t now = time(NULL);
	char date[40] = "", framing[64], trail[192];
	struct tm tm;

	if (gmtime_r(&now, &tm) != NULL)
		(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	/* The rest of an unread body would be taken for the next request. */
	if (!conn->message_done)
		conn->http.keep_alive = false;
	if (length != UINT64_MAX)
		(void)snprintf(framing, sizeof(framing), "Content-Length: %" PRIu64 "\r\n",
			       length);
	else
		(void)snprintf(framing, sizeof(framing), "%s",
			       conn->is_chunked ? "Transfer-Encoding: chunked\r\n" : "");
	trail_answer(conn, status, trail, sizeof(trail));
	conn_writef(conn,
		    "HTTP/1.1 %u %s\r\nDate: %s\r\nContent-Type: %s\r\n%s", status,
		    reason_of(status), date, type, framing);
	conn_write(conn, extra, strlen(extra));
	conn_writef(conn,
		    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
		    "%sConnection: %s\r\n\r\n", trail,
		    conn->http.keep_alive ? "keep-alive" : "close");
	conn->is_muted = conn->is_head;
}

void reply_text(struct conn *conn, unsigned status, const char *media, const struct buf *text)
{
	reply_head(conn, status, media, text->len, "");
	conn_write(conn, buf_text(text), text->len);
	conn_finish(conn);
}

void reply_json(struct conn *conn, unsigned status, const struct buf *json)
{
	reply_text(conn, status, MEDIA_JSON, json);
}

void reply_error(struct conn *conn, unsigned status, const char *code, const char *message,
		 const char *cause, const char *remedy, unsigned retry_s)
{
	cleanup_buf struct buf json = BUF_INIT(16384);
	struct err err;

	if (shape_error(code, message, cause, remedy, &json, &err) < 0)
		conn_abort(conn);
	else
		reply_error_json(conn, status, &json, retry_s);
}

void reply_error_json(struct conn *conn, unsigned status, const struct buf *json,
		      unsigned retry_s)
{
	char extra[64] = "";

	if (status == 429 || status == 503)
		(void)snprintf(extra, sizeof(extra), "Retry-After: %u\r\n",
			       retry_s > 0 ? retry_s : 1);
	else if (status == 401)
		(void)snprintf(extra, sizeof(extra), "WWW-Authenticate: Bearer\r\n");
	reply_head(conn, status, "application/json", json->len, extra);
	conn_write(conn, json->data, json->len);
	conn_finish(conn);
}

void reply_err(struct conn *conn, unsigned status, const struct err *err)
{
	const char *remedy = err->remedy;

	if (remedy[0] == '\0' && (status == 404 || status == 400))
		remedy = "see GET /reckon/v1/openapi.json";
	reply_error(conn, status, name_of(status), err->text, "", remedy, 0);
}

static void take_error(struct conn *conn, const struct kernel_item *items, size_t count)
{
	cleanup_buf struct buf json = BUF_INIT(16384);
	char message[512] = "", cause[512] = "", remedy[256] = "";
	unsigned status;
	struct err err;
	const char *name = reply_error_name(
		(enum front_error)front_u64(items, count, FRONT_TAG_ERROR, FRONT_ERR_INTERNAL),
		&status);

	(void)front_text(items, count, FRONT_TAG_MESSAGE, message, sizeof(message));
	(void)front_text(items, count, FRONT_TAG_CAUSE, cause, sizeof(cause));
	(void)front_text(items, count, FRONT_TAG_REMEDY, remedy, sizeof(remedy));
	if (shape_error_more(name, message, cause, remedy, items, count, &json, &err) < 0)
		conn_abort(conn);
	else
		reply_error_json(conn, status, &json,
				 (unsigned)front_u64(items, count, FRONT_TAG_RETRY_S, 0));
}

void reply_json_file(struct conn *conn, unsigned status, const char *type, int fd,
		     uint64_t size)
{
	conn->file = fd;
	reply_head(conn, status, type, size, "");
	conn->file_at = 0;
	conn->file_left = conn->is_head ? 0 : size;
	conn_finish(conn);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void reply_body(struct conn *conn, unsigned status, const struct endpoint *endpoint,
		       const struct kernel_item *body)
{
	const char *wrap = endpoint->wrap;
	cleanup_buf struct buf json = BUF_INIT(FRONT_INLINE_MAX * 2);
	struct err err;

	if ((wrap != NULL && buf_addf(&json, &err, "{\"%s\":", wrap) < 0) ||
	    buf_add(&json, body->data, body->len, &err) < 0 ||
	    (wrap != NULL && buf_addc(&json, '}', &err) < 0))
		conn_abort(conn);
	else
		reply_text(conn, status, endpoint->media != NULL ? endpoint->media : MEDIA_JSON, &json);
}

static void reply_shape(struct conn *conn, unsigned status, shape_fn *shape,
			const struct kernel_item *items, size_t count)
{
	cleanup_buf struct buf json = BUF_INIT(JSON_MAX);
	struct err err;

	if (shape(items, count, &json, &err) < 0)
		reply_err(conn, 500, &err);
	else
		reply_json(conn, status, &json);
}

/* The key is good, or the file to write to is there: now the body may come. */
static void take_go_ahead(struct conn *conn, const struct kernel_item *items, size_t count, int fd)
{
	if (conn->target.endpoint->kind == ENDPOINT_UPLOAD) {
		conn->upload = fd;
		conn->http.body_max = front_u64(items, count, FRONT_TAG_SIZE, 0);
		if (fd < 0) {
			reply_error(conn, 500, "internal", "there is no file to write to", "", "", 0);
			return;
		}
	} else if (fd >= 0) {
		(void)close(fd);
	}
	conn_read_body(conn);
}

static void take_answer(struct conn *conn, const struct kernel_item *items, size_t count, int fd)
{
	const struct kernel_item *body = front_find(items, count, FRONT_TAG_BODY);
	const uint64_t size = front_u64(items, count, FRONT_TAG_SIZE, 0);
	const struct endpoint *endpoint = conn->target.endpoint;
	const unsigned status = conn->target.call != NULL ? conn->target.call->status
				: endpoint->status != 0	  ? endpoint->status
							  : 200;

	if (fd >= 0 && endpoint->wrap != NULL)
		stream_wrapped(conn, endpoint->wrap, fd, size);
	else if (fd >= 0 && endpoint->kind == ENDPOINT_BYTES)
		download_reply(conn, items, count, fd);
	else if (fd >= 0)
		reply_json_file(conn, status,
				endpoint->media != NULL ? endpoint->media : MEDIA_JSON, fd, size);
	else if (body != NULL)
		reply_body(conn, status, endpoint, body);
	else if (endpoint->take != NULL)
		endpoint->take(conn, items, count);
	else if (endpoint->shape != NULL)
		reply_shape(conn, status, endpoint->shape, items, count);
	else
		reply_error(conn, 500, "internal", "an answer without a body", "", "", 0);
}

/* Whether the key was known: any other answer than 401 says that it was. */
static void note_key(struct conn *conn, const struct front_head *head,
		     const struct kernel_item *items, size_t count)
{
	const bool is_wrong = head->type != FRONT_REPLY &&
			      front_u64(items, count, FRONT_TAG_ERROR, FRONT_ERR_INTERNAL) ==
				      FRONT_ERR_UNAUTHORIZED;
	char key[FRONT_KEY_MAX + 1];

	build_key_text(conn, key);
	if (key[0] == '\0')
		return;
	guess_learn(conn->front->guess, key, !is_wrong);
	if (is_wrong)
		guess_failed(conn->front->guess, &conn->peer);
}

void reply_take(struct conn *conn, const struct front_head *head, const struct kernel_item *items,
		size_t count, int fd)
{
	const struct kernel_item *body = front_find(items, count, FRONT_TAG_BODY);
	const struct endpoint *endpoint = conn->target.endpoint;

	if (fd >= 0 && (head->type != FRONT_REPLY || endpoint == NULL)) {
		(void)close(fd);
		fd = -1;
	}
	if (endpoint == NULL)
		return; /* nobody asked: only what named an endpoint waits */
	if (!target_is_open(&conn->target))
		note_key(conn, head, items, count);
	if (conn->state == CONN_EVENTS && (head->type == FRONT_REPLY || conn->head_sent)) {
		if (fd >= 0)
			(void)close(fd);
		stream_take(conn, head, items, count);
	} else if (head->type != FRONT_REPLY) {
		conn->ticket = 0;
		take_error(conn, items, count);
	} else if (conn->state == CONN_AUTH) {
		take_go_ahead(conn, items, count, fd);
	} else if (conn->target.call != NULL && fd < 0 && body == NULL) {
		call_answer(conn, buf_text(&conn->front->payload), conn->front->payload.len);
	} else {
		take_answer(conn, items, count, fd);
	}
}
