/*
 * follow.c - streamed answers: the events of an execution, a process or a run.
 *
 * Runs in:  reckon-front-native.
 * Reads:    events of hostile programs, as JSON that libreckon wrote.
 * Never:    fetches more before the client has read all earlier events.
 *
 * Each event is `id: N`, `event: NAME`, `data: JSON` on one line. A reader that fell behind the
 * event buffer gets `event: gap` with the number of lost events; a stream without a record or
 * answer ends with `event: failed`. Comments keep a silent stream open.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/native/native.h"

#define FIRST_MS 1000u /* after this long without an event the stream's head is sent */
#define BEAT_MS 15000u

struct stream {
	struct event_reader reader;
	struct native_stream as;
	bool has_begun;
};

static int begin(struct stream *stream)
{
	if (stream->has_begun)
		return 0;
	stream->has_begun = true;
	if (sse_begin(stream->reader.request, stream->as.headers) < 0)
		return -1;
	return stream->as.first == NULL
		       ? 0
		       : sse_event(stream->reader.request, 0, stream->as.first_name,
				   stream->as.first->data, stream->as.first->len);
}

static int send_failure(struct request *request, const struct api_failure *failure)
{
	cleanup_buf struct buf json = BUF_INIT(16384);
	const struct api_failure summary = { .error = failure->error, .message = failure->message };
	struct err err;

	if (api_write_failure(&summary, &json, &err) < 0) {
		answer_break_off(request);
		return -1;
	}
	return sse_event(request, 0, "failed", json.data, json.len);
}

static int send_gap(struct request *request, uint64_t missing)
{
	char gap[64];

	(void)snprintf(gap, sizeof(gap), "{\"event\":\"gap\",\"missing\":%" PRIu64 "}", missing);
	return sse_event(request, 0, "gap", gap, strlen(gap));
}

/* Negative: the client is gone. */
static int send(struct request *request, const struct next_event *next)
{
	switch (next->kind) {
	case EVENT_NEXT:
		return sse_event(request, next->event.id, next->event.name, next->event.data.data,
				 next->event.data.len);
	case EVENT_QUIET: /* also right after the head: proxies hold back a head without a body */
		return sse_beat(request);
	case EVENT_GAP:
		return send_gap(request, next->missing);
	case EVENT_FAILED:
		return send_failure(request, next->failure);
	case EVENT_GONE:
	case EVENT_END:
		break;
	}
	return 0;
}

static void follow(struct stream *stream)
{
	struct request *request = stream->reader.request;
	cleanup_call struct call call = CALL_INIT;
	struct next_event next;

	do {
		(void)events_next(&stream->reader, stream->has_begun ? BEAT_MS : FIRST_MS, &call,
				  &next);
		if (next.kind == EVENT_GONE)
			return;
		if (next.kind == EVENT_FAILED && next.is_refused && !stream->has_begun) {
			call_refuse(request, next.failure);
			return;
		}
		if (begin(stream) < 0 || send(request, &next) < 0)
			return;
	} while (next.kind != EVENT_FAILED && next.kind != EVENT_END);
	answer_end(request);
}

void native_follow(struct request *request, enum api_id id, void *in,
		   const struct native_stream *as)
{
	struct stream stream = { .as = *as };

	events_open(&stream.reader, request, id, in);
	events_go_on(&stream.reader);
	if (begin(&stream) == 0)
		follow(&stream);
}

/* The header wins over the parameter: a reconnecting browser sends it automatically. */
static int take_last_event(const struct event_reader *reader)
{
	const char *last = http_header(request_head(reader->request), "last-event-id");

	if (last == NULL)
		return 0;
	if (last[0] != '\0' && strspn(last, "0123456789") == strlen(last) && strlen(last) < 19) {
		*reader->after = strtoull(last, NULL, 10);
		*reader->has_after = true;
		return 0;
	}
	answer_refuse_simple(reader->request, 400, "invalid", "Last-Event-ID must be a number",
			     "see GET /reckon/v1/openapi.json");
	return -1;
}

void native_events(const struct native *native)
{
	struct stream stream = { 0 };

	events_open(&stream.reader, native->request, native->id, native->in);
	if (take_last_event(&stream.reader) < 0)
		return;
	if (websocket_is_requested(native->request))
		native_events_socket(native->request, &stream.reader);
	else
		follow(&stream);
}
