/*
 * build.c - what a client asks, as fields of a frame.
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

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/api.h"
#include "front/front.h"

/* The presented key, or "" when there is none or it is no bearer token. */
void build_key_text(const struct conn *conn, char ret[FRONT_KEY_MAX + 1])
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

int build_key(const struct conn *conn, struct buf *payload, struct err *err)
{
	char key[FRONT_KEY_MAX + 1];

	build_key_text(conn, key);
	return front_pack_text(payload, FRONT_TAG_KEY, key, err);
}

/* The key and whatever the path names. */
int build_target(const struct conn *conn, struct buf *payload, struct err *err)
{
	const struct target *target = &conn->target;
	const struct {
		enum front_tag tag;
		const char *text;
	} names[] = {
		{ FRONT_TAG_SESSION, target->session }, { FRONT_TAG_EXECUTION, target->execution },
		{ FRONT_TAG_HANDLE, target->handle },	{ FRONT_TAG_ID, target->id },
		{ FRONT_TAG_PATH, target->path },
	};

	if (build_key(conn, payload, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].text != NULL && names[i].text[0] != '\0' &&
		    front_pack_text(payload, names[i].tag, names[i].text, err) < 0)
			return (int)err->code;
	return 0;
}

int build_in_session(struct conn *conn, const struct query *query, struct buf *payload,
		     struct err *err)
{
	(void)query;
	return build_target(conn, payload, err);
}

int build_list(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	if (build_target(conn, payload, err) < 0)
		return (int)err->code;
	if (query->before[0] != '\0' &&
	    front_pack_text(payload, FRONT_TAG_BEFORE, query->before, err) < 0)
		return (int)err->code;
	if (query->tenant[0] != '\0' &&
	    front_pack_text(payload, FRONT_TAG_TENANT, query->tenant, err) < 0)
		return (int)err->code;
	if (query->name[0] != '\0' &&
	    front_pack_text(payload, FRONT_TAG_SESSION_NAME, query->name, err) < 0)
		return (int)err->code;
	if (query->limit != 0)
		return front_pack_u64(payload, FRONT_TAG_LIMIT, query->limit, err);
	return 0;
}

int build_upload(struct conn *conn, const struct query *query, struct buf *payload,
		 struct err *err)
{
	(void)query;
	if (build_target(conn, payload, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_SIZE, conn->http.length, err);
}

int build_artifact(struct conn *conn, const struct query *query, struct buf *payload,
		   struct err *err)
{
	conn->want_first = query->offset;
	conn->want_length = query->length;
	return build_target(conn, payload, err);
}

/* ---- bodies --------------------------------------------------------------------------------- */

static int pack_expiry(const struct api_session *body, struct buf *payload, struct err *err)
{
	const uint64_t now = clock_wall_ms();
	uint64_t at = body->expires_at_ms;

	if (!body->has_expiry)
		return 0;
	if (at != 0 && at <= now)
		return err_set(err, ERR_INVALID, "expires_at is over already");
	if (at > now + API_EXPIRES_MS_MAX)
		return err_set(err, ERR_INVALID, "expires_at is more than a year away");
	if (body->expires_in_ms != 0)
		at = now + body->expires_in_ms;
	return front_pack_u64(payload, FRONT_TAG_ENDS_MS, at, err);
}

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

	if (build_target(conn, payload, err) < 0)
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
	if (body->name != NULL &&
	    front_pack_text(payload, FRONT_TAG_SESSION_NAME, body->name, err) < 0)
		return (int)err->code;
	if (body->has_metadata && front_pack(payload, FRONT_TAG_METADATA, body->metadata.data,
					     body->metadata.len, err) < 0)
		return (int)err->code;
	if (body->has_idle && front_pack_u64(payload, FRONT_TAG_IDLE_MS, body->idle_ms, err) < 0)
		return (int)err->code;
	if (body->isolate_cpu != 0 &&
	    front_pack_u64(payload, FRONT_TAG_POLICY, body->isolate_cpu, err) < 0)
		return (int)err->code;
	if (pack_expiry(body, payload, err) < 0)
		return (int)err->code;
	return is_patch && !body->has_limits ? 0 : front_pack(payload, FRONT_TAG_LIMITS, &limits, sizeof(limits), err);
}

int build_session(struct conn *conn, const struct query *query, struct buf *payload,
	           struct err *err)
{
	__attribute__((cleanup(api_session_done))) struct api_session body;

	(void)query;
	if (api_session_parse(buf_text(&conn->body), conn->body.len,
			      conn->http.verb == HTTP_VERB_PATCH, &body, err) < 0)
		return (int)err->code;
	return pack_session_body(conn, &body, payload, err);
}

