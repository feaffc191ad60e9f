/*
 * follow.c - answers that are streams of events: those of an execution, and those of a run.
 *
 * Runs in:  reckon-front-native.
 * Reads:    events of hostile programs, as JSON that libreckon wrote.
 * Never:    fetches more before the client has taken what there is.
 *
 * Each event is `id: N`, `event: NAME`, `data: JSON` on one line. A reader who fell behind the
 * ring gets `event: gap` with the number that is missing; what has no record or answer ends with
 * `event: failed`. Comments keep a silent stream open.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/native/native.h"

#define FIRST_MS 1000u /* without an event so long, the head of a stream is sent */
#define BEAT_MS 15000u

/* A stream: where the next events are asked for, and what asks. */
struct stream {
	struct request *request;
	enum api_id id;
	void *in;
	uint64_t *after;
	bool *has_after, *goes_on, *has_goes_on;
	const char *headers;
	bool has_begun;
};

static int begin(struct stream *stream)
{
	if (stream->has_begun)
		return 0;
	stream->has_begun = true;
	return sse_begin(stream->request, stream->headers);
}

static int send_failure(const struct stream *stream, const struct api_failure *failure)
{
	cleanup_buf struct buf json = BUF_INIT(16384);
	const struct api_failure told = { .error = failure->error, .message = failure->message };
	struct err err;

	if (api_write_failure(&told, &json, &err) < 0) {
		answer_break_off(stream->request);
		return -1;
	}
	return sse_event(stream->request, 0, "failed", json.data, json.len);
}

static int send_events(struct stream *stream, const struct api_events *events)
{
	const struct api_event *event = events->events.items;
	char gap[64];

	if (begin(stream) < 0)
		return -1;
	if (events->has_missing && events->missing > 0) {
		(void)snprintf(gap, sizeof(gap), "{\"event\":\"gap\",\"missing\":%" PRIu64 "}",
			       events->missing);
		if (sse_event(stream->request, 0, "gap", gap, strlen(gap)) < 0)
			return -1;
	}
	for (size_t i = 0; i < events->events.count; i++, event++) {
		if (sse_event(stream->request, event->id, event->name, event->data.data,
			      event->data.len) < 0)
			return -1;
		*stream->after = event->id;
		*stream->has_after = true;
	}
	return events->failure != NULL ? send_failure(stream, events->failure) : 0;
}

/* Waits for the next events; what is silent gets its head, and comments. */
static enum call_status next(struct stream *stream, struct api_events *ret, struct call *call)
{
	enum call_status status = call_ask(stream->request, stream->id, stream->in, call);

	while (status == CALL_OK || status == CALL_WAITS) {
		status = call_take(stream->request, stream->has_begun ? BEAT_MS : FIRST_MS, ret,
				   call);
		if (status != CALL_WAITS)
			return status;
		if (!stream->has_begun) {
			if (begin(stream) < 0)
				return CALL_GONE;
			/* The first comment comes at once: proxies hold a head without a body. */
		}
		if (sse_beat(stream->request) < 0)
			return CALL_GONE;
	}
	return status;
}

static void follow(struct stream *stream)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_events events = { 0 };

	do {
		const enum call_status status = next(stream, &events, &call);

		if (status == CALL_GONE)
			return;
		if (status == CALL_FAILED && !stream->has_begun) {
			call_refuse(stream->request, call.failure);
			return;
		}
		if (status == CALL_FAILED) {
			if (send_failure(stream, call.failure) < 0)
				return;
			break;
		}
		upstream_cancel_when_gone(stream->request, call.frame);
		if (send_events(stream, &events) < 0)
			return;
		*stream->has_goes_on = *stream->goes_on = true;
	} while (!events.is_last);
	answer_end(stream->request);
}

/* With headers it goes on where a request began: its head can go out before the first event. */
static void begin_and_follow(struct stream *stream)
{
	if (stream->headers != NULL) {
		*stream->has_goes_on = *stream->goes_on = true;
		if (begin(stream) < 0)
			return;
	}
	follow(stream);
}

/* Both calls ask alike: `in` is what one of them takes. */
#define STREAM_OF(request_, id_, in_, headers_)                                                    \
	(&(struct stream){ .request = (request_),                                                  \
			   .id = (id_),                                                            \
			   .in = (in_),                                                            \
			   .after = &(in_)->after,                                                 \
			   .has_after = &(in_)->has_after,                                         \
			   .goes_on = &(in_)->goes_on,                                             \
			   .has_goes_on = &(in_)->has_goes_on,                                     \
			   .headers = (headers_) })

void native_follow_execution(struct request *request, struct api_execution_events_in *in,
			     const char *headers)
{
	begin_and_follow(STREAM_OF(request, API_EXECUTION_EVENTS, in, headers));
}

void native_follow_run(struct request *request, struct api_run_events_in *in, const char *headers)
{
	begin_and_follow(STREAM_OF(request, API_RUN_EVENTS, in, headers));
}

/* The header wins over the parameter: a browser that comes back sends it by itself. */
static int take_last_event(struct request *request, uint64_t *after, bool *has_after)
{
	const char *last = http_header(request_head(request), "last-event-id");

	if (last == NULL)
		return 0;
	if (last[0] != '\0' && strspn(last, "0123456789") == strlen(last) && strlen(last) < 19) {
		*after = strtoull(last, NULL, 10);
		*has_after = true;
		return 0;
	}
	answer_refuse_simple(request, 400, "invalid", "Last-Event-ID must be a number",
			     "see GET /reckon/v1/openapi.json");
	return -1;
}

void native_events(const struct native *native)
{
	if (native->id == API_EXECUTION_EVENTS) {
		struct api_execution_events_in *in = native->in;

		if (take_last_event(native->request, &in->after, &in->has_after) == 0)
			native_follow_execution(native->request, in, NULL);
	} else {
		struct api_run_events_in *in = native->in;

		if (take_last_event(native->request, &in->after, &in->has_after) == 0)
			native_follow_run(native->request, in, NULL);
	}
}
