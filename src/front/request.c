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

/* What a query may say. */
struct query {
	uint64_t limit, after, offset, length;
	char before[FRONT_ID_MAX + 1];
};

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

/* The presented key, or "" when there is none or it is no bearer token. */
static void key_of(const struct conn *conn, char ret[FRONT_KEY_MAX + 1])
{
	const char *value = http_header(&conn->http, "authorization");

	ret[0] = '\0';
	if (value == NULL || strncasecmp(value, "bearer ", 7) != 0)
		return;
	value += 7;
	while (*value == ' ')
		value++;
	if (strlen(value) <= FRONT_KEY_MAX)
		(void)snprintf(ret, FRONT_KEY_MAX + 1, "%s", value);
}

static int pack_key(const struct conn *conn, struct buf *payload, struct err *err)
{
	char key[FRONT_KEY_MAX + 1];

	key_of(conn, key);
	return front_pack_text(payload, FRONT_TAG_KEY, key, err);
}

static int pack_session(const struct conn *conn, struct buf *payload, struct err *err)
{
	if (pack_key(conn, payload, err) < 0)
		return (int)err->code;
	return front_pack_text(payload, FRONT_TAG_SESSION, conn->target.session, err);
}

static void ask(struct conn *conn, enum front_type type, const struct buf *payload,
		enum conn_state state)
{
	conn->state = state;
	loop_timer_clear(conn->timer);
	upstream_ask(conn, type, payload);
}

static void begin_upload(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	struct err err;

	if (pack_session(conn, &payload, &err) < 0 ||
	    front_pack_text(&payload, FRONT_TAG_PATH, conn->target.path, &err) < 0 ||
	    front_pack_u64(&payload, FRONT_TAG_SIZE, conn->http.length, &err) < 0) {
		reply_err(conn, 400, &err);
		return;
	}
	conn->http.body_fn = take_upload;
	conn->http.body_arg = conn;
	ask(conn, FRONT_FILE_PUT, &payload, CONN_AUTH);
	conn->ticket = conn->waiting;
}

static bool takes_json(const struct conn *conn)
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
	if (pack_key(conn, &payload, &err) == 0)
		ask(conn, FRONT_AUTH, &payload, CONN_AUTH);
}

