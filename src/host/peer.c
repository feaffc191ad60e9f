/*
 * peer.c - the front: spoken with in frames, replaced when it dies (front_child.c starts it).
 *
 * Runs in:  reckond's loop.
 * Reads:    frames of a front that may be captured; front_may_send() and front_check() judge them.
 * Never:    waits for the front. A breach of the protocol ends it.
 *
 * Request ids get the front's generation in their upper 16 bits, so that what was asked by a front
 * that is gone is never answered to its successor.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/image.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/cancel.h"
#include "host/front_child.h"
#include "host/host.h"

#define BUCKETS 4096u
#define ID_BITS 48
#define ID_MASK ((1ull << ID_BITS) - 1)
#define PAUSE_FIRST_MS 20u /* before the second start in a row; the first one comes at once */
#define PAUSE_MAX_MS 250u
#define STEADY_NS (10ull * 1000000000u) /* up for so long, it is no start in a row any more */
#define STOP_MS 3000u
#define FRAMES_IN_A_ROW 64

struct pending {
	struct pending *next;
	uint64_t request;
};

struct outgoing {
	struct outgoing *next;
	enum front_type type;
	bool is_call; /* of a REPLY: its payload is an image */
	uint64_t request;
	struct buf payload;
	int fd;
	uint64_t turn; /* that it waits for (turn.c); 0: none */
};

struct peer {
	struct host *host;
	struct front_child child;
	int sock;
	struct loop_io *io;
	enum front_state state;
	uint64_t generation;
	uint64_t last_id;
	struct pending *buckets[BUCKETS];
	unsigned pending_count;
	struct outgoing *first, *last;
	struct loop_timer *again; /* runs while it waits for the next start */
	unsigned pause_ms;	  /* before the next start */
	unsigned restarts;
	uint64_t started_ns;
	bool was_ready;
	struct buf payload;
	struct kernel_item *items;
};

/* ---- what is unanswered --------------------------------------------------------------------- */

static struct pending **find(struct peer *peer, uint64_t request)
{
	struct pending **at = &peer->buckets[request % BUCKETS];

