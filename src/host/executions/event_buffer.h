/*
 * event_buffer.h - the events of one execution: its thread writes them, the loop reads them.
 *
 * The writer never waits for a reader. The ring keeps the newest events, limited by number and by
 * bytes; a reader that asks for older ones learns how many are missing. Ids are the events' own
 * numbers, from 1.
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
	((size_t)32 * 1024 * 1024) /* a longer one counts as missing */
/*
 * If all rings together hold more than this, each may hold its share of it, but at least
 * LEAST_BYTES.
 */
#define EVENT_BUFFER_ALL_BYTES ((size_t)128 * 1024 * 1024)
#define EVENT_BUFFER_LEAST_BYTES ((size_t)256 * 1024)
#define EVENT_BUFFER_BATCH_BYTES ((size_t)40 * 1024)

struct event_buffer;

struct event_buffer *event_buffer_new(void);
void event_buffer_free(struct event_buffer *buffer); /* NULL is fine */

/* True: a reader waits for new events and must be woken. */
bool event_buffer_push(struct event_buffer *buffer, const char *name, const char *json, size_t len);

/* Call when the record is stored. Until then readers do not get the last event, "done". */
void event_buffer_finish(struct event_buffer *buffer);

/* Frees unused places; returns the bytes that the buffer still uses. */
size_t event_buffer_shrink(struct event_buffer *buffer);
size_t event_buffer_all_bytes(void); /* of the events in all buffers */

/*
 * A reader that got events but not the end will ask again. Call reader_back() for each request that
 * does; is_unread() is true if the execution has ended and such a reader has not got the end yet.
 */
void event_buffer_reader_back(struct event_buffer *buffer);
bool event_buffer_is_unread(struct event_buffer *buffer);

/*
 * Reads the events after `after`: at least one if there is one, at most EVENT_BUFFER_BATCH_BYTES,
 * and whether they are the last. `arena` owns the result. False: there is nothing new yet.
 */
bool event_buffer_read(struct event_buffer *buffer, uint64_t after, struct arena *arena,
		       struct api_events *ret);
