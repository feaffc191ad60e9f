/*
 * follow.c - requests that wait for a process's events or its end.
 *
 * Runs in:  reckond's loop.
 * Reads:    event buffers.
 * Never:    lets one reader take events from another.
 *
 * A client that follows repeats its request; between two requests its reader is `away` with the
 * events that it got. If the client's connection closes, the dialect process reports it for the
 * last request.
 */
#include "host/processes/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/fronts/reply.h"
#include "host/host.h"

#define WAIT_DEFAULT_MS (3600u * 1000u)

/* ---- readers -------------------------------------------------------------------------------- */

void process_remove_reader(struct process *process, size_t index)
{
	struct process_followers *follow = &process->follow;
	const struct process_reader gone = follow->readers[index];

	follow->readers[index] = follow->readers[--follow->reader_count];
	if (follow->reader_count > 0)
		return;
	follow->alone_ns = clock_mono_ns();
	follow->left_at = gone.after;
}

/* Answers if there are new events. 1: including the last one; -1: there are none yet. */
static int try_events(struct process *process, uint64_t request, uint64_t *after)
{
	cleanup_arena struct arena arena = { 0 };
	const struct api_event *events;
	struct api_events reply;

	if (!event_buffer_read(process->follow.events, *after, &arena, &reply))
		return -1;
	events = reply.events.items;
	if (reply.events.count > 0)
		*after = events[reply.events.count - 1].id;
	reply_process_events(process->session->host, request, &reply);
	return reply.is_last ? 1 : 0;
}

void process_publish(struct process *process)
{
	for (size_t i = 0; i < process->follow.reader_count;) {
		struct process_reader *reader = &process->follow.readers[i];
		const int tried = reader->is_away
					  ? -1
					  : try_events(process, reader->request, &reader->after);

		if (tried == 1) {
			process_remove_reader(process, i);
			continue;
		}
		if (tried == 0)
			reader->is_away = true;
		i++;
	}
	process_unhold(process);
}

/* Removes the reader that got the events up to `after`, because it asks again. */
static void take_back(struct process *process, uint64_t after)
{
	struct process_followers *follow = &process->follow;

	for (size_t i = 0; i < follow->reader_count; i++)
		if (follow->readers[i].is_away && follow->readers[i].after == after) {
			follow->readers[i] = follow->readers[--follow->reader_count];
			return;
		}
}

void process_follow(struct process *process, uint64_t request, uint64_t after, bool goes_on)
{
	struct process_followers *follow = &process->follow;
	struct host *host = process->session->host;
	struct process_reader reader = { .request = request, .after = after };
	int tried;

	if (goes_on)
		take_back(process, after);
	if (follow->reader_count == PROCESS_READERS_MAX) {
		front_fail(host, request, API_ERR_BUSY, "too many clients follow this process", "",
			  "end one of those", 1);
		return;
	}
	tried = try_events(process, request, &reader.after);
	if (tried != 1) {
		reader.is_away = tried == 0;
		follow->readers = mem_grow(follow->readers, follow->reader_count + 1,
					    sizeof(*follow->readers));
		follow->readers[follow->reader_count++] = reader;
		follow->alone_ns = 0;
		follow->was_followed = true;
	}
	process_unhold(process);
}

/* ---- the end -------------------------------------------------------------------------------- */

void process_answer_waiter(struct process *process, uint64_t request)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_process reply;

	process_tell(&arena, &process->row, false, &reply);
	reply_process_wait(process->session->host, request, &reply);
}

void process_wait(struct process *process, uint64_t request, uint64_t timeout_ms)
{
	struct process_followers *follow = &process->follow;
	const uint64_t ms = timeout_ms > 0 ? timeout_ms : WAIT_DEFAULT_MS;

	if (process->phase == PROCESS_ENDED) {
		process_answer_waiter(process, request);
		return;
	}
	if (follow->waiter_count == PROCESS_WAITERS_MAX) {
		front_fail(process->session->host, request, API_ERR_BUSY,
			  "too many clients wait for this process", "", "", 1);
		return;
	}
	follow->waiters = mem_grow(follow->waiters, follow->waiter_count + 1,
				    sizeof(*follow->waiters));
	follow->waiters[follow->waiter_count++] =
		(struct process_waiter){ request, clock_mono_ns() + ms * 1000000u };
}

void process_answer_waiters(struct process *process)
{
	struct process_followers *follow = &process->follow;

	while (follow->waiter_count > 0)
		process_answer_waiter(process, follow->waiters[--follow->waiter_count].request);
}
