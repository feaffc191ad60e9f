/*
 * request.c - what a client asks, as a frame.
 *
 * Runs in:  reckon-front.
 * Reads:    heads and bodies of anybody.
 * Never:    passes on what it did not check: types, names and bounds are judged here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "codec/api.h"
#include "front/front.h"

#define FRAME_MAX ((size_t)FRONT_CODE_MAX + 64 * 1024)

/* ---- the head ------------------------------------------------------------------------------- */

static int take_json(struct http *http, const char *bytes, size_t len, void *arg)
{
	struct conn *conn = arg;
	struct err err;

	if (buf_add(&conn->body, bytes, len, &err) < 0)
		return http_refuse(http, 413, ERR_LIMIT, "%s", err.text);
	return 0;
}

static int take_upload(struct http *http, const char *bytes, size_t len, void *arg)
{
	struct conn *conn = arg;
	struct err err;

	if (fd_write_full(conn->upload, bytes, len, &err) == 0)
		return 0;
	return http_refuse(http, err.errnum == ENOSPC || err.errnum == EDQUOT ? 507 : 500,
			   ERR_LIMIT, "the upload could not be kept: %s", err.text);
}

static void ask(struct conn *conn, enum front_type type, struct buf *payload,
		enum conn_state state)
{
	struct err err;

	conn->state = state;
	loop_timer_clear(conn->timer);
	if (trail_pack(conn, payload, &err) < 0) {
		conn_abort(conn);
		return;
	}
	upstream_ask(conn, type, payload);
}

static int build(struct conn *conn, struct buf *payload, struct err *err)
{
	const struct endpoint *endpoint = conn->target.endpoint;
	struct query query;

	conn->want_first = conn->want_length = 0;
	if (query_take(conn, endpoint->query, &query, err) < 0)
		return (int)err->code;
	return endpoint->build(conn, &query, payload, err);
}

static void begin_upload(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	struct err err;

	if (build(conn, &payload, &err) < 0) {
		reply_err(conn, 400, &err);
		return;
	}
	conn->http.body_fn = take_upload;
	conn->http.body_arg = conn;
	ask(conn, conn->target.endpoint->type, &payload, CONN_AUTH);
	conn->ticket = conn->waiting;
}

bool request_takes_json(const struct conn *conn)
{
	return (conn->http.verb & (HTTP_VERB_POST | HTTP_VERB_PATCH)) != 0;
}

static void begin_json(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	const char *type = http_header(&conn->http, "content-type");
	struct err err;

	conn->http.body_max = API_BODY_MAX;
	conn->http.body_fn = take_json;
	conn->http.body_arg = conn;
	if (conn->http.length > API_BODY_MAX) {
		reply_error(conn, 413, "body_too_large", "the body is longer than 8 MiB", "",
			    "put large data into files: PUT .../files/PATH", 0);
		return;
	}
	if (type != NULL && strncasecmp(type, "application/json", 16) != 0 &&
	    strncasecmp(type, "application/x-www-form-urlencoded", 33) != 0) {
		reply_error(conn, 415, "unsupported_media_type", "the body must be JSON", "",
			    "send Content-Type: application/json", 0);
		return;
	}
	if (!conn->http.is_chunked && conn->http.length <= BODY_BEFORE_AUTH) {
		conn_read_body(conn);
		return;
	}
	if (build_key(conn, &payload, &err) == 0)
		ask(conn, FRONT_AUTH, &payload, CONN_AUTH);
}

