/*
 * test_host_event_buffer.c - events of an execution: order, reading from any id, missing ones.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    waits.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/executions/event_buffer.h"

struct got {
	uint64_t gap, first, last;
	unsigned events;
	bool end;
};

/* Calls event_buffer_read() once; the ids of the events must be consecutive. */
static bool read_once(struct event_buffer *buffer, uint64_t after, struct got *ret)
{
	struct arena arena = { 0 };
	struct api_events reply;
	const bool found = event_buffer_read(buffer, after, &arena, &reply);
	const struct api_event *event = reply.events.items;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(reply.has_missing, reply.missing != 0);
	ret->gap = reply.missing;
	ret->end = reply.is_last;
	for (size_t i = 0; i < reply.events.count; i++, event++) {
		assert_int_equal(event->data.len, strlen(event->data.data));
		if (ret->events++ == 0)
			ret->first = event->id;
		else
			assert_int_equal(event->id, ret->last + 1);
		ret->last = event->id;
	}
	assert_int_equal(found, ret->events > 0 || ret->end);
	arena_done(&arena);
	return found;
}

UNIT_TEST(events_are_read_in_order_from_any_id)
{
	struct event_buffer *buffer = event_buffer_new();
	struct got got;

	assert_false(read_once(buffer, 0, &got));
	for (int i = 0; i < 5; i++)
		event_buffer_push(buffer, "stream", "{}", 2);
	assert_true(read_once(buffer, 0, &got));
	assert_true(got.first == 1 && got.last == 5 && got.gap == 0 && !got.end);
	assert_true(read_once(buffer, 3, &got));
	assert_true(got.first == 4 && got.last == 5);
	assert_false(read_once(buffer, 5, &got));
	event_buffer_push(buffer, "done", "{}", 2);
	/* Readers do not get the last event until the record is stored. */
	assert_false(read_once(buffer, 5, &got));
	event_buffer_finish(buffer);
	assert_true(read_once(buffer, 5, &got));
	assert_true(got.first == 6 && got.end);
	assert_true(read_once(buffer, 6, &got));
	assert_true(got.events == 0 && got.end);
	event_buffer_free(buffer);
}

UNIT_TEST(the_buffer_counts_readers_that_have_not_read_the_end)
{
	struct event_buffer *buffer = event_buffer_new();
	struct got got;

	event_buffer_push(buffer, "stream", "{}", 2);
	assert_true(read_once(buffer, 0, &got));
	assert_true(read_once(buffer, 0, &got));
	assert_false(event_buffer_is_unread(buffer)); /* the execution has not ended */
	event_buffer_push(buffer, "done", "{}", 2);
	event_buffer_finish(buffer);
	assert_true(event_buffer_is_unread(buffer));
	event_buffer_reader_back(buffer);
	assert_true(read_once(buffer, 1, &got) && got.end);
	assert_true(event_buffer_is_unread(buffer));
	event_buffer_reader_back(buffer);
	assert_true(read_once(buffer, 1, &got) && got.end);
	assert_false(event_buffer_is_unread(buffer));
	event_buffer_reader_back(buffer); /* a reader that starts in the middle */
	assert_false(event_buffer_is_unread(buffer));
	event_buffer_free(buffer);
}

/* Reads the buffer to its end; events and missing ones must add up to `total`. */
static void follow(struct event_buffer *buffer, uint64_t total)
{
	uint64_t after = 0, events = 0, missing = 0;
	struct got got;

	do {
		assert_true(read_once(buffer, after, &got));
		if (got.events > 0) {
			assert_int_equal(got.first, after + got.gap + 1);
			after = got.last;
		}
		events += got.events;
		missing += got.gap;
	} while (!got.end);
	assert_int_equal(events + missing, total);
	assert_true(events <= EVENT_BUFFER_EVENTS_MAX && missing > 0);
}

UNIT_TEST(dropped_events_are_counted)
{
	struct event_buffer *buffer = event_buffer_new();

	for (unsigned i = 0; i < EVENT_BUFFER_EVENTS_MAX + 100; i++)
		event_buffer_push(buffer, "stream", "{\"a\":1}", 7);
	event_buffer_finish(buffer);
	follow(buffer, EVENT_BUFFER_EVENTS_MAX + 100);
	event_buffer_free(buffer);
}

