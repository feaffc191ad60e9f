/*
 * peer.c - one dialect process: what it has not been answered, its queue, its start and its end.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing itself; frames.c reads the frames, child.c has the process.
 * Never:    waits for the process. A breach of the protocol ends it, and nothing else.
 *
 * Request ids get the generation of the process in their upper 16 bits, so that what was asked by a
 * process that is gone is never answered to another one.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/executions/cancel.h"
#include "host/host.h"
#include "host/fronts/inner.h"

#define PAUSE_FIRST_MS 20u /* before the second start in a row; the first one comes at once */
#define PAUSE_MAX_MS 250u
#define READY_MS 30000u /* from a start to READY; but for the first start of all, which has no limit */
#define STEADY_NS (10ull * 1000000000u) /* up for so long, it is no start in a row any more */
#define MS 1000000ull

struct pending {
	struct pending *next;
	uint64_t request;
};

/* ---- what is unanswered --------------------------------------------------------------------- */

static struct pending **find(struct peer *peer, uint64_t request)
{
	struct pending **at = &peer->buckets[request % PEER_BUCKETS];

	while (*at != NULL && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

bool peer_has_pending(struct peer *peer, uint64_t request)
{
	return *find(peer, request) != NULL;
}

bool peer_take_pending(struct peer *peer, uint64_t request)
{
	struct pending **at = find(peer, request), *found = *at;

	if (found == NULL)
		return false;
	*at = found->next;
	free(found);
	peer->pending_count--;
	return true;
}

void peer_add_pending(struct peer *peer, uint64_t request)
{
	struct pending *pending = mem_new0(1, sizeof(*pending));

	pending->request = request;
	pending->next = peer->buckets[request % PEER_BUCKETS];
	peer->buckets[request % PEER_BUCKETS] = pending;
	peer->pending_count++;
}

static void drop_pending(struct peer *peer)
{
	for (size_t i = 0; i < PEER_BUCKETS; i++)
		while (peer->buckets[i] != NULL) {
			const uint64_t request = peer->buckets[i]->request;

			(void)peer_take_pending(peer, request);
			answer_cancel(peer->host, request);
		}
}

/* ---- the queue ------------------------------------------------------------------------------ */

/* Takes the first one out, and frees it. */
static void drop_first(struct peer *peer)
{
	struct outgoing *outgoing = peer->first;

	peer->first = outgoing->next;
	if (peer->first == NULL)
		peer->last = NULL;
	if (outgoing->type == FRONT_CONNECTION) {
		peer->connection_count--;
		peer->connection_bytes -= outgoing->payload.len;
	}
	buf_done(&outgoing->payload);
	if (outgoing->fd >= 0)
		(void)close(outgoing->fd);
	free(outgoing);
}

static void drop_queue(struct peer *peer)
{
	while (peer->first != NULL)
		drop_first(peer);
}

static bool is_held(const struct peer *peer, const struct outgoing *outgoing)
{
	return outgoing->turn > peer->host->synced;
}

static int send_frame(const struct peer *peer, const struct outgoing *at, struct err *err)
{
	if (at->type == FRONT_CONNECTION)
		return front_send_handoff(peer->sock, at->type, &at->payload, at->fd, err);
	return front_send_image(peer->sock, (uint16_t)at->type, at->request & PEER_ID_MASK,
				&at->payload, at->fd, err);
}

void peer_flush(struct peer *peer)
{
	struct outgoing *at;
	struct err err;

	if (peer->sock < 0 || peer->state != FRONT_STATE_SERVING)
		return;
	while ((at = peer->first) != NULL && !is_held(peer, at)) {
		if (send_frame(peer, at, &err) < 0 && err.code == ERR_TIMEOUT)
			break;
		/* Another failure means that it is gone, which the loop is going to see. */
		drop_first(peer);
	}
	if (peer->io != NULL)
		loop_io_want(peer->io, LOOP_READ | (peer->first != NULL && !is_held(peer, peer->first)
							       ? LOOP_WRITE
							       : 0));
}

/* At most one for each request that is unanswered, and as many connections as handoff.c lets in: so
 * the queue is bounded. */
void peer_post(struct peer *peer, enum front_type type, uint64_t request, struct buf *payload,
	       int fd)
{
	struct outgoing *outgoing = mem_new0(1, sizeof(*outgoing));

	outgoing->type = type;
	outgoing->request = request;
	outgoing->fd = fd;
	/* A connection tells nothing that a commit could take back. */
	outgoing->turn = type == FRONT_CONNECTION ? 0 : turn_of_answer(peer->host);
	outgoing->payload = *payload;
	*payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (type == FRONT_CONNECTION) {
		peer->connection_count++;
		peer->connection_bytes += outgoing->payload.len;
	}
	if (peer->last != NULL)
		peer->last->next = outgoing;
	else
		peer->first = outgoing;
	peer->last = outgoing;
	peer_flush(peer);
}

/* ---- the process ---------------------------------------------------------------------------- */

static const char *name_of(const struct peer *peer)
{
	return dialect_name(peer->dialect);
}

void peer_came_up(struct peer *peer)
{
	peer->state = FRONT_STATE_SERVING;
	loop_timer_clear(peer->timer);
	if (!peer->was_ready && peer->dialect == DIALECT_NATIVE) {
		(void)dprintf(STDOUT_FILENO, "reckon: listening on %s\n", peer->host->listening);
		notify_manager("READY=1");
	}
	peer->was_ready = true;
	peer_flush(peer); /* connections that waited for it */
}

/* One that no process has just now: 16 bits come round in hours of crashes. */
static uint64_t next_generation(struct host *host)
{
	do
		host->peer_generation = (host->peer_generation + 1) & 0xffffu;
	while (host->peer_generation == 0 ||
	       peer_of_request(host, host->peer_generation << PEER_ID_BITS) != NULL);
	return host->peer_generation;
}

int peer_spawn(struct peer *peer, struct err *err)
{
	struct host *host = peer->host;

	peer->started_ns = clock_mono_ns();
	peer->was_started = true;
	if (front_child_spawn(host, peer->dialect, &peer->child, &peer->sock, err) < 0)
		return (int)err->code;
	peer->state = FRONT_STATE_STARTING;
	peer->generation = next_generation(host);
	peer->last_id = 0;
	if (loop_io_new(host->loop, peer->sock, peer_on_frame, peer, &peer->io, err) < 0)
		return (int)err->code;
	loop_io_want(peer->io, LOOP_READ);
	return 0;
}

static void drop_process(struct peer *peer)
{
	loop_io_free(peer->io);
	peer->io = NULL;
	if (peer->sock >= 0)
		(void)close(TAKE_FD(peer->sock));
	front_child_end(&peer->child, SIGKILL);
	drop_queue(peer);
	cancel_front_lost(peer->host, peer->generation << PEER_ID_BITS,
			  peer->generation << PEER_ID_BITS | PEER_ID_MASK);
	drop_pending(peer);
	peer->generation = 0; /* another one may get it now */
}

static void start(struct peer *peer)
{
	const bool again = peer->was_started;
	struct err err;

	if (peer_spawn(peer, &err) < 0) {
		log_line(LOG_ERROR, "the front cannot be started", "dialect=%s why=\"%s\"",
			 name_of(peer), err.text);
		drop_process(peer);
		peer->pause_ms = PAUSE_MAX_MS;
		peer->not_before_ns = clock_mono_ns() + PAUSE_MAX_MS * MS;
		if (peer->dialect == DIALECT_NATIVE)
			loop_timer_set(peer->timer, PAUSE_MAX_MS);
		return;
	}
	loop_timer_set(peer->timer, READY_MS);
	if (again)
		peer->restarts++;
	log_line(again ? LOG_WARN : LOG_INFO,
		 again ? "the front was started again" : "the front was started",
		 "dialect=%s pid=%d", name_of(peer), (int)peer->child.pid);
}

void peer_want(struct peer *peer)
{
	const uint64_t now = clock_mono_ns();

	if (peer->sock >= 0 || peer->host->is_stopping)
		return;
	if (now >= peer->not_before_ns)
		start(peer);
	else
		loop_timer_set(peer->timer, (peer->not_before_ns - now + MS - 1) / MS);
}

static void on_timer(void *arg)
{
	struct peer *peer = arg;

	if (peer->sock < 0)
		peer_want(peer);
	else if (peer->state == FRONT_STATE_STARTING)
		peer_lost(peer, "it did not come up in time");
}

/* Sessions and executions go on, however often this happens; clients see a closed connection and may
 * ask again. The native dialect has the listener and is started again; another one when a client
 * needs it. A native one that never came up is a fault of the installation: no use to go on. */
void peer_lost(struct peer *peer, const char *why)
{
	struct host *host = peer->host;
	const uint64_t now = clock_mono_ns();

	log_line(LOG_ERROR, "the front is gone", "dialect=%s why=\"%s\"", name_of(peer), why);
	loop_timer_clear(peer->timer);
	drop_process(peer);
	if (host->is_stopping)
		return;
	if (!peer->was_ready && peer->dialect == DIALECT_NATIVE) {
		log_line(LOG_ERROR, "the front did not come up, so the daemon ends", NULL);
		host->exit_status = 125;
		loop_stop(host->loop);
		return;
	}
	if (now - peer->started_ns > STEADY_NS)
		peer->pause_ms = 0;
	peer->not_before_ns = now + peer->pause_ms * MS;
	peer->pause_ms = peer->pause_ms == 0	      ? PAUSE_FIRST_MS
			 : peer->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS
							     : peer->pause_ms * 2;
	if (peer->dialect == DIALECT_NATIVE)
		peer_want(peer);
}

struct peer *peer_new(struct host *host, size_t dialect, struct err *err)
{
	struct peer *peer = mem_new0(1, sizeof(*peer));

	peer->host = host;
	peer->dialect = dialect;
	peer->sock = -1;
	peer->child.pid = -1;
	peer->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (loop_timer_new(host->loop, on_timer, peer, &peer->timer, err) < 0) {
		peer_free(peer);
		return NULL;
	}
	return peer;
}

void peer_free(struct peer *peer)
{
	drop_process(peer);
	loop_timer_free(peer->timer);
	front_child_drop_page(&peer->child);
	buf_done(&peer->payload);
	free(peer);
}