static void refuse_verb(struct conn *conn)
{
	static const struct {
		enum http_verb verb;
		const char *name;
	} names[] = { { HTTP_VERB_GET, "GET" },	  { HTTP_VERB_HEAD, "HEAD" },
		      { HTTP_VERB_POST, "POST" },
		      { HTTP_VERB_PUT, "PUT" },	  { HTTP_VERB_PATCH, "PATCH" },
		      { HTTP_VERB_DELETE, "DELETE" } };
	cleanup_buf struct buf json = BUF_INIT(4096);
	char allow[96] = "Allow";
	const char *between = ": ";
	size_t used = strlen(allow);
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if ((conn->target.verbs & names[i].verb) != 0) {
			used += (size_t)snprintf(allow + used, sizeof(allow) - used, "%s%s", between,
						 names[i].name);
			between = ", ";
		}
	(void)snprintf(allow + used, sizeof(allow) - used, "\r\n");
	if (shape_error("method_not_allowed", "this method does nothing here", "",
			"the Allow header names what does", &json, &err) < 0)
		conn_abort(conn);
	reply_head(conn, 405, "application/json", json.len, allow);
	conn_write(conn, json.data, json.len);
	conn_finish(conn);
}

/* Of an address that guesses, no key is looked at but those that were good. */
static bool may_ask(const struct conn *conn)
{
	char key[FRONT_KEY_MAX + 1];

	if (target_is_open(&conn->target))
		return true;
	build_key_text(conn, key);
	return key[0] == '\0' || guess_may_ask(conn->front->guess, &conn->peer, key);
}

void request_head(struct conn *conn)
{
	const char *expect = http_header(&conn->http, "expect");
	struct err err;
	const int found = endpoint_find(conn->http.verb, conn->http.path, &conn->target, &err);

	conn->is_head = conn->http.verb == HTTP_VERB_HEAD;
	conn->http.body_max = 0;
	trail_begin(conn);
	if (found < 0) {
		reply_err(conn, found == ERR_NOT_FOUND ? 404 : 400, &err);
	} else if (conn->target.endpoint == NULL) {
		refuse_verb(conn);
	} else if (!may_ask(conn)) {
		reply_error(conn, 429, "too_many_attempts",
			    "too many unknown keys came from this address", "",
			    "use a key that is known, or wait", 1);
	} else if (expect != NULL && strcasecmp(expect, "100-continue") != 0) {
		reply_error(conn, 417, "invalid", "an expectation that is not known", "", "", 0);
	} else if (conn->target.endpoint->kind == ENDPOINT_UPLOAD) {
		begin_upload(conn);
	} else if (request_takes_json(conn)) {
		begin_json(conn);
	} else {
		conn_read_body(conn);
	}
}

/* ---- the whole request ---------------------------------------------------------------------- */

static void commit_upload(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	struct err err;

	(void)close(TAKE_FD(conn->upload));
	if (front_pack_u64(&payload, FRONT_TAG_TICKET, conn->ticket, &err) < 0) {
		reply_err(conn, 500, &err);
		return;
	}
	conn->ticket = 0;
	ask(conn, FRONT_FILE_COMMIT, &payload, CONN_WAIT);
}

static void answer_document(struct conn *conn)
{
	reply_head(conn, 200, "application/json", openapi_json_len, "");
	conn_write(conn, openapi_json, openapi_json_len);
	conn_finish(conn);
}

void request_done(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	const struct endpoint *endpoint = conn->target.endpoint;
	struct err err;

	if (conn->upload >= 0) {
		commit_upload(conn);
	} else if (endpoint->kind == ENDPOINT_DOCUMENT) {
		answer_document(conn);
	} else if (endpoint->kind == ENDPOINT_CALL) {
		call_ask(conn);
	} else if (build(conn, &payload, &err) < 0) {
		reply_err(conn, 400, &err);
	} else {
		buf_done(&conn->body);
		conn->body = BUF_INIT(API_BODY_MAX);
		ask(conn, endpoint->type, &payload, CONN_WAIT);
		if (conn->wants_events || endpoint->kind == ENDPOINT_EVENTS)
			conn->holds = conn->waiting;
		if (endpoint->kind == ENDPOINT_EVENTS) {
			loop_timer_set(conn->timer, EVENTS_FIRST_MS);
			conn->state = CONN_EVENTS;
		}
	}
}
