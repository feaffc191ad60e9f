/*
 * conn.c - one connection: bytes in, bytes out, time limits.
 *
 * Runs in:  reckon-front.
 * Reads:    whatever comes.
 * Never:    waits, or holds more of what came than CONN_AHEAD_MAX and one body.
 *
 * Each state has a time limit of its own: a head has to be whole in time; a body and an answer
 * have to move on by PROGRESS_BYTES; between requests a connection may be quiet for a while; only
 * while reckond works there is none, because a cell may take as long as its own limit.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/api.h"
#include "front/front.h"

#define LINGER_MS 2000u
#define KEEP_IDLE_S 60 /* of silence; then it is asked KEEP_PROBES times whether it is there */
#define KEEP_INTERVAL_S 15
#define KEEP_PROBES 4

static void on_timer(void *arg);
static void on_ready(unsigned ready, void *arg);

static uint64_t header_ms(const struct conn *conn)
{
	return page_get(conn->front->page->header_ms);
}

static uint64_t body_ms(const struct conn *conn)
{
	return page_get(conn->front->page->body_ms);
}

/* A client whose machine is gone says nothing, also while nothing is sent to it. */
static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEP_PROBES },
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
}

void conn_new(struct front *front, int fd, const struct guess_peer *peer)
{
	struct conn *conn = mem_new0(1, sizeof(*conn));
	struct err err;

	conn->front = front;
	conn->fd = fd;
	conn->peer = *peer;
	conn->file = conn->upload = -1;
	conn->in = BUF_INIT(CONN_AHEAD_MAX);
	conn->out = BUF_INIT(CONN_OUT_MAX);
	conn->body = BUF_INIT(API_BODY_MAX);
	http_init(&conn->http);
	conn->next = front->conns;
	if (conn->next != NULL)
		conn->next->previous = conn;
	front->conns = conn;
	page_set(front->page->connections, ++front->conn_count);
	page_add(front->page->accepted, 1);
	set_options(fd);
	if (loop_io_new(front->loop, fd, on_ready, conn, &conn->io, &err) < 0 ||
	    loop_timer_new(front->loop, on_timer, conn, &conn->timer, &err) < 0) {
		conn_free(conn);
		return;
	}
	loop_timer_set(conn->timer, header_ms(conn));
	loop_io_want(conn->io, LOOP_READ);
}

static void drop_transfers(struct conn *conn)
{
	if (conn->file >= 0)
		(void)close(TAKE_FD(conn->file));
	if (conn->upload >= 0)
		(void)close(TAKE_FD(conn->upload));
	conn->file_left = 0;
}

void conn_free(struct conn *conn)
{
	struct front *front = conn->front;

	if (conn->inside > 0) {
		conn->is_dead = true;
		return;
	}
	upstream_forget(conn);
	if (conn->previous != NULL)
		conn->previous->next = conn->next;
	else
		front->conns = conn->next;
	if (conn->next != NULL)
		conn->next->previous = conn->previous;
	page_set(front->page->connections, --front->conn_count);
	trail_end(conn, false);
	drop_transfers(conn);
	loop_io_free(conn->io);
	loop_timer_free(conn->timer);
	(void)close(conn->fd);
	target_done(&conn->target);
	http_done(&conn->http);
	buf_done(&conn->in);
	buf_done(&conn->out);
	buf_done(&conn->body);
	free(conn);
	if (front->is_ending && front->conns == NULL)
		loop_stop(front->loop);
}

void conn_abort(struct conn *conn)
{
	conn->is_dead = true;
}

static void enter(struct conn *conn)
{
	conn->inside++;
}

/* The other half of enter(): what the state wants of the descriptor, or the end. */
static void leave(struct conn *conn)
{
	unsigned want = 0;

	if (--conn->inside > 0)
		return;
	if (conn->is_dead) {
		conn_free(conn);
		return;
	}
	if (!conn->read_ended && (conn->has_shut || conn->in.len < CONN_AHEAD_MAX))
		want |= LOOP_READ;
	if (conn->out.len > conn->out_at)
		want |= LOOP_WRITE;
	loop_io_want(conn->io, want);
}

