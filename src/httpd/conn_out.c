/*
 * conn_out.c - a connection's unsent output, and its end.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    waits, or frees a connection that a caller is still using.
 */
#include <errno.h>
#include <sys/socket.h>

#include "httpd/server.h"

struct conn *conn_of(struct request *request)
{
	return (struct conn *)((char *)request - offsetof(struct conn, request));
}

void conn_abort(struct conn *conn)
{
	conn->is_dead = true;
	if (conn->request.client == CLIENT_THERE)
		conn->request.client = CLIENT_GONE;
}

static size_t unsent(const struct conn *conn)
{
	return conn->out.len - conn->out_at;
}

void conn_flush(struct conn *conn)
{
	while (!conn->is_dead && unsent(conn) > 0) {
		const ssize_t n = send(conn->fd, conn->out.data + conn->out_at, unsent(conn),
				       MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				conn_abort(conn);
			return;
		}
		conn->out_at += (size_t)n;
		conn->progress += (uint64_t)n;
		access_bytes(conn, 0, (size_t)n);
	}
	if (unsent(conn) == 0) {
		buf_clear(&conn->out);
		conn->out_at = 0;
	}
}

void conn_part(struct conn *conn)
{
	conn_flush(conn);
	/* Output that the client has not read so far is lost with the connection. */
	conn->is_parting = !conn->is_dead && conn->out.len == 0;
	conn_abort(conn);
}
