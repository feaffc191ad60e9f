/*
 * event_buffer.c - the events of one execution.
 *
 * Runs in:  reckond: a thread of the pool writes, the loop reads.
 * Reads:    events from libreckon.
 * Never:    blocks the writer until a reader is ready.
 */
#include "host/executions/event_buffer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PLACES_FIRST 8u
#define EVENT_HEAD_BYTES 64u /* per event in a frame, approximately */
#define BATCH_EVENTS (EVENT_BUFFER_BATCH_BYTES / EVENT_HEAD_BYTES)

struct event {
	uint64_t id;
	char name[24];
	char *json;
	size_t len;
};

struct event_buffer {
	pthread_mutex_t lock;
	struct event *events; /* a ring of `places`, which grows as needed */
	size_t places, first, count, bytes;
	uint64_t next_id;
	bool is_finished;
	bool is_awaited; /* a reader found nothing new and must be woken */
	unsigned away;	 /* readers that got a part of the events, and ask for more */
};

static atomic_size_t all_bytes, all_count;

size_t event_buffer_all_bytes(void)
{
	return atomic_load(&all_bytes);
}

struct event_buffer *event_buffer_new(void)
{
	struct event_buffer *buffer = mem_new0(1, sizeof(*buffer));

	atomic_fetch_add(&all_count, 1);
	(void)pthread_mutex_init(&buffer->lock, NULL);
	buffer->next_id = 1;
	return buffer;
}

/* The event `index` places after the oldest. */
static struct event *event_at(const struct event_buffer *buffer, size_t index)
{
	size_t at = buffer->first + index; /* no modulo: both are below `places` */

	if (at >= buffer->places)
		at -= buffer->places;
	return &buffer->events[at];
}

void event_buffer_free(struct event_buffer *buffer)
{
	if (buffer == NULL)
		return;
	for (size_t i = 0; i < buffer->count; i++)
		free(event_at(buffer, i)->json);
	atomic_fetch_sub(&all_bytes, buffer->bytes);
	atomic_fetch_sub(&all_count, 1);
	(void)pthread_mutex_destroy(&buffer->lock);
	free(buffer->events);
	free(buffer);
}

static void drop_oldest(struct event_buffer *buffer)
{
	struct event *event = &buffer->events[buffer->first];

	buffer->bytes -= event->len;
	atomic_fetch_sub(&all_bytes, event->len);
	free(event->json);
	buffer->first = (buffer->first + 1) % buffer->places;
	buffer->count--;
}

/* Starts small, because most executions have few events: a full ring takes 200 KiB. */
static void make_room(struct event_buffer *buffer)
{
	const size_t places = buffer->places > 0 ? buffer->places * 2 : PLACES_FIRST;
	struct event *events;

	if (buffer->count < buffer->places)
		return;
	events = mem_new0(places, sizeof(*events));
	for (size_t i = 0; i < buffer->count; i++)
		events[i] = *event_at(buffer, i);
	free(buffer->events);
	buffer->events = events;
	buffer->places = places;
	buffer->first = 0;
}

/* A program chooses the size, so a failed allocation is not fatal: the event counts as missing. */
static char *copy(const char *json, size_t len)
{
	char *text = len <= EVENT_BUFFER_EVENT_MAX ? malloc(len + 1) : NULL;

	if (text != NULL) {
		memcpy(text, json, len);
		text[len] = '\0';
	}
	return text;
}

/*
 * Limits each buffer when all together are large: otherwise 64 cells with much output would hold
 * half a gigabyte.
 */
static size_t bytes_max(void)
{
	const size_t count = atomic_load(&all_count);
	size_t share;

	if (count == 0 || atomic_load(&all_bytes) <= EVENT_BUFFER_ALL_BYTES)
		return EVENT_BUFFER_BYTES_MAX;
	share = EVENT_BUFFER_ALL_BYTES / count;
	return share < EVENT_BUFFER_LEAST_BYTES ? EVENT_BUFFER_LEAST_BYTES : share;
}

