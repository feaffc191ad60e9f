/*
 * stream.c - answers that come piece by piece: events (SSE) and files.
 *
 * Runs in:  reckon-front.
 * Reads:    events of hostile programs, as JSON that libreckon wrote; files of hostile boxes.
 * Never:    fetches more before the client has taken what there is.
 *
 * Each event is `id: N`, `event: NAME`, `data: JSON` on one line. A reader who fell behind the
 * ring gets `event: gap` with the number that is missing; an execution without a record ends with
 * `event: failed`. Comments keep a silent stream open.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "front/front.h"

/* ---- files ---------------------------------------------------------------------------------- */

void stream_file(struct conn *conn)
{
	char *chunk = conn->front->chunk;
	const size_t want = conn->file_left < CONN_AHEAD_MAX ? (size_t)conn->file_left
							     : CONN_AHEAD_MAX;
	ssize_t n;

	do
		n = pread(conn->file, chunk, want, (off_t)conn->file_at);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		/* The box made it shorter meanwhile: a client has to see that it is not whole. */
		conn_abort(conn);
		return;
	}
	conn->file_at += (uint64_t)n;
	conn->file_left -= (uint64_t)n;
	conn_write(conn, chunk, (size_t)n);
}

void stream_wrapped(struct conn *conn, const char *wrap, int fd, uint64_t size)
{
	cleanup_buf struct buf json = BUF_INIT(CONN_OUT_MAX);
	cleanup_fd int file = fd;
	struct err err;
	char *space;
	ssize_t n = 0;

	if (buf_addf(&json, &err, "{\"%s\":", wrap) == 0 &&
	    buf_reserve(&json, (size_t)size + 1, &space, &err) == 0)
		n = pread(file, space, (size_t)size, 0);
	if (n <= 0 || (uint64_t)n != size) {
		conn_abort(conn);
		return;
	}
	json.len += (size_t)n;
	if (buf_addc(&json, '}', &err) == 0)
		reply_json(conn, 200, &json);
	else
		conn_abort(conn);
}

/* ---- events --------------------------------------------------------------------------------- */

static void send_head(struct conn *conn, const char *extra)
{
	if (conn->head_sent)
		return;
	conn->head_sent = true;
	conn->is_chunked = conn->http.minor == 1;
	if (!conn->is_chunked)
		conn->http.keep_alive = false;
	reply_head(conn, 200, "text/event-stream", UINT64_MAX, extra);
}

static void send_piece(struct conn *conn, const char *bytes, size_t len)
{
	if (len == 0)
		return;
	if (conn->is_chunked)
		conn_writef(conn, "%zx\r\n", len);
	conn_write(conn, bytes, len);
	if (conn->is_chunked)
		conn_write(conn, "\r\n", 2);
}

/* Whose events they are. */
static int pack_source(const struct conn *conn, struct buf *payload, struct err *err)
{
	if (conn->follows_run)
		return front_pack_text(payload, FRONT_TAG_ID, conn->target.id, err);
	if (front_pack_text(payload, FRONT_TAG_SESSION, conn->target.session, err) < 0)
		return (int)err->code;
	return front_pack_text(payload, FRONT_TAG_EXECUTION, conn->target.execution, err);
}

static void ask_events(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	const char *value = http_header(&conn->http, "authorization");
	struct err err;

	/* The key was good when the stream began; it is looked at again each time. */
	value = value != NULL && strlen(value) > 7 ? value + 7 + strspn(value + 7, " ") : "";
	if (front_pack_text(&payload, FRONT_TAG_KEY, value, &err) < 0 ||
	    pack_source(conn, &payload, &err) < 0 ||
	    front_pack_u64(&payload, FRONT_TAG_AFTER, conn->last_event, &err) < 0) {
		conn_abort(conn);
		return;
	}
	upstream_ask(conn, conn->follows_run ? FRONT_RUN_EVENTS : FRONT_EVENTS, &payload);
	loop_timer_set(conn->timer, EVENTS_BEAT_MS);
}

static void begin(struct conn *conn, const char *extra)
{
	conn->state = CONN_EVENTS;
	conn->last_event = 0;
	send_head(conn, extra);
	conn_flush(conn); /* which asks for the first events, when the head has gone */
}

void stream_begin(struct conn *conn, const char *execution)
{
	char extra[256];

	(void)snprintf(conn->target.execution, sizeof(conn->target.execution), "%s", execution);
	(void)snprintf(extra, sizeof(extra),
		       "Reckon-Execution: %s\r\nLocation: /reckon/v1/sessions/%s/executions/%s\r\n",
		       execution, conn->target.session, execution);
	begin(conn, extra);
}