static void refuse_verb(struct conn *conn)
{
	static const struct {
		enum http_verb verb;
		const char *name;
	} names[] = { { HTTP_VERB_GET, "GET" },	  { HTTP_VERB_POST, "POST" },
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

void request_head(struct conn *conn)
{
	const char *expect = http_header(&conn->http, "expect");
	struct err err;
	const int found = route_find(conn->http.path, &conn->target, &err);

	conn->http.body_max = 0;
	if (conn->target.route == ROUTE_NONE || found < 0) {
		reply_err(conn, found == ERR_NOT_FOUND ? 404 : 400, &err);
	} else if ((conn->http.verb & conn->target.verbs) == 0) {
		refuse_verb(conn);
	} else if (expect != NULL && strcasecmp(expect, "100-continue") != 0) {
		reply_error(conn, 417, "invalid", "an expectation that is not known", "", "", 0);
	} else if (conn->http.verb == HTTP_VERB_PUT) {
		begin_upload(conn);
	} else if (takes_json(conn)) {
		begin_json(conn);
	} else {
		conn_read_body(conn);
	}
}

/* ---- queries -------------------------------------------------------------------------------- */

static int take_u64(const char *name, const char *value, uint64_t *ret, struct err *err)
{
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return err_set(err, ERR_INVALID, "%s must be a number", name);
	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (errno != 0 || *end != '\0')
		return err_set(err, ERR_INVALID, "%s must be a number", name);
	return 0;
}

/* Only the names in `known` (separated by spaces around each) are taken. */
static int take_query(const struct conn *conn, const char *known, struct query *ret,
		      struct err *err)
{
	const char *at = conn->http.query;
	char name[32], value[64], word[36];
	int more;

	memset(ret, 0, sizeof(*ret));
	while ((more = http_query_next(&at, name, sizeof(name), value, sizeof(value), err)) > 0) {
		int code = 0;

		(void)snprintf(word, sizeof(word), " %s ", name);
		if (strchr(name, ' ') != NULL || strstr(known, word) == NULL)
			return err_set(err, ERR_INVALID, "unknown parameter %.60s", name);
		if (strcmp(name, "limit") == 0)
			code = take_u64(name, value, &ret->limit, err);
		else if (strcmp(name, "after") == 0)
			code = take_u64(name, value, &ret->after, err);
		else if (strcmp(name, "offset") == 0)
			code = take_u64(name, value, &ret->offset, err);
		else if (strcmp(name, "length") == 0)
			code = take_u64(name, value, &ret->length, err);
		else if (strlen(value) == 0 || strlen(value) > FRONT_ID_MAX)
			code = err_set(err, ERR_INVALID, "before must be an id");
		else
			(void)snprintf(ret->before, sizeof(ret->before), "%s", value);
		if (code < 0)
			return code;
	}
	return more;
}

static int pack_list(struct buf *payload, const struct query *query, struct err *err)
{
	if (query->before[0] != '\0' &&
	    front_pack_text(payload, FRONT_TAG_BEFORE, query->before, err) < 0)
		return (int)err->code;
	if (query->limit != 0)
		return front_pack_u64(payload, FRONT_TAG_LIMIT, query->limit, err);
	return 0;
}

/* ---- bodies --------------------------------------------------------------------------------- */

static int pack_session_body(struct conn *conn, const struct api_session *body,
			     struct buf *payload, struct err *err)
{
	const struct front_limits limits = {
		body->limits.wall_ms,	 body->limits.cpu_ms,	  body->limits.memory_bytes,
		body->limits.disk_bytes, body->limits.inodes,	  body->limits.file_bytes,
		body->limits.output_bytes, body->limits.pids,	  body->limits.cpu_percent,
		body->limits.displays,
	};
	const char *env = buf_text(&body->env);
	const bool is_patch = conn->http.verb == HTTP_VERB_PATCH;

	if ((is_patch ? pack_session(conn, payload, err) : pack_key(conn, payload, err)) < 0)
		return (int)err->code;
	if (body->template_name != NULL &&
	    front_pack_text(payload, FRONT_TAG_TEMPLATE, body->template_name, err) < 0)
		return (int)err->code;
	if (body->language != NULL &&
	    front_pack_text(payload, FRONT_TAG_LANGUAGE, body->language, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < body->env_count; i++, env += strlen(env) + 1)
		if (front_pack_text(payload, FRONT_TAG_ENV, env, err) < 0)
			return (int)err->code;
	if (body->has_metadata && front_pack(payload, FRONT_TAG_METADATA, body->metadata.data,
					     body->metadata.len, err) < 0)
		return (int)err->code;
	if (body->has_idle && front_pack_u64(payload, FRONT_TAG_IDLE_MS, body->idle_ms, err) < 0)
		return (int)err->code;
	return is_patch ? 0 : front_pack(payload, FRONT_TAG_LIMITS, &limits, sizeof(limits), err);
}

static int build_session(struct conn *conn, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_session_done))) struct api_session body;

	if (api_session_parse(buf_text(&conn->body), conn->body.len,
			      conn->http.verb == HTTP_VERB_PATCH, &body, err) < 0)
		return (int)err->code;
	return pack_session_body(conn, &body, payload, err);
}

static int pack_idempotency(const struct conn *conn, struct buf *payload, struct err *err)
{
	const char *key = http_header(&conn->http, "idempotency-key");
	const size_t len = key != NULL ? strlen(key) : 0;

	if (key == NULL)
		return 0;
	if (len == 0 || len > FRONT_KEY_MAX)
		return err_set(err, ERR_INVALID, "Idempotency-Key must have 1 to %u characters",
			       FRONT_KEY_MAX);
	return front_pack(payload, FRONT_TAG_IDEMPOTENCY, key, len, err);
}

