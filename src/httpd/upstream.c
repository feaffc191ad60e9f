/*
 * upstream.c - frames to and from reckond, matched to the requests that wait for them.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    frames of reckond, which is more trusted than this process.
 * Never:    lets a reply reach a request that did not ask for it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "httpd/server.h"

#define BUCKETS 4096u
#define FRAMES_IN_A_ROW 64

struct waiting_table {
	struct question *buckets[BUCKETS];
};

struct frame {
	struct frame *next;
	uint16_t type;
	bool is_call;
	uint64_t id;
	struct buf payload;
	int fd; /* -1: none; closed after sending */
};

/* Frames that the socket did not accept yet: at most one frame and two CANCELs per connection. */
struct outbox {
	struct frame *first, *last;
};

static struct question **find(struct server *server, uint64_t id)
{
	struct question **at = &server->waiting->buckets[id % BUCKETS];

	while (*at != NULL && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static struct question *question_of(struct request *request, uint64_t id)
{
	for (unsigned i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (request->questions[i].id == id)
			return &request->questions[i];
	return NULL;
}

/* ---- sending -------------------------------------------------------------------------------- */

static void frame_free(struct frame *frame)
{
	buf_done(&frame->payload);
	if (frame->fd >= 0)
		(void)close(frame->fd);
	free(frame);
}

static int send_frame(const struct frame *frame, struct err *err)
{
	if (frame->type == FRONT_HANDOFF && !frame->is_call)
		return front_send_handoff(FRONT_FD, FRONT_HANDOFF, &frame->payload, frame->fd, err);
	if (frame->is_call)
		return front_send_image(FRONT_FD, frame->type, frame->id, &frame->payload, -1, err);
	return front_send(FRONT_FD, (enum front_type)frame->type, frame->id, err);
}

static void flush(struct server *server)
{
	struct outbox *outbox = server->outbox;
	struct frame *frame;
	struct err err;

	while ((frame = outbox->first) != NULL) {
		if (send_frame(frame, &err) < 0 && err.code == ERR_TIMEOUT)
			break;
		outbox->first = frame->next;
		frame_free(frame);
	}
	if (outbox->first == NULL)
		outbox->last = NULL;
	loop_io_want(server->upstream_io, LOOP_READ | (outbox->first != NULL ? LOOP_WRITE : 0));
}

static void post(struct server *server, uint16_t type, bool is_call, uint64_t id,
		 const struct buf *payload, int fd)
{
	struct frame *frame = mem_new0(1, sizeof(*frame));
	struct err err;

	frame->type = type;
	frame->is_call = is_call;
	frame->id = id;
	frame->fd = fd;
	frame->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	if (payload != NULL && payload->len > 0 &&
	    buf_add(&frame->payload, payload->data, payload->len, &err) < 0)
		log_line(LOG_ERROR, "a request was lost", "why=\"%s\"", err.text);
	if (server->outbox->last != NULL)
		server->outbox->last->next = frame;
	else
		server->outbox->first = frame;
	server->outbox->last = frame;
	flush(server);
}

/* ---- questions ------------------------------------------------------------------------------ */

void upstream_reply_done(struct upstream_reply *reply)
{
	buf_done(&reply->payload);
	if (reply->fd >= 0)
		(void)close(reply->fd);
	*reply = UPSTREAM_REPLY_INIT;
}

uint64_t upstream_ask(struct request *request, uint16_t type, const struct buf *payload)
{
	struct conn *conn = conn_of(request);
	struct server *server = conn->server;
	struct question *question = question_of(request, 0);
	struct question **bucket;

	if (request->client == CLIENT_GONE || question == NULL)
		return 0;
	bucket = &server->waiting->buckets[server->next_id % BUCKETS];
	*question = (struct question){ .id = server->next_id++,
				       .conn = conn,
				       .next = *bucket,
				       .reply = UPSTREAM_REPLY_INIT };
	*bucket = question;
	post(server, type, true, question->id, payload, -1);
	return question->id;
}

bool upstream_is_answered(const struct request *request, uint64_t id)
{
	for (unsigned i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (request->questions[i].id == id)
			return request->questions[i].has_reply;
	return false;
}

int upstream_take(struct request *request, uint64_t id, uint64_t wait_ms,
		  struct upstream_reply *ret)
{
	struct question *question = id != 0 ? question_of(request, id) : NULL;
	int code;

	if (question == NULL)
		return -1;
	request->wanted = question;
	code = request_wait(request, WAIT_REPLY, wait_ms);
	if (code != 0)
		return code < 0 ? -1 : 0;
	upstream_reply_done(ret);
	*ret = question->reply;
	*question = (struct question){ .reply = UPSTREAM_REPLY_INIT };
	return 1;
}

int upstream_wait(struct request *request, uint64_t wait_ms)
{
	return request_wait(request, WAIT_ANSWER, wait_ms) < 0 ? -1 : 0;
}

void upstream_cancel_when_gone(struct request *request, uint64_t id)
{
	for (unsigned i = 0; i < CANCELS_MAX; i++)
		if (id == 0 || request->cancels[i] == 0) {
			request->cancels[i] = id;
			if (id != 0)
				return;
		}
}

void upstream_cancel_no_more(struct request *request, uint64_t id)
{
	for (unsigned i = 0; i < CANCELS_MAX; i++)
		if (request->cancels[i] == id)
			request->cancels[i] = 0;
}

static void unlink_question(struct server *server, struct question *question)
{
	struct question **at = find(server, question->id);

	if (*at == question)
		*at = question->next;
	question->next = NULL;
}

/* Drops the request's open questions: no handler waits for the replies. */
void upstream_end(struct conn *conn)
{
	for (unsigned i = 0; i < UPSTREAM_QUESTIONS_MAX; i++) {
		struct question *question = &conn->request.questions[i];

		if (question->has_reply) {
			upstream_reply_done(&question->reply);
		} else if (question->id != 0) {
			unlink_question(conn->server, question);
			post(conn->server, FRONT_CANCEL, false, question->id, NULL, -1);
		}
		*question = (struct question){ 0 };
	}
}

static bool is_unanswered(const struct request *request, uint64_t id)
{
	for (unsigned i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (request->questions[i].id == id)
			return !request->questions[i].has_reply;
	return false;
}

void upstream_forget(struct conn *conn)
{
	struct request *request = &conn->request;

	for (unsigned i = 0; i < CANCELS_MAX; i++) {
		if (request->cancels[i] != 0 && !is_unanswered(request, request->cancels[i]))
			post(conn->server, FRONT_CANCEL, false, request->cancels[i], NULL, -1);
		request->cancels[i] = 0;
	}
	upstream_end(conn);
}

void upstream_cancel_now(struct request *request)
{
	upstream_forget(conn_of(request));
}

void upstream_hand_off(struct server *server, unsigned number, unsigned hops, int fd,
		       const struct buf *bytes)
{
	const struct front_handoff head = { .dialect = number, .hops = hops };
	cleanup_buf struct buf payload = BUF_INIT(sizeof(head) + FRONT_HANDOFF_MAX);
	struct err err;

	if (buf_add(&payload, &head, sizeof(head), &err) < 0 ||
	    buf_add(&payload, bytes->data, bytes->len, &err) < 0)
		(void)close(fd);
	else
		post(server, FRONT_HANDOFF, false, 0, &payload, fd);
}

/* ---- received frames ------------------------------------------------------------------------ */

static void take_frame(struct server *server, const struct front_head *head, int fd)
{
	struct question *question = *find(server, head->id);

	if (head->type == FRONT_CONNECTION) {
		server->calls.on_connection(server, fd);
		return;
	}
	/* The request is gone: our CANCEL crossed the reply. */
	if (question == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	unlink_question(server, question);
	question->reply.type = head->type;
	question->reply.fd = fd;
	question->reply.payload = server->payload;
	server->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	question->has_reply = true;
	server->calls.settle(question->conn);
}

static void on_upstream(unsigned ready, void *arg)
{
	struct server *server = arg;
	struct front_head head;
	struct err err;

	if ((ready & LOOP_WRITE) != 0)
		flush(server);
	for (int i = 0; i < FRAMES_IN_A_ROW; i++) {
		int fd, n = front_recv(FRONT_FD, &head, &server->payload, &fd, &err);

		if (n == ERR_TIMEOUT)
			return;
		if (n <= 0) {
			if (n < 0)
				log_line(LOG_ERROR, "reckond cannot be read", "why=\"%s\"",
					 err.text);
			loop_io_want(server->upstream_io, 0);
			server->calls.on_end(server);
			return;
		}
		take_frame(server, &head, fd);
		if (server->payload.cap > FRONT_INLINE_MAX * 2)
			buf_done(&server->payload); /* do not keep a large buffer for the next */
	}
}

int upstream_open(struct server *server, struct err *err)
{
	server->waiting = mem_new0(1, sizeof(*server->waiting));
	server->outbox = mem_new0(1, sizeof(*server->outbox));
	server->payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	server->next_id = 1;
	if (fd_set_nonblock(FRONT_FD, true, err) < 0 ||
	    loop_io_new(server->loop, FRONT_FD, on_upstream, server, &server->upstream_io, err) < 0)
		return (int)err->code;
	loop_io_want(server->upstream_io, LOOP_READ);
	return 0;
}

void upstream_ready(struct server *server)
{
	post(server, FRONT_READY, false, 0, NULL, -1);
}
