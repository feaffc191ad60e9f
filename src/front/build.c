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
	(void)query;
	return api_nothing_parse(buf_text(&conn->body), conn->body.len, err) < 0
		       ? (int)err->code
		       : build_target(conn, payload, err);
}
