/*
 * proxy.c - streams one request to a program in a box, and its answer back; or tunnels.
 *
 * Runs in:  reckon-front-ports.
 * Reads:    bodies of any client; answers of untrusted programs.
 * Never:    buffers more of a body than one piece, or makes either side wait without need: a
 *           program may answer before it has read everything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dialects/ports/ports.h"

#define CONNECT_MS 10000u
#define ANSWER_S 60u	   /* until the answer's head; X-Reckon-Timeout overrides it */
#define ANSWER_S_MAX 3600u
#define STALL_MS 300000u   /* a client that reads nothing for this long counts as gone */
#define UP_MAX (256u * 1024u)
#define HEAD_LINES_MAX (128u * 1024u)
#define BREATHE_BYTES (4u * 1024u * 1024u)

struct proxy {
	struct request *request;
	const struct http *http;
	const struct ports_address *address;
	struct channel *channel;
	struct http_answer answer;
	struct buf up; /* not sent to the program yet */
	size_t up_at;
	bool up_done;  /* the request has no more bytes */
	bool has_head; /* the answer's */
	bool is_over;
	size_t moved;
	struct err err;
};

static void refuse_answer(struct proxy *proxy)
{
	char message[160];

	(void)snprintf(message, sizeof(message), "port %u gave no good answer: %.100s",
		       proxy->address->port, proxy->answer.err.text);
	answer_refuse_simple(proxy->request, 502, "port_bad_answer", message,
			     "see what the program that listens there says");
}

struct channel *ports_connected(struct request *request, const struct ports_address *address,
				int fd)
{
	struct channel *channel;
	char message[96];
	int code;

	if (channel_open(request, fd, &channel) < 0)
		return NULL;
	code = channel_wait(channel, CHANNEL_WRITE, CONNECT_MS);
	if (code > 0 && channel_error(channel) == 0)
		return channel;
	if (code >= 0) {
		(void)snprintf(message, sizeof(message), "port %u %s", address->port,
			       code == 0 ? "does not accept connections"
					 : "ended the connection at once");
		answer_refuse_simple(request, code == 0 ? 504 : 502,
				     code == 0 ? "timeout" : "port_closed", message,
				     "see what the program that listens there does");
	}
	channel_close(channel);
	return NULL;
}

/* ---- to the program ------------------------------------------------------------------------- */

static bool add_body(const char *bytes, size_t len, void *arg)
{
	struct proxy *proxy = arg;

	if (!proxy->http->is_chunked)
		return buf_add(&proxy->up, bytes, len, &proxy->err) == 0;
	return buf_addf(&proxy->up, &proxy->err, "%zx\r\n", len) == 0 &&
	       buf_add(&proxy->up, bytes, len, &proxy->err) == 0 &&
	       buf_adds(&proxy->up, "\r\n", &proxy->err) == 0;
}

static int take_body(struct proxy *proxy)
{
	const int code = request_body_now(proxy->request, add_body, proxy);

	if (code < 0)
		return -1;
	if (code == 0)
		return 0;
	proxy->up_done = true;
	/* From now on a client that closes does not want the answer. */
	request_end_at_eof(proxy->request);
	return proxy->http->is_chunked ? buf_adds(&proxy->up, "0\r\n\r\n", &proxy->err) : 0;
}

/* 1: some bytes were moved. */
static int move_up(struct proxy *proxy)
{
	ssize_t n;

	if (proxy->up.len == 0 && !proxy->up_done && take_body(proxy) < 0)
		return -1;
	if (proxy->up.len == proxy->up_at)
		return 0;
	n = channel_write(proxy->channel, proxy->up.data + proxy->up_at,
			  proxy->up.len - proxy->up_at);
	if (n == CHANNEL_AGAIN)
		return 0;
	if (n < 0) {
		/* The program stopped reading, maybe after sending an answer. */
		proxy->up_done = true;
		proxy->up_at = proxy->up.len;
	} else {
		proxy->up_at += (size_t)n;
		proxy->moved += (size_t)n;
	}
	if (proxy->up_at == proxy->up.len) {
		buf_clear(&proxy->up);
		proxy->up_at = 0;
	}
	return 1;
}

/* ---- to the client -------------------------------------------------------------------------- */

static int give_body(const char *bytes, size_t len, void *arg)
{
	struct proxy *proxy = arg;

	return answer_write_now(proxy->request, bytes, len);
}

static int begin_answer(struct proxy *proxy)
{
	cleanup_buf struct buf headers = BUF_INIT(HEAD_LINES_MAX);
	struct http_answer *answer = &proxy->answer;
	const bool is_switch = answer->status == 101;

	if (answer->status > 599 || (is_switch && !ports_wants_upgrade(proxy->http)))
		return err_set(&answer->err, ERR_PROTOCOL, "a status that nobody asked for");
	if (ports_answer_head(answer, proxy->address, &headers, &answer->err) < 0)
		return -1;
	proxy->has_head = true;
	answer->body_fn = give_body;
	answer->body_arg = proxy;
	return answer_begin(proxy->request, answer->status, NULL, answer->length,
			    buf_text(&headers));
}