/* ---- out ------------------------------------------------------------------------------------ */

void conn_write(struct conn *conn, const void *bytes, size_t len)
{
	struct err err;

	if (conn->is_muted)
		return;
	if (buf_add(&conn->out, bytes, len, &err) < 0)
		conn_abort(conn);
}

void conn_writef(struct conn *conn, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(text))
		conn_abort(conn);
	else
		conn_write(conn, text, (size_t)len);
}

/* Ready for the next request on this connection. */
static void start_over(struct conn *conn)
{
	trail_end(conn, true);
	drop_transfers(conn);
	target_done(&conn->target);
	http_reset(&conn->http);
	buf_done(&conn->body);
	buf_done(&conn->out);
	conn->body = BUF_INIT(API_BODY_MAX);
	conn->out = BUF_INIT(CONN_OUT_MAX);
	conn->out_at = 0;
	conn->ticket = conn->upload_max = conn->last_event = 0;
	conn->message_done = conn->head_sent = conn->disk_full = false;
	conn->is_head = conn->is_muted = false;
	conn->archive_type = NULL;
	conn->wants_csv = false;
	conn->wants_events = conn->follows_run = conn->ends_at_eof = false;
	conn->state = CONN_HEAD;
	loop_timer_set(conn->timer, conn->in.len > 0 ? header_ms(conn) : KEEP_ALIVE_MS);
}

static void sent_all(struct conn *conn)
{
	buf_clear(&conn->out);
	conn->out_at = 0;
	if (conn->state == CONN_EVENTS) {
		stream_more(conn);
		return;
	}
	if (conn->state == CONN_SEND && conn->http.keep_alive && conn->message_done &&
	    !conn->front->is_ending && !conn->read_ended) {
		start_over(conn);
		return;
	}
	if (conn->state != CONN_SEND && conn->state != CONN_CLOSING)
		return;
	conn->state = CONN_CLOSING;
	trail_end(conn, true);
	if (conn->read_ended || conn->has_shut) {
		conn_abort(conn);
		return;
	}
	/* Closing at once would reset the connection, and with it the answer on its way. */
	(void)shutdown(conn->fd, SHUT_WR);
	conn->has_shut = true;
	buf_clear(&conn->in);
	loop_timer_set(conn->timer, LINGER_MS);
}

void conn_flush(struct conn *conn)
{
	bool all = true;

	enter(conn);
	while (!conn->is_dead && conn->out.len > conn->out_at) {
		const size_t left = conn->out.len - conn->out_at;
		const ssize_t n = send(conn->fd, conn->out.data + conn->out_at, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				conn_abort(conn);
			all = false;
			break;
		}
		conn->out_at += (size_t)n;
		conn->progress += (uint64_t)n;
		trail_bytes(conn, 0, (size_t)n);
		if (conn->out_at == conn->out.len && conn->file_left > 0) {
			buf_clear(&conn->out);
			conn->out_at = 0;
			stream_file(conn);
		}
	}
	if (all && !conn->is_dead)
		sent_all(conn);
	leave(conn);
}

void conn_finish(struct conn *conn)
{
	conn->state = CONN_SEND;
	conn->progress = 0;
	conn->holds = 0; /* there is nothing left to end */
	loop_timer_set(conn->timer, body_ms(conn));
	conn_flush(conn);
}

/* ---- in ------------------------------------------------------------------------------------- */

