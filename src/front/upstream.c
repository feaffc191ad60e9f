/*
 * upstream.c - frames to and from reckond, and which connection waits for which.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond, which is trusted more than we are.
 * Never:    lets an answer reach a connection that did not ask for it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/front.h"

#define BUCKETS 4096u
#define END_MS 2000u
#define FRAMES_IN_A_ROW 64

struct waiting_table {
	struct conn *buckets[BUCKETS];
};

struct frame {
	struct frame *next;
	uint16_t type;
	bool is_call;
	uint64_t id;
	struct buf payload;
};

/* What the socket did not take yet: at most a frame and two CANCELs for each connection. */
struct outbox {
	struct frame *first, *last;
};

static struct conn **find(struct front *front, uint64_t id)
{
	struct conn **at = &front->waiting->buckets[id % BUCKETS];

	while (*at != NULL && (*at)->waiting != id)
		at = &(*at)->next_waiting;
	return at;
}

static int send_frame(const struct frame *frame, struct err *err)
{
	if (frame->is_call)
		return front_send_call(FRONT_FD, frame->type, frame->id, &frame->payload, err);
	return front_send(FRONT_FD, (enum front_type)frame->type, frame->id, &frame->payload, -1,
			  err);
}

static void flush(struct front *front)
{
	struct outbox *outbox = front->outbox;
	struct frame *frame;
	struct err err;

	while ((frame = outbox->first) != NULL) {
		if (send_frame(frame, &err) < 0 && err.code == ERR_TIMEOUT)
			break;
		outbox->first = frame->next;
		buf_done(&frame->payload);
		free(frame);
	}
	if (outbox->first == NULL)
		outbox->last = NULL;
	loop_io_want(front->upstream_io,
		     LOOP_READ | (outbox->first != NULL ? LOOP_WRITE : 0));
}

static void post(struct front *front, uint16_t type, bool is_call, uint64_t id,
		 const struct buf *payload)
{
	struct frame *frame = mem_new0(1, sizeof(*frame));
	struct err err;

	frame->type = type;
	frame->is_call = is_call;
	frame->id = id;
	frame->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (payload != NULL && payload->len > 0 &&
	    buf_add(&frame->payload, payload->data, payload->len, &err) < 0)
		log_line(LOG_ERROR, "a request was lost", "why=\"%s\"", err.text);
	if (front->outbox->last != NULL)
		front->outbox->last->next = frame;
	else
		front->outbox->first = frame;
	front->outbox->last = frame;
	flush(front);
}

static void ask(struct conn *conn, uint16_t type, bool is_call, const struct buf *payload)
{
	struct front *front = conn->front;

	conn->waiting = front->next_id++;
	conn->next_waiting = front->waiting->buckets[conn->waiting % BUCKETS];
	front->waiting->buckets[conn->waiting % BUCKETS] = conn;
	post(front, type, is_call, conn->waiting, payload);
}

void upstream_ask(struct conn *conn, enum front_type type, const struct buf *payload)
{
	ask(conn, (uint16_t)type, false, payload);
}

void upstream_call(struct conn *conn, uint16_t number, const struct buf *payload)
{
	ask(conn, number, true, payload);
}

static void unlink_waiting(struct conn *conn)
{
	struct conn **at = find(conn->front, conn->waiting);

	if (*at == conn)
		*at = conn->next_waiting;
	conn->next_waiting = NULL;
	conn->waiting = 0;
}

void upstream_forget(struct conn *conn)
{
	const uint64_t id = conn->waiting;

	if (id != 0) {
		unlink_waiting(conn);
		post(conn->front, FRONT_CANCEL, false, id, NULL);
	}
	if (conn->holds != 0 && conn->holds != id)
		post(conn->front, FRONT_CANCEL, false, conn->holds, NULL);
	conn->holds = 0;
	if (conn->ticket != 0)
		post(conn->front, FRONT_CANCEL, false, conn->ticket, NULL);
	conn->ticket = 0;
}

static void take_frame(struct front *front, const struct front_head *head, int fd)
{
	struct conn *conn = *find(front, head->id);
	struct err err;
	int count = 0;

	/* Whoever asked is gone: our CANCEL met the answer on its way. */
	if (conn == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	if ((head->flags & FRONT_FLAG_CALL) == 0)
		count = kernel_unpack(buf_text(&front->payload), front->payload.len,
				      head->field_count, front->items, FRONT_FIELDS_MAX, &err);
	unlink_waiting(conn);
	if (count < 0) {
		log_line(LOG_ERROR, "a frame of reckond is broken", "why=\"%s\"", err.text);
		count = 0;
	}
	conn->inside++;
	reply_take(conn, head, front->items, (size_t)count, fd);
	conn->inside--;
	conn_process(conn); /* also settles what the descriptor is watched for */
}

static void on_end(void *arg)
{
	struct front *front = arg;

	loop_stop(front->loop);
}

/* reckond stops, or is gone: what is on its way to clients may still go. */
static void end(struct front *front)
{
	struct conn *next;
	struct err err;

	front->is_ending = true;
	loop_io_free(front->listen_io);
	front->listen_io = NULL;
	loop_io_want(front->upstream_io, 0);
	for (struct conn *at = front->conns; at != NULL; at = next) {
		next = at->next;
		if (at->state != CONN_SEND && at->state != CONN_CLOSING)
			conn_free(at);
	}
	if (front->conns == NULL || loop_timer_new(front->loop, on_end, front, &front->end_timer,
						   &err) < 0)
		loop_stop(front->loop);
	else
		loop_timer_set(front->end_timer, END_MS);
}

static void on_upstream(unsigned ready, void *arg)
{
	struct front *front = arg;
	struct front_head head;
	struct err err;

	if ((ready & LOOP_WRITE) != 0)
		flush(front);
	for (int i = 0; i < FRAMES_IN_A_ROW; i++) {
		int fd, n = front_recv(FRONT_FD, &head, &front->payload, &fd, &err);

		if (n == ERR_TIMEOUT)
			return;
		if (n <= 0) {
			if (n < 0)
				log_line(LOG_ERROR, "reckond cannot be read", "why=\"%s\"",
					 err.text);
			end(front);
			return;
		}
		take_frame(front, &head, fd);
		if (front->payload.cap > FRONT_INLINE_MAX * 2)
			buf_done(&front->payload); /* a large one is no reason to stay large */
	}
}

int upstream_open(struct front *front, struct err *err)
{
	front->waiting = mem_new0(1, sizeof(*front->waiting));
	front->outbox = mem_new0(1, sizeof(*front->outbox));
	front->items = mem_new0(FRONT_FIELDS_MAX, sizeof(*front->items));
	front->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	front->next_id = 1;
	if (fd_set_nonblock(FRONT_FD, true, err) < 0 ||
	    loop_io_new(front->loop, FRONT_FD, on_upstream, front, &front->upstream_io, err) < 0)
		return (int)err->code;
	loop_io_want(front->upstream_io, LOOP_READ);
	return 0;
}

void upstream_ready(struct front *front)
{
	post(front, FRONT_READY, false, 0, NULL);
}
