/*
 * events.h - the events of an execution, a run or whatever else has them, one after the other.
 *
 *   struct event_reader reader;
 *   cleanup_call struct call call = CALL_INIT;
 *   struct next_event next;
 *
 *   events_open(&reader, request, API_EXECUTION_EVENTS, &in);
 *   while (events_next(&reader, QUIET_MS, &call, &next) == EVENT_NEXT)
 *           …
 *
 * More is fetched from reckond only when the reader has taken what there is: a client that is slow
 * makes the program no slower and costs no memory, it falls behind the event buffer instead.
 */
#pragma once

#include "dialects/call.h"

enum event_kind {
	EVENT_GONE = -1, /* nobody waits any more: return */
	EVENT_NEXT,	 /* `event` is the next one */
	EVENT_QUIET,	 /* none for so long as was said: a moment for a sign of life */
	EVENT_GAP,	 /* `missing` events are gone: the reader fell behind the buffer */
	EVENT_FAILED,	 /* what was followed has no record or answer: `failure` says why; the end */
	EVENT_END,	 /* no more will come */
};

struct next_event {
	enum event_kind kind;
	struct api_event event; /* lives until the next call */
	uint64_t missing;
	const struct api_failure *failure;
	bool is_refused; /* EVENT_FAILED before anything came: it could not be followed at all */
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
	uint64_t followed; /* the frame by which reckond knows the reader of a process; 0: none */
	bool is_asked, has_begun, gap_said, is_over;
};

/* `id`: a call that gives events; `in`: what it takes, which the reader goes on with. */
void events_open(struct event_reader *reader, struct request *request, enum api_id id, void *in);
/* The request began what it follows: no event of another request is missing before the first. */
void events_go_on(struct event_reader *reader);

/* Instead of a time: what is there now, else EVENT_QUIET. For handlers that wait for more than events,
 * see websocket_next(). */
#define EVENTS_POLL UINT64_MAX

/*
 * Waits for the next event; EVENT_QUIET after `quiet_ms` without one (0: never). When the client
 * goes away after the first event, what is followed counts it as a reader less: see on_disconnect
 * of an execution. `call` holds what an event shows and belongs to the reader up to the end.
 */
enum event_kind events_next(struct event_reader *reader, uint64_t quiet_ms, struct call *call,
			    struct next_event *ret);