static int build_execute(struct conn *conn, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_execute_done))) struct api_execute body;
	const char *accept = http_header(&conn->http, "accept");

	if (api_execute_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0)
		return (int)err->code;
	conn->wants_events = body.stream || (!body.background && accept != NULL &&
					     strcasecmp(accept, "text/event-stream") == 0);
	conn->wants_record = !body.background;
	if (pack_session(conn, payload, err) < 0 ||
	    front_pack(payload, FRONT_TAG_CODE, body.code, body.code_len, err) < 0 ||
	    pack_idempotency(conn, payload, err) < 0)
		return (int)err->code;
	if (body.timeout_ms != 0 &&
	    front_pack_u64(payload, FRONT_TAG_TIMEOUT_MS, body.timeout_ms, err) < 0)
		return (int)err->code;
	if (body.text_bytes != 0 &&
	    front_pack_u64(payload, FRONT_TAG_TEXT_BYTES, body.text_bytes, err) < 0)
		return (int)err->code;
	if (body.background || conn->wants_events)
		return front_pack(payload, FRONT_TAG_BACKGROUND, "", 0, err);
	return 0;
}

static int build_complete(struct conn *conn, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_execute_done))) struct api_execute body;

	if (api_complete_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    pack_session(conn, payload, err) < 0 ||
	    front_pack(payload, FRONT_TAG_CODE, body.code, body.code_len, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_CURSOR, body.cursor, err);
}

static int build_events(struct conn *conn, const struct query *query, struct buf *payload,
			struct err *err)
{
	const char *last = http_header(&conn->http, "last-event-id");

	conn->last_event = query->after;
	if (last != NULL && take_u64("Last-Event-ID", last, &conn->last_event, err) < 0)
		return (int)err->code;
	if (pack_session(conn, payload, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_EXECUTION, conn->target.execution, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_AFTER, conn->last_event, err);
}

/* ---- the whole request ---------------------------------------------------------------------- */

static enum front_type type_of(const struct conn *conn)
{
	const enum http_verb verb = conn->http.verb;

