/*
 * ring.c - the events of one execution.
 *
 * Runs in:  reckond: pushed by a thread of the pool, read by the loop.
 * Reads:    events as libreckon gives them out.
 * Never:    makes the writer wait.
 */
#include "host/executions/ring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PLACES_FIRST 8u
#define EVENT_HEAD_BYTES 64u /* of each in a frame, about */
#define BATCH_EVENTS (RING_BATCH_BYTES / EVENT_HEAD_BYTES)

struct event {
	uint64_t id;
	char name[24];
	char *json;
	size_t len;
};

struct ring {
	pthread_mutex_t lock;
	struct event *events; /* `places`, more of them as they are needed */
	size_t places, first, count, bytes;
	uint64_t next_id;
	bool is_finished;
	bool is_awaited; /* somebody found nothing new and waits to be told */
	unsigned away;	 /* readers that got something, but not the end */
};

static atomic_size_t all_bytes, all_count;

size_t ring_all_bytes(void)
{
	return atomic_load(&all_bytes);
}

struct ring *ring_new(void)
{
	struct ring *ring = mem_new0(1, sizeof(*ring));

	atomic_fetch_add(&all_count, 1);
	(void)pthread_mutex_init(&ring->lock, NULL);
	ring->next_id = 1;
	return ring;
}

/* The one so many behind the oldest. */
static struct event *event_at(const struct ring *ring, size_t index)
{
	size_t at = ring->first + index; /* both are below `places` */

	if (at >= ring->places)
		at -= ring->places;
	return &ring->events[at];
}

void ring_free(struct ring *ring)
{
	if (ring == NULL)
		return;
	for (size_t i = 0; i < ring->count; i++)
		free(event_at(ring, i)->json);
	atomic_fetch_sub(&all_bytes, ring->bytes);
	atomic_fetch_sub(&all_count, 1);
	(void)pthread_mutex_destroy(&ring->lock);
	free(ring->events);
	free(ring);
}

static void drop_oldest(struct ring *ring)
{
	struct event *event = &ring->events[ring->first];

	ring->bytes -= event->len;
	atomic_fetch_sub(&all_bytes, event->len);
	free(event->json);
	ring->first = (ring->first + 1) % ring->places;
	ring->count--;
}

/* Most executions have a handful of events: room for all that a ring may hold is 200 KiB. */
static void make_room(struct ring *ring)
{
	const size_t places = ring->places > 0 ? ring->places * 2 : PLACES_FIRST;
	struct event *events;

	if (ring->count < ring->places)
		return;
	events = mem_new0(places, sizeof(*events));
	for (size_t i = 0; i < ring->count; i++)
		events[i] = *event_at(ring, i);
	free(ring->events);
	ring->events = events;
	ring->places = places;
	ring->first = 0;
}

/* The size is a program's choice: without memory for it the event counts as gone. */
static char *copy(const char *json, size_t len)
{
	char *text = len <= RING_EVENT_MAX ? malloc(len + 1) : NULL;

	if (text != NULL) {
		memcpy(text, json, len);
		text[len] = '\0';
	}
	return text;
}

/* Sixty-four noisy cells at once would else hold half a gigabyte that hardly anybody reads. */
static size_t bytes_max(void)
{
	const size_t count = atomic_load(&all_count);
	size_t share;

	if (count == 0 || atomic_load(&all_bytes) <= RING_ALL_BYTES)
		return RING_BYTES_MAX;
	share = RING_ALL_BYTES / count;
	return share < RING_LEAST_BYTES ? RING_LEAST_BYTES : share;
}

bool ring_push(struct ring *ring, const char *name, const char *json, size_t len)
{
	char *text = copy(json, len);
	const size_t max = bytes_max();
	struct event *event;
	bool was_awaited;

	(void)pthread_mutex_lock(&ring->lock);
	while (ring->count > 0 &&
	       (ring->count == RING_EVENTS_MAX || ring->bytes + len > max))
		drop_oldest(ring);
	if (text != NULL) {
		make_room(ring);
		event = event_at(ring, ring->count);
		*event = (struct event){ .id = ring->next_id, .json = text, .len = len };
		strncpy(event->name, name, sizeof(event->name) - 1);
		ring->count++;
		ring->bytes += len;
		atomic_fetch_add(&all_bytes, len);
	}
	ring->next_id++;
	/* The last one is not given out before ring_finish(). */
	was_awaited = ring->is_awaited && strcmp(name, "done") != 0;
	if (was_awaited)
		ring->is_awaited = false;
	(void)pthread_mutex_unlock(&ring->lock);
	return was_awaited;
}

