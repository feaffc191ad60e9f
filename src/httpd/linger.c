/*
 * linger.c - drains a connection after its last answer, while its client still sends.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bytes of a client, which it discards.
 * Never:    waits longer than LINGER_MS for a client, or for more than LINGERERS_MAX of them.
 *
 * Closing a socket with unread input resets the connection. The client would then lose the part of
 * the answer that it has not read, such as the reason why its WebSocket was closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "httpd/server.h"

#define LINGERERS_MAX 32u /* descriptors for connections come on top */

struct lingerer {
	struct server *server;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer;
};

static void lingerer_free(struct lingerer *lingerer)
{
	loop_io_free(lingerer->io);
	loop_timer_free(lingerer->timer);
	(void)close(lingerer->fd);
	lingerer->server->lingerers--;
	free(lingerer);
}

static void on_ready(unsigned ready, void *arg)
{
	struct lingerer *lingerer = arg;
	ssize_t n;

	(void)ready;
	do
		n = recv(lingerer->fd, lingerer->server->chunk, HTTPD_AHEAD_MAX, 0);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
		lingerer_free(lingerer);
}

static void on_timer(void *arg)
{
	lingerer_free(arg);
}

void linger(struct server *server, int fd)
{
	struct lingerer *lingerer;
	struct err err;

	if (server->lingerers >= LINGERERS_MAX || shutdown(fd, SHUT_WR) < 0) {
		(void)close(fd);
		return;
	}
	lingerer = mem_new0(1, sizeof(*lingerer));
	lingerer->server = server;
	lingerer->fd = fd;
	server->lingerers++;
	if (loop_io_new(server->loop, fd, on_ready, lingerer, &lingerer->io, &err) < 0 ||
	    loop_timer_new(server->loop, on_timer, lingerer, &lingerer->timer, &err) < 0) {
		lingerer_free(lingerer);
		return;
	}
	loop_timer_set(lingerer->timer, LINGER_MS);
	loop_io_want(lingerer->io, LOOP_READ);
}
