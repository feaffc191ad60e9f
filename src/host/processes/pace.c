/*
 * pace.c - limits how fast output of processes is read.
 *
 * Runs in:  reckond's loop.
 * Reads:    the clock, its own counts.
 * Never:    lets processes with much output block the loop: in each time window it reads a limited
 *           number of bytes from each process and from all.
 */
#include "host/host.h"
#include "host/processes/process.h"

#define WINDOW_MS 10u
#define WINDOW_ALL_BYTES (1024u * 1024u) /* beyond it, each gets only the least */
#define WINDOW_EACH_BYTES (512u * 1024u)
#define WINDOW_LEAST_BYTES (16u * 1024u)
#define UNREAD_MOST 64u /* events that a process with waits_when_full may be ahead of its readers */
#define UNREAD_FEW 4u	/* when all event buffers together are large */

/* The last event that the slowest reader has; UINT64_MAX: there is no reader. */
static uint64_t slowest_of(const struct process *process)
{
	uint64_t slowest = UINT64_MAX;

	for (size_t i = 0; i < process->follow.reader_count; i++)
		if (process->follow.readers[i].after < slowest)
			slowest = process->follow.readers[i].after;
	if (process->follow.reader_count > 0 || process->follow.alone_ns == 0)
		return slowest;
	return clock_mono_ns() - process->follow.alone_ns < PROCESS_FIRST_READER_NS
		       ? process->follow.left_at
		       : UINT64_MAX;
}

static bool should_hold(const struct process *process)
{
	const uint64_t slowest = slowest_of(process);
	const unsigned most =
		event_buffer_all_bytes() > EVENT_BUFFER_ALL_BYTES / 2 ? UNREAD_FEW : UNREAD_MOST;

	return process->io.waits_when_full && slowest != UINT64_MAX &&
	       process->row.last_event > slowest && process->row.last_event - slowest >= most;
}

void process_want_output(const struct process *process)
{
	const unsigned interest = process->io.is_paused || process->io.is_held ? 0 : LOOP_READ;

	if (process->io.out != NULL)
		loop_io_want(process->io.out, interest);
	if (process->io.err != NULL)
		loop_io_want(process->io.err, interest);
}

void process_enter_window(struct host *host, struct process *process)
{
	const uint64_t window = clock_mono_ns() / (WINDOW_MS * 1000000u);

	if (host->pace.window != window) {
		host->pace.window = window;
		host->pace.bytes = 0;
	}
	if (process->io.window != window) {
		process->io.window = window;
		process->io.window_bytes = 0;
	}
}

static void on_window(void *arg)
{
	struct host *host = arg;

	host->pace.is_set = false;
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct process *at = session->processes.first; at != NULL; at = at->next)
			if (at->io.is_paused) {
				at->io.is_paused = false;
				process_want_output(at);
			}
}

/* Stops reading until the next window. */
static void pause_output(struct host *host, struct process *process)
{
	struct err err;

	if (host->pace.timer == NULL &&
	    loop_timer_new(host->loop, on_window, host, &host->pace.timer, &err) < 0)
		return;
	if (!host->pace.is_set)
		loop_timer_set(host->pace.timer, WINDOW_MS);
	host->pace.is_set = true;
	process->io.is_paused = true;
}

void process_note_read(struct process *process, size_t len)
{
	struct host *host = process->session->host;

	host->pace.bytes += len;
	process->io.window_bytes += len;
	process->io.over_ns = process->io.is_over ? clock_mono_ns() : 0;
	if (process->io.window_bytes >= WINDOW_EACH_BYTES ||
	    (host->pace.bytes >= WINDOW_ALL_BYTES &&
	     process->io.window_bytes >= WINDOW_LEAST_BYTES))
		pause_output(host, process);
	process->io.is_held = should_hold(process);
	if (process->io.is_paused || process->io.is_held)
		process_want_output(process);
}

void process_unhold(struct process *process)
{
	if (!process->io.is_held || should_hold(process))
		return;
	process->io.is_held = false;
	process_want_output(process);
}