	while (*at != NULL && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

bool peer_is_pending(const struct host *host, uint64_t request)
{
	return host->peer != NULL && *find(host->peer, request) != NULL;
}

bool peer_is_busy(const struct host *host)
{
	return host->peer != NULL && host->peer->pending_count > 0;
}

static bool take_pending(struct peer *peer, uint64_t request)
{
	struct pending **at = find(peer, request), *found = *at;

	if (found == NULL)
		return false;
	*at = found->next;
	free(found);
	peer->pending_count--;
	return true;
}

static void add_pending(struct peer *peer, uint64_t request)
{
	struct pending *pending = mem_new0(1, sizeof(*pending));

	pending->request = request;
	pending->next = peer->buckets[request % BUCKETS];
	peer->buckets[request % BUCKETS] = pending;
	peer->pending_count++;
}

static void drop_pending(struct peer *peer)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (peer->buckets[i] != NULL) {
			const uint64_t request = peer->buckets[i]->request;

			(void)take_pending(peer, request);
			answer_cancel(peer->host, request);
		}
}

/* ---- sending -------------------------------------------------------------------------------- */

static void outgoing_free(struct outgoing *outgoing)
{
	buf_done(&outgoing->payload);
	if (outgoing->fd >= 0)
		(void)close(outgoing->fd);
	free(outgoing);
}

static bool is_held(const struct peer *peer, const struct outgoing *outgoing)
{
	return outgoing->turn > peer->host->synced;
}

static int send_frame(const struct peer *peer, const struct outgoing *at, struct err *err)
{
	if (at->is_call)
		return front_send_call(peer->sock, (uint16_t)at->type, at->request & ID_MASK,
				       &at->payload, err);
	return front_send(peer->sock, at->type, at->request & ID_MASK, &at->payload, at->fd, err);
}

static void flush(struct peer *peer)
{
	struct outgoing *at;
	struct err err;

	while ((at = peer->first) != NULL && peer->sock >= 0 && !is_held(peer, at)) {
		if (send_frame(peer, at, &err) < 0 && err.code == ERR_TIMEOUT)
			break;
		/* Another failure means that it is gone, which the loop is going to see. */
		peer->first = at->next;
		outgoing_free(at);
	}
	if (peer->first == NULL)
		peer->last = NULL;
	if (peer->io != NULL)
		loop_io_want(peer->io, LOOP_READ | (peer->first != NULL && !is_held(peer, peer->first)
							       ? LOOP_WRITE
							       : 0));
}

/* At most one for each request that is unanswered, so the queue is bounded by those. */
static void post(struct peer *peer, enum front_type type, bool is_call, uint64_t request,
		 const struct buf *payload, int fd)
{
	struct outgoing *outgoing = mem_new0(1, sizeof(*outgoing));
	struct err err;

	outgoing->type = type;
	outgoing->is_call = is_call;
	outgoing->request = request;
	outgoing->fd = fd;
	outgoing->turn = turn_of_answer(peer->host);
	outgoing->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (payload != NULL && payload->len > 0 &&
	    buf_add(&outgoing->payload, payload->data, payload->len, &err) < 0)
		log_line(LOG_ERROR, "an answer was lost", "why=\"%s\"", err.text);
	if (peer->last != NULL)
		peer->last->next = outgoing;
	else
		peer->first = outgoing;
	peer->last = outgoing;
	flush(peer);
}

void peer_reply(struct host *host, uint64_t request, const struct buf *payload, int fd)
{
	if (host->peer != NULL && take_pending(host->peer, request))
		post(host->peer, FRONT_REPLY, false, request, payload, fd);
	else if (fd >= 0)
		(void)close(fd);
}

void peer_reply_call(struct host *host, uint64_t request, const struct api_type *type,
		     const void *out)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct err err;

	if (api_image_write(type, out, &payload, &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else if (host->peer != NULL && take_pending(host->peer, request))
		post(host->peer, FRONT_REPLY, true, request, &payload, -1);
}

static void pack_error(struct buf *payload, enum front_error error, const char *message,
		       const char *cause, const char *remedy, unsigned retry_s)
{
	struct err err;

	if (front_pack_u64(payload, FRONT_TAG_ERROR, error, &err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_MESSAGE, message, &err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_CAUSE, cause, &err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_REMEDY, remedy, &err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_RETRY_S, retry_s, &err) < 0)
		log_line(LOG_ERROR, "an error was lost", "why=\"%s\"", err.text);
}

void peer_release(struct host *host)
{
	if (host->peer != NULL)
		flush(host->peer);
}

enum front_error peer_unkept(const struct err *err)
{
	return err->errnum == ENOSPC ? FRONT_ERR_DISK_FULL : FRONT_ERR_INTERNAL;
}

void peer_fail_turns(struct host *host, uint64_t first, const struct err *failed)
{
	struct peer *peer = host->peer;

	if (peer == NULL)
		return;
	for (struct outgoing *at = peer->first; at != NULL; at = at->next) {
		if (at->turn < first)
			continue;
		buf_clear(&at->payload);
		if (at->fd >= 0)
			(void)close(at->fd);
		at->fd = -1;
		at->type = FRONT_ERROR;
		at->is_call = false;
		pack_error(&at->payload,
			   peer_unkept(failed),
			   "what was done could not be kept", failed->text, failed->remedy, 0);
		at->turn = first - 1;
	}
	flush(peer);
}

void peer_error(struct host *host, uint64_t request, const struct buf *payload)
{
	if (host->peer != NULL && take_pending(host->peer, request))
		post(host->peer, FRONT_ERROR, false, request, payload, -1);
}

void peer_fail(struct host *host, uint64_t request, enum front_error error, const char *message,
	       const char *cause, const char *remedy, unsigned retry_s)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);

