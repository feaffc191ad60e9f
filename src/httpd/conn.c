/*
 * conn.c - one connection: bytes in, bytes out, time limits, requests one after the other.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    any bytes from any client.
 * Never:    waits, or buffers more input than HTTPD_AHEAD_MAX and one body.
 *
 * Each state has its own time limit: a head must be complete in time; a body and an answer must
 * advance by PROGRESS_BYTES; between requests a connection may be idle for a while. There is no
 * limit while reckond works, because a cell may run up to its own time limit.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "httpd/server.h"

#define KEEP_IDLE_S 60 /* of silence, before KEEP_PROBES keep-alive probes */
#define KEEP_INTERVAL_S 15
#define KEEP_PROBES 4

static uint64_t header_ms(const struct conn *conn)
{
	return page_get(conn->server->page->header_ms);
}

static uint64_t body_ms(const struct conn *conn)
{
	return page_get(conn->server->page->body_ms);
}

static size_t unsent(const struct conn *conn)
{
	return conn->out.len - conn->out_at;
}

/* ---- life ----------------------------------------------------------------------------------- */

/* Keep-alive probes find a client whose machine is gone even while nothing is sent to it. */
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

static void close_socket(struct conn *conn)
{
	if (conn->fd >= 0 && conn->is_parting)
		linger(conn->server, conn->fd);
	else if (conn->fd >= 0)
		(void)close(conn->fd);
	conn->fd = -1;
}

static void on_timer(void *arg);
static void on_ready(unsigned ready, void *arg);

struct conn *conn_new(struct server *server, int fd, const struct auth_peer *peer,
		      const void *early, size_t early_len, unsigned hops)
{
	struct conn *conn = mem_new0(1, sizeof(*conn));
	struct err err;

	conn->server = server;
	conn->fd = fd;
	conn->peer = *peer;
	conn->hops = hops;
	conn->in = BUF_INIT(HTTPD_AHEAD_MAX);
	conn->out = BUF_INIT(CONN_OUT_MAX);
	http_init(&conn->http);
	conn->next = server->conns;
	if (conn->next != NULL)
		conn->next->previous = conn;
	server->conns = conn;
	page_set(server->page->connections, ++server->conn_count);
	set_options(fd);
	if (buf_add(&conn->in, early, early_len, &err) < 0 ||
	    loop_io_new(server->loop, fd, on_ready, conn, &conn->io, &err) < 0 ||
	    loop_timer_new(server->loop, on_timer, conn, &conn->timer, &err) < 0) {
		conn_free(conn);
		return NULL;
	}
	loop_timer_set(conn->timer, header_ms(conn));
	loop_io_want(conn->io, LOOP_READ);
	return conn;
}

void conn_free(struct conn *conn)
{
	struct server *server = conn->server;

	request_drop(conn);
	upstream_forget(conn);
	if (conn->previous != NULL)
		conn->previous->next = conn->next;
	else
		server->conns = conn->next;
	if (conn->next != NULL)
		conn->next->previous = conn->previous;
	page_set(server->page->connections, --server->conn_count);
	access_end(conn, false);
	loop_io_free(conn->io);
	loop_timer_free(conn->timer);
	close_socket(conn);
	http_done(&conn->http);
	buf_done(&conn->in);
	buf_done(&conn->out);
	free(conn);
	if (server->is_ending && server->conns == NULL)
		loop_stop(server->loop);
}

/* ---- out ------------------------------------------------------------------------------------ */

/* Ready for the next request on this connection. */
static void start_over(struct conn *conn)
{
	access_end(conn, true);
	http_reset(&conn->http);
	request_reset(&conn->request);
	buf_done(&conn->out);
	conn->out = BUF_INIT(CONN_OUT_MAX);
	conn->out_at = 0;
	conn->state = CONN_HEAD;
	loop_timer_set(conn->timer, conn->in.len > 0 ? header_ms(conn) : KEEP_ALIVE_MS);
}

