/*
 * conn.c - one dialect process: its pending requests, its queue, its start and end.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing itself; frames.c reads the frames, child.c has the process.
 * Never:    waits for the process, or does more than end it if it violates the protocol.
 *
 * Request ids contain the generation of their process in the upper 16 bits, so that the answer to a
 * request of an ended process never goes to another process.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/fronts/inner.h"

#define PAUSE_FIRST_MS 20u /* before the second restart in a row; the first one has no pause */
#define PAUSE_MAX_MS 250u
#define READY_MS 30000u /* from a start to READY; the daemon's first start has no limit */
#define STABLE_NS (10ull * 1000000000u) /* a process that lasted this long resets the pause */
#define MS 1000000ull

struct pending {
	struct pending *next;
	uint64_t request;
};

/* ---- pending requests ----------------------------------------------------------------------- */

static struct pending **find(struct front_conn *front, uint64_t request)
{
	struct pending **at = &front->buckets[request % PEER_BUCKETS];

	while (*at != NULL && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

bool front_has_pending(struct front_conn *front, uint64_t request)
{
	return *find(front, request) != NULL;
}

bool front_take_pending(struct front_conn *front, uint64_t request)
{
	struct pending **at = find(front, request), *found = *at;

	if (found == NULL)
		return false;
	*at = found->next;
	free(found);
	front->pending_count--;
	return true;
}

void front_add_pending(struct front_conn *front, uint64_t request)
{
	struct pending *pending = mem_new0(1, sizeof(*pending));

	pending->request = request;
	pending->next = front->buckets[request % PEER_BUCKETS];
	front->buckets[request % PEER_BUCKETS] = pending;
	front->pending_count++;
}

static void drop_pending(struct front_conn *front)
{
	for (size_t i = 0; i < PEER_BUCKETS; i++)
		while (front->buckets[i] != NULL) {
			const uint64_t request = front->buckets[i]->request;

			(void)front_take_pending(front, request);
			MODULE_EACH(front->host, request_gone, front->host, request);
		}
}

/* ---- the queue ------------------------------------------------------------------------------ */

/* Removes and frees the first entry. */
static void drop_first(struct front_conn *front)
{
	struct outgoing *outgoing = front->first;

	front->first = outgoing->next;
	if (front->first == NULL)
		front->last = NULL;
	if (outgoing->type == FRONT_CONNECTION) {
		front->connection_count--;
		front->connection_bytes -= outgoing->payload.len;
	}
	buf_done(&outgoing->payload);
	if (outgoing->fd >= 0)
		(void)close(outgoing->fd);
	free(outgoing);
}

static void drop_queue(struct front_conn *front)
{
	while (front->first != NULL)
		drop_first(front);
}

static bool is_held(const struct front_conn *front, const struct outgoing *outgoing)
{
	return outgoing->transaction > front->host->transactions.synced;
}

static int send_frame(const struct front_conn *front, const struct outgoing *at, struct err *err)
{
	if (at->type == FRONT_CONNECTION)
		return front_send_handoff(front->sock, at->type, &at->payload, at->fd, err);
	return front_send_image(front->sock, (uint16_t)at->type, at->request & PEER_ID_MASK,
				&at->payload, at->fd, err);
}

void front_flush(struct front_conn *front)
{
	struct outgoing *at;
	struct err err;

	if (front->sock < 0 || front->state != FRONT_STATE_SERVING)
		return;
	while ((at = front->first) != NULL && !is_held(front, at)) {
		if (send_frame(front, at, &err) < 0 && err.code == ERR_TIMEOUT)
			break;
		/* Any other error means that the process has ended; the loop will notice. */
		drop_first(front);
	}
	if (front->io != NULL)
		loop_io_want(front->io,
			     LOOP_READ | (front->first != NULL && !is_held(front, front->first)
						  ? LOOP_WRITE
						  : 0));
}

/*
 * The queue is bounded: at most one answer for each pending request, and as many connections as
 * handoff.c allows.
 */
void front_post(struct front_conn *front, enum front_type type, uint64_t request,
		struct buf *payload, int fd)
{
	struct outgoing *outgoing = mem_new0(1, sizeof(*outgoing));

	outgoing->type = type;
	outgoing->request = request;
	outgoing->fd = fd;
	/* A connection does not depend on a commit. */
	outgoing->transaction = type == FRONT_CONNECTION ? 0 : transaction_of_reply(front->host);
	outgoing->is_reading = front->host->transactions.is_reading;
	outgoing->payload = *payload;
	*payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (type == FRONT_CONNECTION) {
		front->connection_count++;
		front->connection_bytes += outgoing->payload.len;
	}
	if (front->last != NULL)
		front->last->next = outgoing;
	else
		front->first = outgoing;
	front->last = outgoing;
	front_flush(front);
}

/* ---- the process ---------------------------------------------------------------------------- */

static const char *name_of(const struct front_conn *front)
{
	return dialect_name(front->dialect);
}

void front_came_up(struct front_conn *front)
{
	front->state = FRONT_STATE_SERVING;
	loop_timer_clear(front->timer);
	if (!front->was_ready && front->dialect == DIALECT_NATIVE) {
		(void)dprintf(STDOUT_FILENO, "reckon: listening on %s\n", front->host->door.name);
		notify_manager("READY=1");
	}
	front->was_ready = true;
	front_flush(front); /* sends the connections that waited */
}

struct front_conn *front_of_request(const struct host *host, uint64_t request)
{
	const uint64_t generation = request >> PEER_ID_BITS;

	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL && host->fronts.of[i]->sock >= 0 &&
		    host->fronts.of[i]->generation == generation)
			return host->fronts.of[i];
	return NULL;
}

/* Skips generations that are in use: 16 bits wrap after hours of crashes. */
static uint64_t next_generation(struct host *host)
{
	do
		host->fronts.generation = (host->fronts.generation + 1) & 0xffffu;
	while (host->fronts.generation == 0 ||
	       front_of_request(host, host->fronts.generation << PEER_ID_BITS) != NULL);
	return host->fronts.generation;
}

int front_spawn(struct front_conn *front, struct err *err)
{
	struct host *host = front->host;

	front->started_ns = clock_mono_ns();
	front->was_started = true;
	if (front_child_spawn(host, front->dialect, &front->child, &front->sock, err) < 0)
		return (int)err->code;
	front->state = FRONT_STATE_STARTING;
	front->generation = next_generation(host);
	front->last_id = 0;
	if (loop_io_new(host->loop, front->sock, host->fronts.on_frame, front, &front->io, err) < 0)
		return (int)err->code;
	loop_io_want(front->io, LOOP_READ);
	return 0;
}

static void drop_process(struct front_conn *front)
{
	loop_io_free(front->io);
	front->io = NULL;
	if (front->sock >= 0)
		(void)close(TAKE_FD(front->sock));
	front_child_end(&front->child, SIGKILL);
	drop_queue(front);
	MODULE_EACH(front->host, front_lost, front->host, front->generation << PEER_ID_BITS,
		    front->generation << PEER_ID_BITS | PEER_ID_MASK);
	drop_pending(front);
	front->generation = 0; /* another process may now get this generation */
}

static void start(struct front_conn *front)
{
	const bool again = front->was_started;
	struct err err;

	if (front_spawn(front, &err) < 0) {
		log_line(LOG_ERROR, "the front cannot be started", "dialect=%s why=\"%s\"",
			 name_of(front), err.text);
		drop_process(front);
		front->pause_ms = PAUSE_MAX_MS;
		front->not_before_ns = clock_mono_ns() + PAUSE_MAX_MS * MS;
		if (front->dialect == DIALECT_NATIVE)
			loop_timer_set(front->timer, PAUSE_MAX_MS);
		return;
	}
	loop_timer_set(front->timer, READY_MS);
	if (again)
		front->restarts++;
	log_line(again ? LOG_WARN : LOG_INFO,
		 again ? "the front was started again" : "the front was started",
		 "dialect=%s pid=%d", name_of(front), (int)front->child.pid);
}

void front_want(struct front_conn *front)
{
	const uint64_t now = clock_mono_ns();

	if (front->sock >= 0 || lifecycle_is_ending(&front->host->life))
		return;
	if (now >= front->not_before_ns)
		start(front);
	else
		loop_timer_set(front->timer, (front->not_before_ns - now + MS - 1) / MS);
}

static void on_timer(void *arg)
{
	struct front_conn *front = arg;

	if (front->sock < 0)
		front_want(front);
	else if (front->state == FRONT_STATE_STARTING)
		front_lost(front, "it did not come up in time");
}

/*
 * Sessions and executions continue; clients see a closed connection and may repeat their requests.
 * Restarts the native dialect, which has the listener; others start again when a client needs them.
 * If the native one was never ready, the installation is broken, so the daemon ends.
 */
void front_lost(struct front_conn *front, const char *why)
{
	struct host *host = front->host;
	const uint64_t now = clock_mono_ns();

	log_line(LOG_ERROR, "the front is gone", "dialect=%s why=\"%s\"", name_of(front), why);
	loop_timer_clear(front->timer);
	drop_process(front);
	if (lifecycle_is_ending(&host->life))
		return;
	if (!front->was_ready && front->dialect == DIALECT_NATIVE) {
		log_line(LOG_ERROR, "the front did not come up, so the daemon ends", NULL);
		(void)lifecycle_move(&host->life, LIFECYCLE_FAILED);
		loop_stop(host->loop);
		return;
	}
	if (now - front->started_ns > STABLE_NS)
		front->pause_ms = 0;
	front->not_before_ns = now + front->pause_ms * MS;
	front->pause_ms = front->pause_ms == 0	      ? PAUSE_FIRST_MS
			 : front->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS
							     : front->pause_ms * 2;
	if (front->dialect == DIALECT_NATIVE)
		front_want(front);
}

struct front_conn *front_new(struct host *host, size_t dialect, struct err *err)
{
	struct front_conn *front = mem_new0(1, sizeof(*front));

	front->host = host;
	front->dialect = dialect;
	front->sock = -1;
	front->child.pid = -1;
	front->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (loop_timer_new(host->loop, on_timer, front, &front->timer, err) < 0) {
		front_free(front);
		return NULL;
	}
	return front;
}

struct front_conn *front_of_dialect(struct host *host, size_t dialect, struct err *err)
{
	if (host->fronts.of[dialect] == NULL)
		host->fronts.of[dialect] = front_new(host, dialect, err);
	return host->fronts.of[dialect];
}

void front_free(struct front_conn *front)
{
	drop_process(front);
	loop_timer_free(front->timer);
	front_child_drop_page(&front->child);
	buf_done(&front->payload);
	free(front);
}
