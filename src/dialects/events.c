/*
 * events.c - reads the events of an execution, a run or another object, one after the other.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    events of hostile programs, as JSON that libreckon wrote.
 * Never:    fetches more before the reader has taken all earlier events.
 */
#include "dialects/events.h"

#include <stdlib.h>
#include <string.h>

#include "api/check.h"

/* All calls that return events have these fields under the same names in the built-in table. */
static const struct api_field *field_of(enum api_id id, const char *name)
{
	const struct api_type *takes = api_calls[id].takes;

	for (size_t i = 0; i < takes->count; i++)
		if (strcmp(takes->fields[i].name, name) == 0)
			return &takes->fields[i];
	abort();
}

void events_open(struct event_reader *reader, struct request *request, enum api_id id, void *in)
{
	const struct api_field *after = field_of(id, "after");
	const struct api_field *goes_on = field_of(id, "goes_on");

	*reader = (struct event_reader){
		.request = request,
		.id = id,
		.in = in,
		.after = (uint64_t *)(void *)((char *)in + after->offset),
		.has_after = (bool *)(void *)((char *)in + after->given_offset),
		.goes_on = (bool *)(void *)((char *)in + goes_on->offset),
		.has_goes_on = (bool *)(void *)((char *)in + goes_on->given_offset),
	};
}

void events_go_on(struct event_reader *reader)
{
	*reader->has_goes_on = *reader->goes_on = true;
}

static enum event_kind give(struct next_event *ret, enum event_kind kind)
{
	ret->kind = kind;
	return kind;
}

static enum event_kind fail(struct event_reader *reader, const struct api_failure *failure,
			    struct next_event *ret)
{
	reader->is_over = true;
	ret->failure = failure;
	ret->is_refused = !reader->has_begun;
	return give(ret, EVENT_FAILED);
}

/* Takes the next item of the last reply: the gap, then the events, then the failure. */
static bool take(struct event_reader *reader, struct next_event *ret)
{
	const struct api_events *events = &reader->events;
	const struct api_event *items = events->events.items;

	if (!reader->has_reported_gap && events->has_missing && events->missing > 0) {
		reader->has_reported_gap = true;
		ret->missing = events->missing;
		(void)give(ret, EVENT_GAP);
		return true;
	}
	if (reader->at < events->events.count) {
		ret->event = items[reader->at++];
		*reader->after = ret->event.id;
		*reader->has_after = true;
		(void)give(ret, EVENT_NEXT);
		return true;
	}
	if (events->failure != NULL) {
		(void)fail(reader, events->failure, ret);
		return true;
	}
	if (events->is_last) {
		reader->is_over = true;
		(void)give(ret, EVENT_END);
		return true;
	}
	return false;
}

enum event_kind events_next(struct event_reader *reader, uint64_t quiet_ms, struct call *call,
			    struct next_event *ret)
{
	*ret = (struct next_event){ 0 };
	if (reader->is_over)
		return give(ret, EVENT_END);
	for (;;) {
		enum call_status status = CALL_OK;

		if (!reader->is_requested && take(reader, ret))
			return ret->kind;
		if (!reader->is_requested)
			status = call_ask(reader->request, reader->id, reader->in, call);
		reader->is_requested = status == CALL_OK;
		if (status == CALL_OK && quiet_ms == EVENTS_POLL &&
		    !upstream_is_answered(reader->request, call->frame))
			return give(ret, EVENT_QUIET);
		if (status == CALL_OK)
			status = call_take(reader->request, quiet_ms == EVENTS_POLL ? 0 : quiet_ms,
					   &reader->events, call);
		if (status == CALL_GONE)
			return give(ret, EVENT_GONE);
		if (status == CALL_WAITS)
			return give(ret, EVENT_QUIET);
		reader->is_requested = false;
		if (status == CALL_FAILED)
			return fail(reader, call->failure, ret);
		/* reckond identifies a process's reader by its latest request. */
		if (reader->id == API_PROCESS_EVENTS)
			upstream_cancel_no_more(reader->request, reader->followed);
		upstream_cancel_when_gone(reader->request, call->frame);
		reader->followed = call->frame;
		reader->at = 0;
		reader->has_reported_gap = false;
		reader->has_begun = true;
		events_go_on(reader);
	}
}