	if (host->peer == NULL || !take_pending(host->peer, request))
		return;
	pack_error(&payload, error, message, cause, remedy, retry_s);
	post(host->peer, FRONT_ERROR, false, request, &payload, -1);
}

void peer_fail_err(struct host *host, uint64_t request, const struct err *err)
{
	/* Another process writes: nothing was done, and a moment later it may be. */
	const bool is_busy = err->errnum == EBUSY;

	peer_fail(host, request,
		  is_busy ? FRONT_ERR_UNAVAILABLE : peer_unkept(err),
		  err->text, "", err->remedy, is_busy ? 1 : 0);
}

enum front_error peer_error_of(const reckon_error *error)
{
	static const struct {
		int code;
		enum front_error error;
	} known[] = {
		{ RECKON_EINVALID, FRONT_ERR_INVALID },
		{ RECKON_ENOT_FOUND, FRONT_ERR_NOT_FOUND },
		{ RECKON_EDENIED, FRONT_ERR_DENIED },
		{ RECKON_ELIMIT, FRONT_ERR_LIMIT },
		{ RECKON_ETIMEOUT, FRONT_ERR_TIMEOUT },
		{ RECKON_ELOST, FRONT_ERR_SESSION_LOST },
		{ RECKON_EUNAVAILABLE, FRONT_ERR_UNAVAILABLE },
		{ RECKON_EKERNEL_LOST, FRONT_ERR_KERNEL_LOST },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == error->code)
			return known[i].error;
	return FRONT_ERR_INTERNAL;
}

void peer_fail_reckon(struct host *host, uint64_t request, const reckon_error *error)
{
	peer_fail(host, request, peer_error_of(error), error->message, "", error->remedy, 0);
}

void peer_reply_body(struct host *host, uint64_t request, const char *json, size_t len)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	cleanup_fd int fd = -1;
	struct err err;
	int code;

	if (len + 64 < FRONT_INLINE_MAX) {
		code = front_pack(&payload, FRONT_TAG_BODY, json, len, &err);
	} else {
		code = fd_memfd_sealed("reckon-body", json, len, &fd, &err);
		if (code == 0)
			code = front_pack_u64(&payload, FRONT_TAG_SIZE, len, &err);
	}
	if (code < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, TAKE_FD(fd));
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void come_up(struct peer *peer)
{
	peer->state = FRONT_STATE_SERVING;
	if (!peer->was_ready) {
		(void)dprintf(STDOUT_FILENO, "reckon: listening on %s\n", peer->host->listening);
		notify_manager("READY=1");
	}
	peer->was_ready = true;
}

static uint64_t request_of(const struct peer *peer, const struct front_head *head)
{
	return peer->generation << ID_BITS | head->id;
}

/* A new one, that is to be answered. */
static int take_id(struct peer *peer, const struct front_head *head, uint64_t *ret,
		   struct err *err)
{
	if (head->id > ID_MASK || head->id <= peer->last_id ||
	    peer->pending_count >= FRONT_PENDING_MAX)
		return err_set(err, ERR_PROTOCOL,
			       "request id %" PRIu64 " is none, or again, or too many", head->id);
	peer->last_id = head->id;
	*ret = request_of(peer, head);
	add_pending(peer, *ret);
	return 0;
}

static int take_call(struct peer *peer, const struct front_head *head, struct err *err)
{
	struct api_bytes rest = { buf_text(&peer->payload), peer->payload.len };
	cleanup_arena struct arena arena = { 0 };
	struct api_caller caller = { 0 };
	struct asked asked = { 0 };
	void *in;

	if (peer->state != FRONT_STATE_SERVING || head->type == 0 || head->type >= API_CALL_COUNT)
		return err_set(err, ERR_PROTOCOL, "call %u in state %d", head->type,
			       (int)peer->state);
	asked.call = &api_calls[head->type];
	in = arena_new(&arena, 1, asked.call->takes->size);
	if (api_image_read(&api_type_caller, &rest, &arena, &caller, err) < 0 ||
	    api_image_read(asked.call->takes, &rest, &arena, in, err) < 0)
		return (int)err->code;
	if (rest.len != 0)
		return err_set(err, ERR_PROTOCOL, "a call with %zu bytes too many", rest.len);
	if (take_id(peer, head, &asked.id, err) < 0)
		return (int)err->code;
	answer_call(peer->host, &asked, &caller, in);
	return 0;
}