	switch (conn->target.route) {
	case ROUTE_SESSIONS:
		return verb == HTTP_VERB_POST ? FRONT_SESSION_CREATE : FRONT_SESSION_LIST;
	case ROUTE_SESSION:
		if (verb == HTTP_VERB_PATCH)
			return FRONT_SESSION_PATCH;
		return verb == HTTP_VERB_DELETE ? FRONT_SESSION_DELETE : FRONT_SESSION_SHOW;
	case ROUTE_EXECUTIONS:
		return verb == HTTP_VERB_POST ? FRONT_EXECUTE : FRONT_EXECUTION_LIST;
	case ROUTE_EXECUTION:
		return FRONT_EXECUTION_SHOW;
	case ROUTE_EVENTS:
		return FRONT_EVENTS;
	case ROUTE_INTERRUPT:
		return FRONT_INTERRUPT;
	case ROUTE_VARIABLES:
		return FRONT_VARIABLES;
	case ROUTE_COMPLETE:
		return FRONT_COMPLETE;
	case ROUTE_FILES:
		return FRONT_FILE_LIST;
	case ROUTE_FILE:
		return verb == HTTP_VERB_DELETE ? FRONT_FILE_DELETE : FRONT_FILE_GET;
	case ROUTE_ARTIFACT:
		return FRONT_ARTIFACT_GET;
	case ROUTE_HEALTH:
	case ROUTE_OPENAPI:
	case ROUTE_NONE:
		break;
	}
	return FRONT_HEALTH;
}

static int build_rest(struct conn *conn, struct buf *payload, struct err *err)
{
	const enum route_id route = conn->target.route;
	const bool is_list = route == ROUTE_SESSIONS || route == ROUTE_EXECUTIONS;
	const char *known = is_list			? " limit before "
			    : route == ROUTE_EVENTS	? " after "
			    : route == ROUTE_ARTIFACT	? " offset length "
							: "";
	struct query query;

	if (take_query(conn, known, &query, err) < 0)
		return (int)err->code;
	if (route == ROUTE_HEALTH)
		return 0;
	if (route == ROUTE_EVENTS)
		return build_events(conn, &query, payload, err);
	if (route == ROUTE_ARTIFACT) {
		conn->want_first = query.offset;
		conn->want_length = query.length;
		if (pack_key(conn, payload, err) < 0)
			return (int)err->code;
		return front_pack_text(payload, FRONT_TAG_HANDLE, conn->target.handle, err);
	}
	if (route == ROUTE_SESSIONS)
		return pack_key(conn, payload, err) < 0 ? (int)err->code
							: pack_list(payload, &query, err);
	if (pack_session(conn, payload, err) < 0)
		return (int)err->code;
	if (route == ROUTE_EXECUTIONS)
		return pack_list(payload, &query, err);
	if (route == ROUTE_EXECUTION)
		return front_pack_text(payload, FRONT_TAG_EXECUTION, conn->target.execution, err);
	if (route == ROUTE_FILE)
		return front_pack_text(payload, FRONT_TAG_PATH, conn->target.path, err);
	return 0;
}

static int build(struct conn *conn, enum front_type type, struct buf *payload, struct err *err)
{
	/* POST interrupt has nothing to say; a body is read as an object without fields. */
	struct api_session none;
	int code;

	if (takes_json(conn) && conn->http.query[0] != '\0')
		return err_set(err, ERR_INVALID, "unknown parameter %.60s", conn->http.query);
	switch (conn->target.route) {
	case ROUTE_SESSIONS:
	case ROUTE_SESSION:
		return takes_json(conn) ? build_session(conn, payload, err)
					: build_rest(conn, payload, err);
	case ROUTE_EXECUTIONS:
		return type == FRONT_EXECUTE ? build_execute(conn, payload, err)
					     : build_rest(conn, payload, err);
	case ROUTE_COMPLETE:
		return build_complete(conn, payload, err);
	case ROUTE_INTERRUPT:
		code = api_session_parse(buf_text(&conn->body), conn->body.len, true, &none, err);
		if (code == 0 && (none.has_metadata || none.has_idle))
			code = err_set(err, ERR_INVALID, "interrupt takes no fields");
		api_session_done(&none);
		return code < 0 ? code : pack_session(conn, payload, err);
	case ROUTE_HEALTH:
	case ROUTE_OPENAPI:
	case ROUTE_EXECUTION:
	case ROUTE_EVENTS:
	case ROUTE_VARIABLES:
	case ROUTE_FILES:
	case ROUTE_FILE:
	case ROUTE_ARTIFACT:
	case ROUTE_NONE:
		break;
	}
	return build_rest(conn, payload, err);
}

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

void request_done(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	const enum front_type type = type_of(conn);
	struct err err;

	if (conn->upload >= 0) {
		commit_upload(conn);
		return;
	}
	if (conn->target.route == ROUTE_OPENAPI) {
		reply_head(conn, 200, "application/json", openapi_json_len, "");
		conn_write(conn, openapi_json, openapi_json_len);
		conn_finish(conn);
		return;
	}
	if (build(conn, type, &payload, &err) < 0) {
		reply_err(conn, 400, &err);
		return;
	}
	buf_done(&conn->body);
	conn->body = BUF_INIT(API_BODY_MAX);
	ask(conn, type, &payload, CONN_WAIT);
	if (type == FRONT_EVENTS)
		loop_timer_set(conn->timer, EVENTS_FIRST_MS);
	if (type == FRONT_EVENTS)
		conn->state = CONN_EVENTS;
}