/* The whole answer is sent: goes on to the next request, or ends the connection. */
static bool sent_all(struct conn *conn)
{
	if (conn->http.keep_alive && conn->request.message_done && !conn->server->is_ending &&
	    !conn->read_ended) {
		start_over(conn);
		return true;
	}
	conn->state = CONN_CLOSING;
	access_end(conn, true);
	if (conn->read_ended || conn->has_shut) {
		conn_abort(conn);
		return false;
	}
	/* Closing at once would reset the connection and could destroy the answer under way. */
	(void)shutdown(conn->fd, SHUT_WR);
	conn->has_shut = true;
	buf_clear(&conn->in);
	loop_timer_set(conn->timer, LINGER_MS);
	return false;
}

/* ---- in ------------------------------------------------------------------------------------- */

static void handle(void *arg)
{
	struct conn *conn = arg;

	conn->server->dialect->handle(&conn->request);
}

/* Answers an invalid message; later bytes of the connection are not read. */
static void handle_bad(void *arg)
{
	struct conn *conn = arg;
	static const struct {
		unsigned status;
		const char *code;
	} codes[] = { { 400, "invalid" },	{ 413, "body_too_large" },
		      { 431, "head_too_large" }, { 501, "not_supported" },
		      { 505, "not_supported" } };
	const char *code = "invalid";

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].status == conn->http.status)
			code = codes[i].code;
	answer_refuse_simple(&conn->request, conn->http.status, code, conn->http.err.text,
			     conn->http.err.remedy);
}

static void handle_slow(void *arg)
{
	struct conn *conn = arg;

	answer_refuse_simple(&conn->request, 408, "timeout",
			     "the head of the request took too long", "send it faster");
}

static void begin_bad(struct conn *conn)
{
	conn->http.keep_alive = false;
	buf_clear(&conn->in);
	conn->fed = 0;
	conn->state = CONN_RUN;
	request_start(conn, handle_bad);
}

/* Passes the connection and the bytes read so far to another dialect's process, and gives it up. */
static void hand_off(struct conn *conn, unsigned number)
{
	const int fd = conn->fd;

	loop_io_free(conn->io);
	conn->io = NULL;
	conn->fd = -1;
	conn_abort(conn);
	upstream_hand_off(conn->server, number, conn->hops, fd, &conn->in);
}

/* True: a request begins or the connection ends; false: more input is needed. */
static bool feed_head(struct conn *conn)
{
	size_t used;
	const enum http_step step = http_feed(&conn->http, buf_text(&conn->in) + conn->fed,
					      conn->in.len - conn->fed, &used);
	unsigned number;

	conn->fed += used;
	if (step == HTTP_STEP_MORE) {
		/* The dialect has seen all bytes, and no head is that long. */
		if (conn->in.len >= HTTPD_AHEAD_MAX)
			conn_abort(conn);
		return conn->is_dead;
	}
	if (step != HTTP_STEP_HEAD) {
		begin_bad(conn);
		return true;
	}
	number = conn->server->recognise(&conn->http);
	if (number != conn->server->number) {
		hand_off(conn, number);
		return true;
	}
	buf_consume(&conn->in, conn->fed);
	conn->fed = 0;
	conn->hops = 0;
	conn->request.message_done = !conn->http.has_body;
	conn->request.is_head = conn->http.verb == HTTP_VERB_HEAD;
	conn->http.body_max = 0;
	conn->state = CONN_RUN;
	access_begin(conn);
	request_start(conn, origin_is_misdirected(conn) ? origin_refuse_misdirected : handle);
	return true;
}

bool conn_feed_body(struct conn *conn)
{
	size_t used;
	const enum http_step step =
		http_feed(&conn->http, buf_text(&conn->in), conn->in.len, &used);

	buf_consume(&conn->in, used);
	conn->progress += used;
	if (step == HTTP_STEP_DONE)
		conn->request.message_done = true;
	return step != HTTP_STEP_MORE;
}

/* The client sends nothing more; it may or may not still read. */
static void ended(struct conn *conn)
{
	const struct request *request = &conn->request;
	const bool waits = conn->state == CONN_RUN && request->at_eof == AT_EOF_WAITS &&
			   request->wait != WAIT_BODY;

	conn->read_ended = true;
	if (!waits && conn->state != CONN_SEND)
		conn_abort(conn);
}

static void take(struct conn *conn, const char *bytes, size_t len)
{
	struct err err;

	if (conn->has_shut)
		return;
	if (conn->state == CONN_HEAD && conn->in.len == 0)
		loop_timer_set(conn->timer, header_ms(conn));
	if (buf_add(&conn->in, bytes, len, &err) < 0)
		conn_abort(conn);
}