bool event_buffer_push(struct event_buffer *buffer, const char *name, const char *json, size_t len)
{
	char *text = copy(json, len);
	const size_t max = bytes_max();
	struct event *event;
	bool was_awaited;

	(void)pthread_mutex_lock(&buffer->lock);
	while (buffer->count > 0 &&
	       (buffer->count == EVENT_BUFFER_EVENTS_MAX || buffer->bytes + len > max))
		drop_oldest(buffer);
	if (text != NULL) {
		make_room(buffer);
		event = event_at(buffer, buffer->count);
		*event = (struct event){ .id = buffer->next_id, .json = text, .len = len };
		strncpy(event->name, name, sizeof(event->name) - 1);
		buffer->count++;
		buffer->bytes += len;
		atomic_fetch_add(&all_bytes, len);
	}
	buffer->next_id++;
	/* Readers get the last event only after event_buffer_finish(). */
	was_awaited = buffer->is_awaited && strcmp(name, "done") != 0;
	if (was_awaited)
		buffer->is_awaited = false;
	(void)pthread_mutex_unlock(&buffer->lock);
	return was_awaited;
}

void event_buffer_finish(struct event_buffer *buffer)
{
	(void)pthread_mutex_lock(&buffer->lock);
	buffer->is_finished = true;
	(void)pthread_mutex_unlock(&buffer->lock);
}

size_t event_buffer_shrink(struct event_buffer *buffer)
{
	struct event *events;
	size_t bytes;

	(void)pthread_mutex_lock(&buffer->lock);
	if (buffer->count < buffer->places) {
		events = buffer->count > 0 ? mem_new0(buffer->count, sizeof(*events)) : NULL;
		for (size_t i = 0; i < buffer->count; i++)
			events[i] = *event_at(buffer, i);
		free(buffer->events);
		buffer->events = events;
		buffer->places = buffer->count;
		buffer->first = 0;
	}
	bytes = sizeof(*buffer) + buffer->bytes + buffer->places * sizeof(*buffer->events);
	(void)pthread_mutex_unlock(&buffer->lock);
	return bytes;
}

static void tell(const struct event *event, struct arena *arena, struct api_event *ret)
{
	ret->id = event->id;
	ret->name = arena_text(arena, event->name, strlen(event->name));
	ret->data = (struct api_bytes){ arena_text(arena, event->json, event->len), event->len };
}

/* Encodes events from place `i` on, as many as fit; returns the place after the last of them. */
static size_t tell_batch(struct event_buffer *buffer, size_t i, struct arena *arena,
			 struct api_events *ret)
{
	const size_t left = buffer->count - i;
	struct api_event *events = arena_new(arena, left < BATCH_EVENTS ? left + 1 : BATCH_EVENTS,
					     sizeof(*events));
	size_t count = 0, bytes = 0;

	for (; i < buffer->count && count < BATCH_EVENTS; i++) {
		const struct event *event = event_at(buffer, i);

		/* Events in a batch are consecutive: after a gap a new batch begins. */
		if ((!buffer->is_finished && strcmp(event->name, "done") == 0) ||
		    (count > 0 && (event->id != events[count - 1].id + 1 ||
				   bytes + event->len > EVENT_BUFFER_BATCH_BYTES)))
			break;
		tell(event, arena, &events[count++]);
		bytes += event->len + EVENT_HEAD_BYTES;
	}
	ret->events = (struct api_list){ events, count };
	return i;
}

static bool read_locked(struct event_buffer *buffer, uint64_t after, struct arena *arena,
			struct api_events *ret)
{
	const struct api_event *first;
	size_t i = 0;

	while (i < buffer->count && event_at(buffer, i)->id <= after)
		i++;
	i = tell_batch(buffer, i, arena, ret);
	first = ret->events.items;
	if (ret->events.count > 0 && first->id > after + 1) {
		ret->has_missing = true;
		ret->missing = first->id - after - 1;
	}
	ret->is_last = buffer->is_finished && i == buffer->count;
	return ret->events.count > 0 || ret->is_last;
}

bool event_buffer_read(struct event_buffer *buffer, uint64_t after, struct arena *arena,
		       struct api_events *ret)
{
	bool found;

	*ret = (struct api_events){ 0 };
	(void)pthread_mutex_lock(&buffer->lock);
	found = read_locked(buffer, after, arena, ret);
	buffer->is_awaited = buffer->is_awaited || !found;
	buffer->away += found && !ret->is_last;
	(void)pthread_mutex_unlock(&buffer->lock);
	return found;
}

void event_buffer_reader_back(struct event_buffer *buffer)
{
	(void)pthread_mutex_lock(&buffer->lock);
	if (buffer->away > 0)
		buffer->away--;
	(void)pthread_mutex_unlock(&buffer->lock);
}

bool event_buffer_is_unread(struct event_buffer *buffer)
{
	bool is_unread;

	(void)pthread_mutex_lock(&buffer->lock);
	is_unread = buffer->is_finished && buffer->away > 0;
	(void)pthread_mutex_unlock(&buffer->lock);
	return is_unread;
}
