/*
 * event_buffer.h - the events of one execution: written by its thread, read by the loop.
 *
 * The writer never waits for a reader. The ring keeps the newest events within a number and a sum
 * of bytes; a reader that asks for what is gone is told how many are missing. Ids are the events'
 * own numbers, from 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/arena.h"
#include "api/calls.h"

#define EVENT_BUFFER_EVENTS_MAX 4096u
#define EVENT_BUFFER_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define EVENT_BUFFER_EVENT_MAX \
	((size_t)32 * 1024 * 1024) /* a longer one is left out, as if it were gone */
/* When all rings together hold more than this, each keeps no more than its share of it, or the least. */
#define EVENT_BUFFER_ALL_BYTES ((size_t)128 * 1024 * 1024)
#define EVENT_BUFFER_LEAST_BYTES ((size_t)256 * 1024)
#define EVENT_BUFFER_BATCH_BYTES ((size_t)40 * 1024)

struct event_buffer;

struct event_buffer *event_buffer_new(void);
void event_buffer_free(struct event_buffer *buffer); /* NULL is fine */

/* True: a reader that found nothing new is to be told now. */
bool event_buffer_push(struct event_buffer *buffer, const char *name, const char *json, size_t len);

/* No more events come. Until then the last one, "done", is held back: its record is not yet kept. */
void event_buffer_finish(struct event_buffer *buffer);

/* Gives back the room that no event needs any more; returns how many bytes it holds. */
size_t event_buffer_shrink(struct event_buffer *buffer);
size_t event_buffer_all_bytes(void); /* of the events of all rings */

/*
 * Between two reads a reader is away with what it got, and will ask for what comes next. To be told
 * of each that asks; whether one is away that has not got the end yet, though there is one.
 */
void event_buffer_reader_back(struct event_buffer *buffer);
bool event_buffer_is_unread(struct event_buffer *buffer);

/*
 * The events after `after`: at least one if there is one, then as many as fit into EVENT_BUFFER_BATCH_BYTES;
 * and whether they are the last. What it gives is of the arena. False: there is nothing new yet.
 */
bool event_buffer_read(struct event_buffer *buffer, uint64_t after, struct arena *arena,
		       struct api_events *ret);