static int take_request(struct peer *peer, const struct front_head *head, struct err *err)
{
	struct asked asked = { .type = head->type, .items = peer->items };
	int count;

	if (!front_may_send(peer->state, head->type))
		return err_set(err, ERR_PROTOCOL, "request %u in state %d", head->type,
			       (int)peer->state);
	if (head->type == FRONT_READY) {
		come_up(peer);
		return 0;
	}
	count = kernel_unpack(buf_text(&peer->payload), peer->payload.len, head->field_count,
			      peer->items, FRONT_FIELDS_MAX, err);
	if (count < 0 || front_check(head->type, peer->items, (size_t)count, err) < 0)
		return (int)err->code;
	asked.count = (size_t)count;
	if (head->type == FRONT_CANCEL) {
		if (head->id > ID_MASK)
			return err_set(err, ERR_PROTOCOL, "request id %" PRIu64, head->id);
		(void)take_pending(peer, request_of(peer, head));
		answer_cancel(peer->host, request_of(peer, head));
		return 0;
	}
	if (take_id(peer, head, &asked.id, err) < 0)
		return (int)err->code;
	answer(peer->host, &asked);
	return 0;
}

static void lost(struct peer *peer, const char *why);

static void on_frame(unsigned ready, void *arg)
{
	struct peer *peer = arg;
	struct front_head head;
	struct err err;

	if ((ready & LOOP_WRITE) != 0)
		flush(peer);
	for (int i = 0; i < FRAMES_IN_A_ROW; i++) {
		int fd, n = front_recv(peer->sock, &head, &peer->payload, &fd, &err);

		if (n == ERR_TIMEOUT)
			return;
		if (n > 0 && fd >= 0) {
			(void)close(fd);
			n = err_set(&err, ERR_PROTOCOL, "a descriptor from the front");
		}
		if (n > 0 && (head.flags & FRONT_FLAG_CALL) != 0)
			n = take_call(peer, &head, &err);
		else if (n > 0)
			n = take_request(peer, &head, &err);
		else if (n == 0)
			n = err_set(&err, ERR_LOST, "it ended");
		if (n < 0) {
			lost(peer, err.text);
			return;
		}
		if (peer->payload.cap > FRONT_INLINE_MAX * 2)
			buf_done(&peer->payload); /* a large one is no reason to stay large */
	}
}

/* ---- what it counts ------------------------------------------------------------------------- */

void peer_counts(const struct host *host, struct front_page *ret, unsigned *ret_restarts)
{
	const struct peer *peer = host->peer;

	memset(ret, 0, sizeof(*ret));
	*ret_restarts = peer != NULL ? peer->restarts : 0;
	if (peer == NULL)
		return;
	front_child_counts(&peer->child, ret);
}

void peer_settings(struct host *host)
{
	if (host->peer != NULL)
		front_child_settings(&host->peer->child, &host->config);
}

/* ---- the process ---------------------------------------------------------------------------- */

enum api_dialect_state peer_state(const struct host *host)
{
	const struct peer *peer = host->peer;

	if (peer == NULL || peer->sock < 0)
		return API_DIALECT_STATE_DOWN;
	return peer->state == FRONT_STATE_SERVING ? API_DIALECT_STATE_UP
						  : API_DIALECT_STATE_STARTING;
}

