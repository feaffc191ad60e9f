/*
 * sse.c - streamed answers, and server-sent events: `id: N`, `event: NAME`, `data: …` on one line,
 * an empty line.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    events from the dialect.
 * Never:    accepts more events before the client has read the earlier ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "httpd/server.h"

int stream_begin(struct request *request, const char *media, const char *headers)
{
	struct conn *conn = conn_of(request);

	request->at_eof = AT_EOF_GONE_STREAM;
	/* The first heartbeat may come before the head was sent: that the client has read nothing
	 * by then must not count against it. */
	conn->progress = 1;
	if (conn->read_ended)
		conn_abort(conn);
	return answer_begin(request, 200, media, HTTPD_LENGTH_UNKNOWN, headers);
}

int stream_beat(struct request *request, const void *bytes, size_t len)
{
	struct conn *conn = conn_of(request);
	const bool is_stuck = conn->out.len > conn->out_at && conn->progress == 0;

	if (is_stuck) {
		conn_abort(conn);
		return -1;
	}
	conn->progress = 0;
	return answer_write(request, bytes, len);
}

int sse_begin(struct request *request, const char *headers)
{
	return stream_begin(request, "text/event-stream", headers);
}

int sse_event(struct request *request, uint64_t id, const char *name, const char *data, size_t len)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, id);
	return sse_event_named(request, id != 0 ? text : NULL, name, data, len);
}

int sse_event_named(struct request *request, const char *id, const char *name, const char *data,
		    size_t len)
{
	cleanup_buf struct buf text = BUF_INIT(len + SSE_ID_MAX + 256);
	struct err err;

	if ((id != NULL && buf_addf(&text, &err, "id: %.*s\n", (int)SSE_ID_MAX, id) < 0) ||
	    (name != NULL && buf_addf(&text, &err, "event: %s\n", name) < 0) ||
	    buf_adds(&text, "data: ", &err) < 0 || buf_add(&text, data, len, &err) < 0 ||
	    buf_adds(&text, "\n\n", &err) < 0) {
		answer_break_off(request);
		return -1;
	}
	return answer_write(request, text.data, text.len);
}

int sse_beat(struct request *request)
{
	static const char beat[] = ": still running\n\n";

	return stream_beat(request, beat, sizeof(beat) - 1);
}
