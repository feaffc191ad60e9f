/*
 * events.h - reads the events of an execution, a run or another object, one after the other.
 *
 *   struct event_reader reader;
 *   cleanup_call struct call call = CALL_INIT;
 *   struct next_event next;
 *
 *   events_open(&reader, request, API_EXECUTION_EVENTS, &in);
 *   while (events_next(&reader, QUIET_MS, &call, &next) == EVENT_NEXT)
 *           …
 *
 * The reader fetches more from reckond only after taking all earlier events: a slow client neither
 * slows the program down nor costs memory; instead it loses events of the event buffer.
 */
#pragma once

#include "dialects/call.h"

enum event_kind {
	EVENT_GONE = -1, /* the client is gone: return */
	EVENT_NEXT,	 /* `event` is the next one */
	EVENT_QUIET,	 /* none for the given time: send a heartbeat */
	EVENT_GAP,	 /* `missing` events are lost: the reader fell behind the buffer */
	EVENT_FAILED,	 /* no record or answer exists: `failure` says why; the end */
	EVENT_END,	 /* no more events will come */
};

struct next_event {
	enum event_kind kind;
	struct api_event event; /* valid until the next call */
	uint64_t missing;
	const struct api_failure *failure;
	bool is_refused; /* EVENT_FAILED came first: the object could not be followed at all */
};

struct event_reader {
	struct request *request;
	enum api_id id;
	void *in;
	/* private */
	uint64_t *after;
	bool *has_after, *goes_on, *has_goes_on;
	struct api_events events;
	size_t at;
	uint64_t followed; /* the frame that identifies a process's reader to reckond; 0: none */
	bool is_requested, has_begun, has_reported_gap, is_over;
};

/* `id`: a call that returns events; `in`: its arguments, which the reader updates. */
void events_open(struct event_reader *reader, struct request *request, enum api_id id, void *in);
/* This request started the object, so no event can be missing before the first one. */
void events_go_on(struct event_reader *reader);

/* As quiet_ms: do not wait; EVENT_QUIET if there is no event yet. For handlers that wait for more
 * than events, see websocket_next(). */
#define EVENTS_POLL UINT64_MAX

/*
 * Waits for the next event; EVENT_QUIET after `quiet_ms` without one (0: no limit). If the client
 * leaves after the first event, the object counts one reader less: see on_disconnect of an
 * execution. `call` holds the event's data and belongs to the reader until the end.
 */
enum event_kind events_next(struct event_reader *reader, uint64_t quiet_ms, struct call *call,
			    struct next_event *ret);
