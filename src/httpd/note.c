/*
 * note.c - lets a handler wait until another request of the same process wakes it.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing: the handlers share the memory that the wake-up is about.
 * Never:    runs one handler inside another: a woken request continues from the loop.
 */
#include <string.h>

#include "httpd/server.h"

int request_wait_note(struct request *request, uint64_t wait_ms)
{
	const int code = request_wait(request, WAIT_NOTE, wait_ms);

	if (code != 0)
		return code < 0 ? -1 : 0;
	request->has_note = false;
	return 1;
}

void request_wake(struct request *request)
{
	struct server *server = conn_of(request)->server;

	request->has_note = true;
	loop_timer_set(server->note_timer, 0);
}

static bool is_waiting(const struct request *request)
{
	return request->has_note && request->coroutine != NULL &&
	       (request->wait == WAIT_NOTE || request->wait == WAIT_MESSAGE);
}

/* settle() may free this request and others: start over after each. */
static void on_note(void *arg)
{
	struct server *server = arg;
	struct conn *at = server->conns;

	while (at != NULL) {
		if (is_waiting(&at->request)) {
			server->calls.settle(at);
			at = server->conns;
		} else {
			at = at->next;
		}
	}
}

int note_open(struct server *server, struct err *err)
{
	return loop_timer_new(server->loop, on_note, server, &server->note_timer, err);
}