static int spawn(struct peer *peer, struct err *err)
{
	peer->started_ns = clock_mono_ns();
	if (front_child_spawn(peer->host, &peer->child, &peer->sock, err) < 0)
		return (int)err->code;
	peer->state = FRONT_STATE_STARTING;
	peer->generation = (peer->generation + 1) & 0xffffu;
	peer->last_id = 0;
	if (loop_io_new(peer->host->loop, peer->sock, on_frame, peer, &peer->io, err) < 0)
		return (int)err->code;
	loop_io_want(peer->io, LOOP_READ);
	return 0;
}

static void drop_process(struct peer *peer, int sig)
{
	loop_io_free(peer->io);
	peer->io = NULL;
	if (peer->sock >= 0)
		(void)close(TAKE_FD(peer->sock));
	front_child_end(&peer->child, sig);
	while (peer->first != NULL) {
		struct outgoing *next = peer->first->next;

		outgoing_free(peer->first);
		peer->first = next;
	}
	peer->last = NULL;
	cancel_front_lost(peer->host);
	drop_pending(peer);
}

static void start_again(void *arg)
{
	struct peer *peer = arg;
	struct err err;

	if (peer->host->is_stopping)
		return;
	if (spawn(peer, &err) < 0) {
		log_line(LOG_ERROR, "the front cannot be started", "why=\"%s\"", err.text);
		drop_process(peer, SIGKILL);
		peer->pause_ms = PAUSE_MAX_MS;
		loop_timer_set(peer->again, peer->pause_ms);
		return;
	}
	peer->restarts++;
	log_line(LOG_WARN, "the front was started again", "pid=%d", (int)peer->child.pid);
}

/* Its sessions and executions go on, however often this happens; clients see a closed connection
 * and may ask again. One that never came up is a fault of the installation: no use to go on. */
static void lost(struct peer *peer, const char *why)
{
	struct host *host = peer->host;

	log_line(LOG_ERROR, "the front is gone", "why=\"%s\"", why);
	drop_process(peer, SIGKILL);
	if (host->is_stopping)
		return;
	if (!peer->was_ready) {
		log_line(LOG_ERROR, "the front did not come up, so the daemon ends", NULL);
		host->exit_status = 125;
		loop_stop(host->loop);
		return;
	}
	if (clock_mono_ns() - peer->started_ns > STEADY_NS)
		peer->pause_ms = 0;
	if (peer->pause_ms == 0)
		start_again(peer);
	else
		loop_timer_set(peer->again, peer->pause_ms);
	peer->pause_ms = peer->pause_ms == 0	      ? PAUSE_FIRST_MS
			 : peer->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS
							     : peer->pause_ms * 2;
}

int peer_start(struct host *host, struct err *err)
{
	struct peer *peer = mem_new0(1, sizeof(*peer));

	peer->host = host;
	peer->sock = -1;
	peer->child.pid = -1;
	peer->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	peer->items = mem_new0(FRONT_FIELDS_MAX, sizeof(*peer->items));
	host->peer = peer;
	if (loop_timer_new(host->loop, start_again, peer, &peer->again, err) < 0)
		return (int)err->code;
	return spawn(peer, err);
}

void peer_stop(struct host *host)
{
	struct peer *peer = host->peer;
	const uint64_t end = clock_mono_ns() + STOP_MS * 1000000ull;
	const struct timespec pause = { .tv_nsec = 5000000 };

	if (peer == NULL)
		return;
	/* The end of our side tells it to send what it has and to go. */
	if (peer->sock >= 0)
		(void)shutdown(peer->sock, SHUT_WR);
	while (!front_child_has_ended(&peer->child) && clock_mono_ns() < end)
		(void)nanosleep(&pause, NULL);
	drop_process(peer, SIGKILL);
	loop_timer_free(peer->again);
	front_child_drop_page(&peer->child);
	buf_done(&peer->payload);
	free(peer->items);
	free(peer);
	host->peer = NULL;
}