void conn_read_body(struct conn *conn)
{
	const char *expect = http_header(&conn->http, "expect");

	conn->state = CONN_BODY;
	conn->progress = 0;
	loop_timer_set(conn->timer, body_ms(conn));
	if (expect != NULL && conn->http.has_body && conn->in.len == 0) {
		conn_write(conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
		conn_flush(conn);
	}
}

/* One step of the message; false: nothing more to do with what is there. */
static bool feed(struct conn *conn)
{
	size_t used;
	const enum http_step step = http_feed(&conn->http, buf_text(&conn->in), conn->in.len,
					      &used);

	buf_consume(&conn->in, used);
	conn->progress += used;
	switch (step) {
	case HTTP_STEP_MORE:
		return false;
	case HTTP_STEP_HEAD:
		conn->message_done = !conn->http.has_body;
		request_head(conn);
		return true;
	case HTTP_STEP_DONE:
		conn->message_done = true;
		loop_timer_clear(conn->timer);
		request_done(conn);
		return true;
	case HTTP_STEP_BAD:
		conn->http.keep_alive = false;
		upstream_forget(conn);
		drop_transfers(conn);
		reply_err(conn, conn->http.status, &conn->http.err);
		return false;
	}
	return false;
}

void conn_process(struct conn *conn)
{
	enter(conn);
	while (!conn->is_dead && (conn->state == CONN_HEAD || conn->state == CONN_BODY))
		if (!feed(conn))
			break;
	leave(conn);
}

/* The client sends nothing more; whether it still listens, nobody knows. */
static void ended(struct conn *conn)
{
	const bool waits = conn->state == CONN_WAIT && !conn->ends_at_eof;

	conn->read_ended = true;
	if (!waits && conn->state != CONN_SEND)
		conn_abort(conn);
}

static void take(struct conn *conn, const char *bytes, size_t len)
{
	const bool was_idle = conn->state == CONN_HEAD && http_is_idle(&conn->http);
	struct err err;

	if (conn->has_shut)
		return;
	if (buf_add(&conn->in, bytes, len, &err) < 0) {
		conn_abort(conn);
		return;
	}
	if (was_idle)
		loop_timer_set(conn->timer, header_ms(conn));
	conn_process(conn);
}

static void read_some(struct conn *conn)
{
	const size_t room = conn->has_shut ? CONN_AHEAD_MAX : CONN_AHEAD_MAX - conn->in.len;
	ssize_t n;

	if (room == 0 || conn->read_ended)
		return;
	do
		n = recv(conn->fd, conn->front->chunk, room, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		trail_bytes(conn, (size_t)n, 0);
		take(conn, conn->front->chunk, (size_t)n);
	} else if (n == 0) {
		ended(conn);
	} else if (errno != EAGAIN && errno != EWOULDBLOCK) {
		conn_abort(conn);
	}
}

static void on_ready(unsigned ready, void *arg)
{
	struct conn *conn = arg;

	enter(conn);
	if ((ready & LOOP_WRITE) != 0)
		conn_flush(conn);
	if ((ready & LOOP_READ) != 0 && !conn->is_dead)
		read_some(conn);
	/* What had been sent ahead while the last answer was on its way. */
	if (!conn->is_dead && conn->state == CONN_HEAD && conn->in.len > 0)
		conn_process(conn);
	leave(conn);
}

/* ---- time ----------------------------------------------------------------------------------- */

static void too_slow(struct conn *conn, const char *what)
{
	conn->http.keep_alive = false;
	upstream_forget(conn);
	drop_transfers(conn);
	reply_error(conn, 408, "timeout", what, "", "send it faster", 0);
}

static void on_timer(void *arg)
{
	struct conn *conn = arg;

	enter(conn);
	switch (conn->state) {
	case CONN_HEAD:
		if (http_is_idle(&conn->http))
			conn_abort(conn);
		else
			too_slow(conn, "the head of the request took too long");
		break;
	case CONN_BODY:
		if (conn->progress < PROGRESS_BYTES)
			too_slow(conn, "the body of the request took too long");
		else
			loop_timer_set(conn->timer, body_ms(conn));
		conn->progress = 0;
		break;
	case CONN_SEND:
		/* A client that takes nothing holds memory and a descriptor. */
		if (conn->progress < PROGRESS_BYTES)
			conn_abort(conn);
		else
			loop_timer_set(conn->timer, body_ms(conn));
		conn->progress = 0;
		break;
	case CONN_EVENTS:
		stream_beat(conn);
		break;
	case CONN_CLOSING:
		conn_abort(conn);
		break;
	case CONN_AUTH:
	case CONN_WAIT:
		break;
	}
	leave(conn);
}
