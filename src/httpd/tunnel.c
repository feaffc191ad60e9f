/*
 * tunnel.c - joins a client's connection with a second one: bytes in both directions.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bytes of a client and of a program in a box, which it does not inspect.
 * Never:    buffers more per direction than one piece that the other side has not read.
 */
#include "base/cleanup.h"
#include "httpd/server.h"

#define BREATHE_BYTES (4u * 1024u * 1024u)
#define STALL_MS 300000u /* a client that reads nothing for this long counts as gone */

struct tunnel {
	struct channel *channel;
	struct request *request;
	struct conn *conn;
	bool up_ended, down_ended;
	size_t moved; /* bytes since other requests last ran */
};

/* Passes the client's bytes on; 1: some. */
static int move_up(struct tunnel *tunnel)
{
	struct conn *conn = tunnel->conn;
	ssize_t n;

	if (tunnel->up_ended || (conn->in.len == 0 && !conn->read_ended))
		return 0;
	if (conn->in.len == 0) {
		(void)channel_write(tunnel->channel, NULL, 0);
		tunnel->up_ended = true;
		return 1;
	}
	n = channel_write(tunnel->channel, conn->in.data, conn->in.len);
	if (n == CHANNEL_AGAIN)
		return 0;
	if (n < 0)
		return -1;
	buf_consume(&conn->in, (size_t)n);
	tunnel->moved += (size_t)n;
	return 1;
}

static int move_down(struct tunnel *tunnel)
{
	size_t size;
	char *chunk = channel_buffer(tunnel->channel, &size);
	ssize_t n;

	if (tunnel->down_ended || !answer_has_room(tunnel->request))
		return 0;
	n = channel_read(tunnel->channel, chunk, size);
	if (n == CHANNEL_AGAIN)
		return 0;
	if (n <= 0) {
		tunnel->down_ended = true;
		return n < 0 ? -1 : 1;
	}
	tunnel->moved += (size_t)n;
	return answer_write_now(tunnel->request, chunk, (size_t)n) < 0 ? -1 : 1;
}

static int wait(struct tunnel *tunnel)
{
	const bool has_room = answer_has_room(tunnel->request);
	unsigned want = 0;
	int code;

	if (!tunnel->up_ended)
		want |= tunnel->conn->in.len > 0 ? CHANNEL_WRITE : CHANNEL_CLIENT;
	if (!tunnel->down_ended)
		want |= has_room ? CHANNEL_READ : CHANNEL_ROOM;
	code = channel_wait(tunnel->channel, want, has_room ? 0 : STALL_MS);
	return code == 0 ? -1 : code;
}

int channel_tunnel(struct channel *channel)
{
	struct request *request = channel_request(channel);
	struct tunnel tunnel = { .channel = channel,
				 .request = request,
				 .conn = conn_of(request) };

	tunnel.conn->http.keep_alive = false;
	request->message_done = true;
	for (;;) {
		const int up = move_up(&tunnel);
		const int down = up < 0 ? -1 : move_down(&tunnel);

		if (up < 0 || down < 0)
			break;
		/* The server has closed: it would not read further bytes. */
		if (tunnel.down_ended)
			return 0;
		if (tunnel.moved >= BREATHE_BYTES) {
			tunnel.moved = 0;
			if (channel_breathe(channel) < 0)
				return -1;
		} else if (up == 0 && down == 0 && wait(&tunnel) < 0) {
			break;
		}
	}
	answer_break_off(request);
	return -1;
}