int build_pack_context(const char *context, struct buf *payload, struct err *err)
{
	/* What no id can be is one that does not exist. */
	if (context != NULL && (context[0] == '\0' || strlen(context) > FRONT_ID_MAX))
		context = "-";
	return context != NULL ? front_pack_text(payload, FRONT_TAG_CONTEXT, context, err) : 0;
}

int build_idempotency(const struct conn *conn, struct buf *payload, struct err *err)
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

int build_leave(const struct api_leave *leave, struct buf *payload, struct err *err)
{
	if (leave->policy != API_LEAVE_UNSAID &&
	    front_pack_u64(payload, FRONT_TAG_ON_DISCONNECT,
			   leave->policy == API_LEAVE_CANCEL ? FRONT_DISCONNECT_CANCEL
							     : FRONT_DISCONNECT_CONTINUE,
			   err) < 0)
		return (int)err->code;
	return leave->has_grace ? front_pack_u64(payload, FRONT_TAG_GRACE_MS, leave->grace_ms, err)
				: 0;
}

static int pack_code(const struct api_execute *body, struct buf *payload, struct err *err)
{
	if (front_pack(payload, FRONT_TAG_CODE, body->code, body->code_len, err) < 0 ||
	    (body->timeout_ms != 0 &&
	     front_pack_u64(payload, FRONT_TAG_TIMEOUT_MS, body->timeout_ms, err) < 0))
		return (int)err->code;
	return body->text_bytes != 0
		       ? front_pack_u64(payload, FRONT_TAG_TEXT_BYTES, body->text_bytes, err)
		       : 0;
}

int build_execute(struct conn *conn, const struct query *query, struct buf *payload,
	           struct err *err)
{
	__attribute__((cleanup(api_execute_done))) struct api_execute body;
	const char *accept = http_header(&conn->http, "accept");

	(void)query;
	if (api_execute_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0)
		return (int)err->code;
	conn->wants_events = body.stream || (!body.background && accept != NULL &&
					     strcasecmp(accept, "text/event-stream") == 0);
	conn->wants_record = !body.background;
	conn->ends_at_eof = body.leave.policy == API_LEAVE_CANCEL;
	if (build_target(conn, payload, err) < 0 ||
	    build_leave(&body.leave, payload, err) < 0 || pack_code(&body, payload, err) < 0 ||
	    build_idempotency(conn, payload, err) < 0 ||
	    build_pack_context(body.context, payload, err) < 0 ||
	    (body.language != NULL &&
	     front_pack_text(payload, FRONT_TAG_LANGUAGE, body.language, err) < 0))
		return (int)err->code;
	if (body.background || conn->wants_events)
		return front_pack(payload, FRONT_TAG_BACKGROUND, "", 0, err);
	return 0;
}

int build_once(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_session_done))) struct api_session session;
	__attribute__((cleanup(api_execute_done))) struct api_execute body;

	(void)query;
	if (api_once_parse(buf_text(&conn->body), conn->body.len, &session, &body, err) < 0)
		return (int)err->code;
	/* Without a key nobody else can have its record, or knows of its session. */
	conn->ends_at_eof = http_header(&conn->http, "idempotency-key") == NULL;
	if (pack_session_body(conn, &session, payload, err) < 0 ||
	    build_idempotency(conn, payload, err) < 0 ||
	    (body.keep && front_pack(payload, FRONT_TAG_KEEP, "", 0, err) < 0))
		return (int)err->code;
	return pack_code(&body, payload, err);
}

int build_events(struct conn *conn, const struct query *query, struct buf *payload,
		 struct err *err)
{
	const char *last = http_header(&conn->http, "last-event-id");

	conn->last_event = query->after;
	if (last != NULL && query_u64("Last-Event-ID", last, &conn->last_event, err) < 0)
		return (int)err->code;
	if (build_target(conn, payload, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_AFTER, conn->last_event, err);
}


int build_empty(struct conn *conn, const struct query *query, struct buf *payload,
		struct err *err)
{
	/* An object without fields: what PATCH may hold, and nothing of it. */
	__attribute__((cleanup(api_session_done))) struct api_session none;

	(void)query;
	if (api_session_parse(buf_text(&conn->body), conn->body.len, true, &none, err) < 0)
		return (int)err->code;
	if (none.has_metadata || none.has_idle || none.has_expiry || none.has_limits)
		return err_set(err, ERR_INVALID, "no fields are taken here");
	return build_target(conn, payload, err);
}

int build_audit(struct conn *conn, const struct query *query, struct buf *payload,
		struct err *err)
{
	if (build_list(conn, query, payload, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_AFTER, query->after, err);
}