UNIT_TEST(the_bytes_of_a_buffer_are_limited)
{
	struct event_buffer *buffer = event_buffer_new();
	char *large = malloc(EVENT_BUFFER_BYTES_MAX / 2);

	assert_non_null(large);
	memset(large, 'x', EVENT_BUFFER_BYTES_MAX / 2);
	for (int i = 0; i < 5; i++)
		event_buffer_push(buffer, "display_data", large, EVENT_BUFFER_BYTES_MAX / 2);
	event_buffer_finish(buffer);
	follow(buffer, 5);
	event_buffer_free(buffer);
	free(large);
}

/* Many full buffers get a share each, which limits their sum. */
UNIT_TEST(the_bytes_of_all_buffers_are_limited)
{
	enum { COUNT = 40, SIZE = 1 << 20 };
	struct event_buffer *buffers[COUNT];
	char *large = malloc(SIZE);
	const size_t before = event_buffer_all_bytes();

	assert_non_null(large);
	memset(large, 'x', SIZE);
	for (int i = 0; i < COUNT; i++)
		buffers[i] = event_buffer_new();
	for (int turn = 0; turn < 16; turn++)
		for (int i = 0; i < COUNT; i++)
			event_buffer_push(buffers[i], "stream", large, SIZE);
	assert_true(event_buffer_all_bytes() > before + EVENT_BUFFER_ALL_BYTES / 2);
	assert_true(event_buffer_all_bytes() <=
		    before + EVENT_BUFFER_ALL_BYTES + COUNT * (size_t)SIZE);
	for (int i = 0; i < COUNT; i++) {
		event_buffer_finish(buffers[i]);
		follow(buffers[i], 16);
		event_buffer_free(buffers[i]);
	}
	assert_int_equal(event_buffer_all_bytes(), before);
	free(large);
}

UNIT_TEST(a_shrunk_buffer_still_works)
{
	struct event_buffer *buffer = event_buffer_new();
	size_t empty, few;
	struct got got;

	empty = event_buffer_shrink(buffer);
	for (int i = 0; i < 20; i++)
		event_buffer_push(buffer, "stream", "{}", 2);
	few = event_buffer_shrink(buffer);
	assert_true(few > empty + 20 * 2 && event_buffer_shrink(buffer) == few);
	event_buffer_push(buffer, "done", "{}", 2);
	event_buffer_finish(buffer);
	assert_true(read_once(buffer, 0, &got));
	assert_true(got.first == 1 && got.last == 21 && got.end);
	event_buffer_free(buffer);
}

UNIT_TEST(an_event_that_is_too_large_is_missing)
{
	struct event_buffer *buffer = event_buffer_new();
	char *large = calloc(1, EVENT_BUFFER_EVENT_MAX + 1);
	struct got got;

	assert_non_null(large);
	event_buffer_push(buffer, "stream", "{}", 2);
	event_buffer_push(buffer, "display_data", large, EVENT_BUFFER_EVENT_MAX + 1);
	event_buffer_push(buffer, "stream", "{}", 2);
	event_buffer_finish(buffer);
	assert_true(read_once(buffer, 1, &got));
	assert_true(got.gap == 1 && got.first == 3 && got.end);
	event_buffer_free(buffer);
	free(large);
}

UNIT_TEST(only_a_waiting_reader_is_woken)
{
	struct event_buffer *buffer = event_buffer_new();
	struct got got;

	assert_false(event_buffer_push(buffer, "stream", "{}", 2));
	assert_false(read_once(buffer, 1, &got));
	/* The first reader still waits after another reader that found events. */
	assert_true(read_once(buffer, 0, &got));
	assert_true(event_buffer_push(buffer, "stream", "{}", 2));
	assert_false(event_buffer_push(buffer, "stream", "{}", 2));
	assert_false(read_once(buffer, 3, &got));
	/* "done" wakes no reader here: readers get it only after event_buffer_finish(). */
	assert_false(event_buffer_push(buffer, "done", "{}", 2));
	event_buffer_free(buffer);
}