static void read_some(struct conn *conn)
{
	const size_t room = conn->has_shut ? HTTPD_AHEAD_MAX : HTTPD_AHEAD_MAX - conn->in.len;
	ssize_t n;

	if (room == 0 || conn->read_ended)
		return;
	do
		n = recv(conn->fd, conn->server->chunk, room, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		access_bytes(conn, (size_t)n, 0);
		take(conn, conn->server->chunk, (size_t)n);
	} else if (n == 0) {
		ended(conn);
	} else if (errno != EAGAIN && errno != EWOULDBLOCK) {
		conn_abort(conn);
	}
}

/* ---- what can be done now ------------------------------------------------------------------- */

/* Does one step; false: it waits for something. */
static bool step(struct conn *conn)
{
	switch (conn->state) {
	case CONN_HEAD:
		return conn->in.len > conn->fed && feed_head(conn);
	case CONN_RUN:
		if (!request_go_on(conn))
			return false;
		if (conn->request.coroutine == NULL) {
			conn->state = CONN_SEND;
			conn->progress = 0;
			loop_timer_set(conn->timer, body_ms(conn));
		}
		return true;
	case CONN_SEND:
		conn_flush(conn);
		return !conn->is_dead && unsent(conn) == 0 && sent_all(conn);
	case CONN_CLOSING:
		break;
	}
	return false;
}

static void watch(struct conn *conn)
{
	unsigned want = 0;

	if (!conn->read_ended && (conn->has_shut || conn->in.len < HTTPD_AHEAD_MAX))
		want |= LOOP_READ;
	if (unsent(conn) > 0)
		want |= LOOP_WRITE;
	loop_io_want(conn->io, want);
}

/* A handler that continues without its client does not need the connection. */
static void drop_client(struct conn *conn)
{
	loop_io_free(conn->io);
	conn->io = NULL;
	close_socket(conn);
	buf_clear(&conn->out);
	conn->out_at = 0;
}

static bool is_over(const struct conn *conn)
{
	return conn->is_dead && !request_stays(&conn->request);
}

static bool go_on(struct conn *conn)
{
	if (is_over(conn))
		return false;
	if (conn->is_dead && conn->io != NULL)
		drop_client(conn);
	return step(conn);
}

void conn_settle(struct conn *conn)
{
	if (conn->is_settling)
		return;
	conn->is_settling = true;
	while (go_on(conn))
		;
	conn->is_settling = false;
	if (is_over(conn))
		conn_free(conn);
	else if (!conn->is_dead)
		watch(conn);
}

static void on_ready(unsigned ready, void *arg)
{
	struct conn *conn = arg;

	if ((ready & LOOP_WRITE) != 0)
		conn_flush(conn);
	if ((ready & LOOP_READ) != 0 && !conn->is_dead)
		read_some(conn);
	conn_settle(conn);
}

/* Whether the connection advanced by `least` bytes since the timer was set; if so, sets it
 * again. */
static bool has_moved(struct conn *conn, uint64_t least, uint64_t ms)
{
	const bool moved = conn->progress >= least;

	conn->progress = 0;
	if (moved)
		loop_timer_set(conn->timer, ms);
	return moved;
}

static void on_timer(void *arg)
{
	struct conn *conn = arg;

	switch (conn->state) {
	case CONN_HEAD:
		if (http_is_idle(&conn->http)) {
			conn_abort(conn);
			break;
		}
		conn->http.keep_alive = false;
		buf_clear(&conn->in);
		conn->fed = 0;
		conn->state = CONN_RUN;
		request_start(conn, handle_slow);
		break;
	case CONN_RUN:
		if (wait_is_on_others(conn->request.wait) ||
		    !has_moved(conn,
			       conn->request.at_eof == AT_EOF_GONE_STREAM ? 1 : PROGRESS_BYTES,
			       conn->request.wait_ms))
			conn->request.has_timed_out = true;
		break;
	case CONN_SEND:
		/* A client that does not read holds memory and a descriptor. */
		if (!has_moved(conn, PROGRESS_BYTES, body_ms(conn)))
			conn_abort(conn);
		break;
	case CONN_CLOSING:
		conn_abort(conn);
		break;
	}
	conn_settle(conn);
}
