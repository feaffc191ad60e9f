/*
 * wait.c - the waits of a request's coroutine.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    leaves a handler waiting for a client that is gone: each wait then ends at once.
 */
#include "httpd/server.h"

bool request_has_reply(const struct request *request)
{
	for (unsigned i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (request->questions[i].has_reply)
			return true;
	return false;
}

bool request_may_go_on(const struct conn *conn)
{
	const struct request *request = &conn->request;

	if (request->client == CLIENT_GONE || request->has_timed_out)
		return true;
	switch (request->wait) {
	case WAIT_NOTHING:
		return true;
	case WAIT_BODY:
		return conn->in.len > 0;
	case WAIT_OUT:
		return conn->out.len - conn->out_at <= CONN_OUT_LOW;
	case WAIT_REPLY:
		return request->wanted->has_reply;
	case WAIT_ANSWER:
		return request_has_reply(request);
	case WAIT_MESSAGE:
		return conn->in.len > 0 || request_has_reply(request) || request->has_note ||
		       conn->is_dead;
	case WAIT_NOTE:
		return request->has_note;
	case WAIT_TIME:
		return false;
	case WAIT_CHANNEL:
		return request->channel_may_go_on(request->channel);
	}
	return true;
}

/* One timer for all waits on a body or an answer: else each byte would restart the time limit. */
static void set_timer(struct conn *conn, enum wait wait, uint64_t ms)
{
	struct request *request = &conn->request;

	if (wait != WAIT_NOTHING && request->timer_of == wait)
		return;
	request->timer_of = wait;
	request->wait_ms = ms;
	if (ms == 0) {
		loop_timer_clear(conn->timer);
		return;
	}
	if (!wait_is_on_others(wait))
		conn->progress = 0;
	loop_timer_set(conn->timer, ms);
}

int request_wait(struct request *request, enum wait wait, uint64_t ms)
{
	struct conn *conn = conn_of(request);

	if (request->client == CLIENT_GONE)
		return -1;
	conn_flush(conn);
	if (request->client == CLIENT_GONE)
		return -1;
	request->wait = wait;
	request->has_timed_out = false;
	if (request_may_go_on(conn))
		return 0;
	set_timer(conn, wait, ms);
	coroutine_yield();
	request->wait = WAIT_NOTHING;
	if (wait_is_on_others(wait))
		set_timer(conn, WAIT_NOTHING, 0);
	if (request->client == CLIENT_GONE)
		return -1;
	return request->has_timed_out ? 1 : 0;
}

/* No event can end this wait, only the timer or the client's end. */
int request_pause(struct request *request, uint64_t ms)
{
	return request_wait(request, WAIT_TIME, ms > 0 ? ms : 1) < 0 ? -1 : 0;
}