/* Parses bytes of the program. */
static int feed(struct proxy *proxy, const char *bytes, size_t len)
{
	enum http_step step;
	size_t used;

	do {
		step = http_answer_feed(&proxy->answer, bytes, len, &used);
		bytes += used;
		len -= used;
		if (step == HTTP_STEP_HEAD && begin_answer(proxy) < 0)
			step = HTTP_STEP_BAD;
		if (step == HTTP_STEP_HEAD && proxy->answer.status == 101)
			return len > 0 ? answer_write_now(proxy->request, bytes, len) : 0;
	} while (step == HTTP_STEP_HEAD);
	proxy->is_over = step == HTTP_STEP_DONE;
	return step == HTTP_STEP_BAD ? -1 : 0;
}

static int move_down(struct proxy *proxy)
{
	size_t size;
	char *chunk = channel_buffer(proxy->channel, &size);
	ssize_t n;

	if (!answer_has_room(proxy->request))
		return 0;
	n = channel_read(proxy->channel, chunk, size);
	if (n == CHANNEL_AGAIN)
		return 0;
	if (n > 0) {
		proxy->moved += (size_t)n;
		return feed(proxy, chunk, (size_t)n) < 0 ? -1 : 1;
	}
	proxy->is_over = true;
	return http_answer_end(&proxy->answer) == HTTP_STEP_DONE ? 1 : -1;
}

/* ---- both directions ------------------------------------------------------------------------ */

static uint64_t answer_ms(const struct http *http)
{
	const char *text = http_header(http, "x-reckon-timeout");
	const unsigned long seconds = text != NULL ? strtoul(text, NULL, 10) : 0;

	return (seconds == 0		 ? ANSWER_S
		: seconds < ANSWER_S_MAX ? seconds
					 : ANSWER_S_MAX) *
	       1000ull;
}

static int wait(struct proxy *proxy)
{
	const bool has_room = answer_has_room(proxy->request);
	const bool is_sent = proxy->up_done && proxy->up.len == 0;
	unsigned want = has_room ? CHANNEL_READ : CHANNEL_ROOM;
	uint64_t ms = has_room ? 0 : STALL_MS;
	int code;

	if (!is_sent)
		want |= proxy->up.len > 0 ? CHANNEL_WRITE : CHANNEL_CLIENT;
	if (is_sent && !proxy->has_head)
		ms = answer_ms(proxy->http);
	code = channel_wait(proxy->channel, want, ms);
	if (code != 0)
		return code;
	answer_refuse_simple(proxy->request, 504, "timeout", "the program did not answer in time",
			     "send X-Reckon-Timeout: SECONDS to wait longer");
	return -1;
}

/* Negative: nothing more to do. */
static int relay(struct proxy *proxy)
{
	while (!proxy->is_over && !(proxy->has_head && proxy->answer.status == 101)) {
		const int up = move_up(proxy);
		const int down = up < 0 ? 0 : move_down(proxy);

		if (up < 0)
			return -1;
		if (down < 0) {
			refuse_answer(proxy);
			return -1;
		}
		if (proxy->moved >= BREATHE_BYTES) {
			proxy->moved = 0;
			if (channel_breathe(proxy->channel) < 0)
				return -1;
		} else if (up == 0 && down == 0 && wait(proxy) < 0) {
			return -1;
		}
	}
	return 0;
}

static void run(struct proxy *proxy)
{
	if (relay(proxy) < 0)
		return;
	if (proxy->answer.status == 101 && channel_tunnel(proxy->channel) < 0)
		return;
	answer_end(proxy->request);
}

static bool keeps_authorization(const struct http *http, const struct ports_address *address)
{
	return address->road == PORTS_BY_HOST || address->road == PORTS_BY_HEADER ||
	       http_header(http, "x-reckon-key") != NULL;
}

void ports_proxy(struct request *request, const struct ports_address *address, int fd)
{
	struct proxy proxy = {
		.request = request,
		.http = request_head(request),
		.address = address,
		.up = BUF_INIT(UP_MAX),
	};
	const char *expect = http_header(proxy.http, "expect");

	proxy.channel = ports_connected(request, address, fd);
	if (proxy.channel == NULL)
		return;
	http_answer_init(&proxy.answer, proxy.http->verb == HTTP_VERB_HEAD);
	if (ports_request_head(request, address, keeps_authorization(proxy.http, address),
			       &proxy.up, &proxy.err) < 0)
		answer_refuse_simple(request, 431, "head_too_large", proxy.err.text, NULL);
	else if (expect == NULL || !proxy.http->has_body ||
		 answer_write_now(request, "HTTP/1.1 100 Continue\r\n\r\n", 25) == 0)
		run(&proxy);
	http_answer_done(&proxy.answer);
	buf_done(&proxy.up);
	channel_close(proxy.channel);
}

void ports_tunnel(struct request *request, int fd)
{
	struct ports_address address;
	struct channel *channel;

	(void)ports_address(request_head(request), &address);
	channel = ports_connected(request, &address, fd);
	if (channel == NULL)
		return;
	if (answer_begin(request, 101, NULL, 0, "Upgrade: tcp\r\n") == 0 &&
	    channel_tunnel(channel) == 0)
		answer_end(request);
	channel_close(channel);
}
