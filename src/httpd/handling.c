/*
 * handling.c - the coroutine that handles a request.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    lets an incomplete answer look complete.
 */
#include <string.h>

#include "httpd/server.h"

void request_start(struct conn *conn, coroutine_fn *fn)
{
	struct err err;

	conn->request.wait = WAIT_NOTHING;
	loop_timer_clear(conn->timer);
	if (coroutine_new(fn, conn, &conn->request.coroutine, &err) < 0)
		conn_abort(conn);
}

bool request_stays(const struct request *request)
{
	return request->client == CLIENT_MAY_GO && request->coroutine != NULL;
}

static void finish(struct conn *conn)
{
	struct request *request = &conn->request;

	request->coroutine = NULL;
	if (request->client == CLIENT_GONE)
		upstream_forget(conn);
	else
		upstream_end(conn);
	memset(request->cancels, 0, sizeof(request->cancels));
	if (request->answer != ANSWER_ENDED || request->answer_left > 0)
		conn_abort(conn); /* a client has to see that this is not a whole answer */
}

bool request_go_on(struct conn *conn)
{
	if (!request_may_go_on(conn))
		return false;
	if (coroutine_resume(conn->request.coroutine))
		finish(conn);
	return true;
}

void request_drop(struct conn *conn)
{
	struct request *request = &conn->request;

	request->client = CLIENT_GONE;
	upstream_forget(conn);
	if (request->coroutine != NULL && coroutine_resume(request->coroutine))
		request->coroutine = NULL;
	upstream_end(conn);
	websocket_free(request->websocket);
	request->websocket = NULL;
}

void request_reset(struct request *request)
{
	websocket_free(request->websocket);
	memset(request, 0, sizeof(*request));
}
