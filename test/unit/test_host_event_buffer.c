/*
 * test_host_event_buffer.c - events of an execution: in order, from any id, counted when they are gone.
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

/* What one event_buffer_read() after `after` gives; ids have to follow one another. */
static bool read_once(struct event_buffer *ring, uint64_t after, struct got *ret)
{
	struct arena arena = { 0 };
	struct api_events reply;
	const bool found = event_buffer_read(ring, after, &arena, &reply);
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

UNIT_TEST(in_order_and_from_any_id)
{
	struct event_buffer *ring = event_buffer_new();
	struct got got;

	assert_false(read_once(ring, 0, &got));
	for (int i = 0; i < 5; i++)
		event_buffer_push(ring, "stream", "{}", 2);
	assert_true(read_once(ring, 0, &got));
	assert_true(got.first == 1 && got.last == 5 && got.gap == 0 && !got.end);
	assert_true(read_once(ring, 3, &got));
	assert_true(got.first == 4 && got.last == 5);
	assert_false(read_once(ring, 5, &got));
	event_buffer_push(ring, "done", "{}", 2);
	/* Held back until the record is kept. */
	assert_false(read_once(ring, 5, &got));
	event_buffer_finish(ring);
	assert_true(read_once(ring, 5, &got));
	assert_true(got.first == 6 && got.end);
	assert_true(read_once(ring, 6, &got));
	assert_true(got.events == 0 && got.end);
	event_buffer_free(ring);
}

UNIT_TEST(who_has_not_come_for_the_end_is_known)
{
	struct event_buffer *ring = event_buffer_new();
	struct got got;

	event_buffer_push(ring, "stream", "{}", 2);
	assert_true(read_once(ring, 0, &got));
	assert_true(read_once(ring, 0, &got));
	assert_false(event_buffer_is_unread(ring)); /* it goes on */
	event_buffer_push(ring, "done", "{}", 2);
	event_buffer_finish(ring);
	assert_true(event_buffer_is_unread(ring));
	event_buffer_reader_back(ring);
	assert_true(read_once(ring, 1, &got) && got.end);
	assert_true(event_buffer_is_unread(ring));
	event_buffer_reader_back(ring);
	assert_true(read_once(ring, 1, &got) && got.end);
	assert_false(event_buffer_is_unread(ring));
	event_buffer_reader_back(ring); /* one that begins in the middle */
	assert_false(event_buffer_is_unread(ring));
	event_buffer_free(ring);
}

/* Follows the ring to its end; events and gaps have to add up. */
static void follow(struct event_buffer *ring, uint64_t total)
{
	uint64_t after = 0, events = 0, missing = 0;
	struct got got;

	do {
		assert_true(read_once(ring, after, &got));
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

UNIT_TEST(what_is_gone_is_counted)
{
	struct event_buffer *ring = event_buffer_new();

	for (unsigned i = 0; i < EVENT_BUFFER_EVENTS_MAX + 100; i++)
		event_buffer_push(ring, "stream", "{\"a\":1}", 7);
	event_buffer_finish(ring);
	follow(ring, EVENT_BUFFER_EVENTS_MAX + 100);
	event_buffer_free(ring);
}

UNIT_TEST(bytes_are_bounded_too)
{
	struct event_buffer *ring = event_buffer_new();
	char *large = malloc(EVENT_BUFFER_BYTES_MAX / 2);

	assert_non_null(large);
	memset(large, 'x', EVENT_BUFFER_BYTES_MAX / 2);
	for (int i = 0; i < 5; i++)
		event_buffer_push(ring, "display_data", large, EVENT_BUFFER_BYTES_MAX / 2);
	event_buffer_finish(ring);
	follow(ring, 5);
	event_buffer_free(ring);
	free(large);
}

/* With many that are full each has its share, so that all of them are bounded, too. */
UNIT_TEST(all_rings_together_are_bounded)
{
	enum { COUNT = 40, SIZE = 1 << 20 };
	struct event_buffer *rings[COUNT];
	char *large = malloc(SIZE);
	const size_t before = event_buffer_all_bytes();

	assert_non_null(large);
	memset(large, 'x', SIZE);
	for (int i = 0; i < COUNT; i++)
		rings[i] = event_buffer_new();
	for (int turn = 0; turn < 16; turn++)
		for (int i = 0; i < COUNT; i++)
			event_buffer_push(rings[i], "stream", large, SIZE);
	assert_true(event_buffer_all_bytes() > before + EVENT_BUFFER_ALL_BYTES / 2);
	assert_true(event_buffer_all_bytes() <=
		    before + EVENT_BUFFER_ALL_BYTES + COUNT * (size_t)SIZE);
	for (int i = 0; i < COUNT; i++) {
		event_buffer_finish(rings[i]);
		follow(rings[i], 16);
		event_buffer_free(rings[i]);
	}
	assert_int_equal(event_buffer_all_bytes(), before);
	free(large);
}

UNIT_TEST(room_is_given_back)
{
	struct event_buffer *ring = event_buffer_new();
	size_t empty, few;
	struct got got;

	empty = event_buffer_shrink(ring);
	for (int i = 0; i < 20; i++)
		event_buffer_push(ring, "stream", "{}", 2);
	few = event_buffer_shrink(ring);
	assert_true(few > empty + 20 * 2 && event_buffer_shrink(ring) == few);
	event_buffer_push(ring, "done", "{}", 2);
	event_buffer_finish(ring);
	assert_true(read_once(ring, 0, &got));
	assert_true(got.first == 1 && got.last == 21 && got.end);
	event_buffer_free(ring);
}

UNIT_TEST(one_that_is_too_large_is_missing)
{
	struct event_buffer *ring = event_buffer_new();
	char *large = calloc(1, EVENT_BUFFER_EVENT_MAX + 1);
	struct got got;

	assert_non_null(large);
	event_buffer_push(ring, "stream", "{}", 2);
	event_buffer_push(ring, "display_data", large, EVENT_BUFFER_EVENT_MAX + 1);
	event_buffer_push(ring, "stream", "{}", 2);
	event_buffer_finish(ring);
	assert_true(read_once(ring, 1, &got));
	assert_true(got.gap == 1 && got.first == 3 && got.end);
	event_buffer_free(ring);
	free(large);
}

UNIT_TEST(only_who_waits_is_told)
{
	struct event_buffer *ring = event_buffer_new();
	struct got got;

	assert_false(event_buffer_push(ring, "stream", "{}", 2));
	assert_false(read_once(ring, 1, &got));
	/* Another reader that has something to read does not take the first one's turn. */
	assert_true(read_once(ring, 0, &got));
	assert_true(event_buffer_push(ring, "stream", "{}", 2));
	assert_false(event_buffer_push(ring, "stream", "{}", 2));
	assert_false(read_once(ring, 3, &got));
	/* The loop knows of the end, and tells it when it is kept. */
	assert_false(event_buffer_push(ring, "done", "{}", 2));
	event_buffer_free(ring);
}