void ring_finish(struct ring *ring)
{
	(void)pthread_mutex_lock(&ring->lock);
	ring->is_finished = true;
	(void)pthread_mutex_unlock(&ring->lock);
}

size_t ring_shrink(struct ring *ring)
{
	struct event *events;
	size_t bytes;

	(void)pthread_mutex_lock(&ring->lock);
	if (ring->count < ring->places) {
		events = ring->count > 0 ? mem_new0(ring->count, sizeof(*events)) : NULL;
		for (size_t i = 0; i < ring->count; i++)
			events[i] = *event_at(ring, i);
		free(ring->events);
		ring->events = events;
		ring->places = ring->count;
		ring->first = 0;
	}
	bytes = sizeof(*ring) + ring->bytes + ring->places * sizeof(*ring->events);
	(void)pthread_mutex_unlock(&ring->lock);
	return bytes;
}

static void tell(const struct event *event, struct arena *arena, struct api_event *ret)
{
	ret->id = event->id;
	ret->name = arena_text(arena, event->name, strlen(event->name));
	ret->data = (struct api_bytes){ arena_text(arena, event->json, event->len), event->len };
}

/* Those from the place `i` on, as many as fit; returns the place of the first that did not. */
static size_t tell_batch(struct ring *ring, size_t i, struct arena *arena, struct api_events *ret)
{
	const size_t left = ring->count - i;
	struct api_event *events = arena_new(arena, left < BATCH_EVENTS ? left + 1 : BATCH_EVENTS,
					     sizeof(*events));
	size_t count = 0, bytes = 0;

	for (; i < ring->count && count < BATCH_EVENTS; i++) {
		const struct event *event = event_at(ring, i);

		/* Of two in a row with a gap between them the second is of the next batch. */
		if ((!ring->is_finished && strcmp(event->name, "done") == 0) ||
		    (count > 0 && (event->id != events[count - 1].id + 1 ||
				   bytes + event->len > RING_BATCH_BYTES)))
			break;
		tell(event, arena, &events[count++]);
		bytes += event->len + EVENT_HEAD_BYTES;
	}
	ret->events = (struct api_list){ events, count };
	return i;
}

static bool read_locked(struct ring *ring, uint64_t after, struct arena *arena,
			struct api_events *ret)
{
	const struct api_event *first;
	size_t i = 0;

	while (i < ring->count && event_at(ring, i)->id <= after)
		i++;
	i = tell_batch(ring, i, arena, ret);
	first = ret->events.items;
	if (ret->events.count > 0 && first->id > after + 1) {
		ret->has_missing = true;
		ret->missing = first->id - after - 1;
	}
	ret->is_last = ring->is_finished && i == ring->count;
	return ret->events.count > 0 || ret->is_last;
}

bool ring_read(struct ring *ring, uint64_t after, struct arena *arena, struct api_events *ret)
{
	bool found;

	*ret = (struct api_events){ 0 };
	(void)pthread_mutex_lock(&ring->lock);
	found = read_locked(ring, after, arena, ret);
	ring->is_awaited = ring->is_awaited || !found;
	ring->away += found && !ret->is_last;
	(void)pthread_mutex_unlock(&ring->lock);
	return found;
}

void ring_reader_back(struct ring *ring)
{
	(void)pthread_mutex_lock(&ring->lock);
	if (ring->away > 0)
		ring->away--;
	(void)pthread_mutex_unlock(&ring->lock);
}

bool ring_is_unread(struct ring *ring)
{
	bool is_unread;

	(void)pthread_mutex_lock(&ring->lock);
	is_unread = ring->is_finished && ring->away > 0;
	(void)pthread_mutex_unlock(&ring->lock);
	return is_unread;
}
