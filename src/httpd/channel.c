/*
 * channel.c - a second connection, used by one handler along with the client's.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bytes of programs in boxes, which it passes on.
 * Never:    waits except in channel_wait(), or watches the socket while no handler waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "httpd/server.h"

#define BREATH_MS 1u

struct channel {
	struct request *request;
	int fd;
	struct loop_io *io;
	unsigned want, ready;
};

static void on_ready(unsigned ready, void *arg)
{
	struct channel *channel = arg;

	channel->ready |= ((ready & LOOP_READ) != 0 ? CHANNEL_READ : 0) |
			  ((ready & LOOP_WRITE) != 0 ? CHANNEL_WRITE : 0);
	/* Stop watching until the next channel_wait(). */
	loop_io_want(channel->io, 0);
	conn_of(channel->request)->server->calls.settle(conn_of(channel->request));
}

int channel_open(struct request *request, int fd, struct channel **ret)
{
	struct channel *channel = mem_new0(1, sizeof(*channel));
	struct err err;

	channel->request = request;
	channel->fd = fd;
	if (fd_set_nonblock(fd, true, &err) < 0 ||
	    loop_io_new(conn_of(request)->server->loop, fd, on_ready, channel, &channel->io, &err) <
		    0) {
		channel_close(channel);
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
		return -1;
	}
	*ret = channel;
	return 0;
}

void channel_close(struct channel *channel)
{
	if (channel == NULL)
		return;
	loop_io_free(channel->io);
	(void)close(channel->fd);
	free(channel);
}

static unsigned ready_now(const struct channel *channel)
{
	const struct conn *conn = conn_of(channel->request);
	unsigned ready = channel->ready;

	if (conn->in.len > 0 || conn->read_ended)
		ready |= CHANNEL_CLIENT;
	if (answer_has_room(channel->request))
		ready |= CHANNEL_ROOM;
	return ready & channel->want;
}

static bool may_go_on(const struct channel *channel)
{
	return ready_now(channel) != 0;
}

int channel_wait(struct channel *channel, unsigned want, uint64_t ms)
{
	struct request *request = channel->request;
	int code;

	channel->want = want;
	channel->ready = 0;
	request->channel = channel;
	request->channel_may_go_on = may_go_on;
	loop_io_want(channel->io, ((want & CHANNEL_READ) != 0 ? LOOP_READ : 0) |
					  ((want & CHANNEL_WRITE) != 0 ? LOOP_WRITE : 0));
	code = request_wait(request, WAIT_CHANNEL, ms);
	request->channel = NULL;
	if (code < 0)
		return -1;
	return code > 0 ? 0 : (int)ready_now(channel);
}

int channel_breathe(struct channel *channel)
{
	return channel_wait(channel, 0, BREATH_MS) < 0 ? -1 : 0;
}

char *channel_buffer(const struct channel *channel, size_t *ret_size)
{
	*ret_size = HTTPD_AHEAD_MAX;
	return conn_of(channel->request)->server->chunk;
}

static ssize_t result_of(ssize_t n)
{
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EWOULDBLOCK ? CHANNEL_AGAIN : -1;
}

ssize_t channel_read(struct channel *channel, void *ret, size_t size)
{
	ssize_t n;

	do
		n = recv(channel->fd, ret, size, 0);
	while (n < 0 && errno == EINTR);
	return result_of(n);
}

ssize_t channel_write(struct channel *channel, const void *bytes, size_t len)
{
	ssize_t n;

	do
		n = len > 0 ? send(channel->fd, bytes, len, MSG_NOSIGNAL)
			    : shutdown(channel->fd, SHUT_WR);
	while (n < 0 && errno == EINTR);
	return result_of(n);
}

struct request *channel_request(const struct channel *channel)
{
	return channel->request;
}

int channel_error(const struct channel *channel)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}