void stream_begin_run(struct conn *conn, const char *run)
{
	char extra[160];

	(void)snprintf(conn->target.id, sizeof(conn->target.id), "%s", run);
	(void)snprintf(extra, sizeof(extra), "Reckon-Run: %s\r\nLocation: /reckon/v1/agent/%s\r\n",
		       run, run);
	conn->follows_run = true;
	begin(conn, extra);
}

static int add_event(const char *name, uint64_t id, const char *data, size_t len, struct buf *ret,
		     struct err *err)
{
	if ((id != 0 && buf_addf(ret, err, "id: %" PRIu64 "\n", id) < 0) ||
	    buf_addf(ret, err, "event: %s\ndata: ", name) < 0 || buf_add(ret, data, len, err) < 0)
		return (int)err->code;
	return buf_adds(ret, "\n\n", err);
}

static int add_failure(const struct kernel_item *items, size_t count, struct buf *ret,
		       struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(16384);
	char message[512] = "";
	unsigned status;
	const char *name = reply_error_name(
		(enum front_error)front_u64(items, count, FRONT_TAG_ERROR, 0), &status);

	(void)front_text(items, count, FRONT_TAG_MESSAGE, message, sizeof(message));
	if (shape_error(name, message, "", "", &json, err) < 0)
		return (int)err->code;
	return add_event("failed", 0, json.data, json.len, ret, err);
}

static int add_events(struct conn *conn, const struct kernel_item *items, size_t count,
		      struct buf *ret, struct err *err)
{
	const uint64_t gap = front_u64(items, count, FRONT_TAG_GAP, 0);
	char text[64], name[32] = "";
	uint64_t id = 0;

	if (gap > 0) {
		(void)snprintf(text, sizeof(text), "{\"event\":\"gap\",\"missing\":%" PRIu64 "}", gap);
		if (add_event("gap", 0, text, strlen(text), ret, err) < 0)
			return (int)err->code;
	}
	for (size_t i = 0; i < count; i++) {
		if (items[i].tag == FRONT_TAG_EVENT_ID)
			id = front_u64(items + i, 1, FRONT_TAG_EVENT_ID, 0);
		else if (items[i].tag == FRONT_TAG_EVENT_NAME)
			(void)front_text(items + i, 1, FRONT_TAG_EVENT_NAME, name, sizeof(name));
		else if (items[i].tag != FRONT_TAG_EVENT_DATA)
			continue;
		else if (add_event(name, id, items[i].data, items[i].len, ret, err) < 0)
			return (int)err->code;
		else
			conn->last_event = id;
	}
	return 0;
}

void stream_take(struct conn *conn, const struct front_head *head,
		 const struct kernel_item *items, size_t count)
{
	const bool failed = head->type != FRONT_REPLY ||
			    front_find(items, count, FRONT_TAG_ERROR) != NULL;
	const bool is_last =
		head->type != FRONT_REPLY || front_find(items, count, FRONT_TAG_END) != NULL;
	cleanup_buf struct buf text = BUF_INIT(CONN_OUT_MAX);
	struct err err;

	send_head(conn, "");
	if (add_events(conn, items, count, &text, &err) < 0 ||
	    (failed && is_last && add_failure(items, count, &text, &err) < 0)) {
		conn_abort(conn);
		return;
	}
	send_piece(conn, buf_text(&text), text.len);
	if (is_last) {
		if (conn->is_chunked)
			conn_write(conn, "0\r\n\r\n", 5);
		conn_finish(conn);
	} else {
		conn_flush(conn);
	}
}

void stream_more(struct conn *conn)
{
	if (conn->waiting == 0 && conn->head_sent)
		ask_events(conn);
}

void stream_beat(struct conn *conn)
{
	static const char beat[] = ": still running\n\n";

	/* Bytes that wait since the last beat: this client takes nothing. */
	if (conn->out.len > conn->out_at && conn->progress == 0) {
		conn_abort(conn);
		return;
	}
	conn->progress = 0;
	loop_timer_set(conn->timer, EVENTS_BEAT_MS);
	send_head(conn, "");
	if (conn->out.len == conn->out_at || conn->waiting != 0)
		send_piece(conn, beat, sizeof(beat) - 1);
	conn_flush(conn);
}
