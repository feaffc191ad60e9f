/*
 * tunnel.c - a connection to a port of a session: an HTTP request upgraded to a byte stream.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    the head of a server's reply, bounded; the bytes after it go to the caller.
 * Never:    sends a key anywhere but in its header.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "client/inner.h"

#define HEAD_MAX (64u * 1024u)
#define ANSWER_MS 30000u

struct client_tunnel {
	CURL *easy;
	curl_socket_t fd;
	bool is_tls;
	struct buf ahead; /* bytes that arrived with the head */
	char reason[CURL_ERROR_SIZE];
};

ssize_t client_tunnel_read(struct client_tunnel *tunnel, void *ret, size_t size)
{
	size_t n = 0;
	CURLcode code;

	if (tunnel->ahead.len > 0) {
		n = tunnel->ahead.len < size ? tunnel->ahead.len : size;
		memcpy(ret, tunnel->ahead.data, n);
		buf_consume(&tunnel->ahead, n);
		return (ssize_t)n;
	}
	code = curl_easy_recv(tunnel->easy, ret, size, &n);
	if (code == CURLE_OK)
		return (ssize_t)n;
	return code == CURLE_AGAIN ? CLIENT_TUNNEL_AGAIN : -1;
}

ssize_t client_tunnel_write(struct client_tunnel *tunnel, const void *bytes, size_t len)
{
	size_t n = 0;
	const CURLcode code = curl_easy_send(tunnel->easy, bytes, len, &n);

	if (code == CURLE_OK)
		return (ssize_t)n;
	return code == CURLE_AGAIN ? CLIENT_TUNNEL_AGAIN : -1;
}

bool client_tunnel_end(struct client_tunnel *tunnel)
{
	return !tunnel->is_tls && shutdown(tunnel->fd, SHUT_WR) == 0;
}

int client_tunnel_fd(const struct client_tunnel *tunnel)
{
	return tunnel->fd;
}

void client_tunnel_close(struct client_tunnel *tunnel)
{
	if (tunnel == NULL)
		return;
	if (tunnel->easy != NULL)
		curl_easy_cleanup(tunnel->easy);
	buf_done(&tunnel->ahead);
	free(tunnel);
}

/* ---- the request ---------------------------------------------------------------------------- */

static int connect_to(const struct client *client, struct client_tunnel *tunnel, struct err *err)
{
	tunnel->easy = curl_easy_init();
	if (tunnel->easy == NULL)
		return err_set(err, ERR_SYSTEM, "libcurl does not start");
	(void)curl_easy_setopt(tunnel->easy, CURLOPT_URL, client->url.base);
	(void)curl_easy_setopt(tunnel->easy, CURLOPT_CONNECT_ONLY, 1L);
	(void)curl_easy_setopt(tunnel->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(tunnel->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(tunnel->easy, CURLOPT_ERRORBUFFER, tunnel->reason);
	transfer_set_place(tunnel->easy, &client->url);
	if (curl_easy_perform(tunnel->easy) != CURLE_OK ||
	    curl_easy_getinfo(tunnel->easy, CURLINFO_ACTIVESOCKET, &tunnel->fd) != CURLE_OK)
		return err_set(err, ERR_UNAVAILABLE, "cannot connect to %s: %.200s", client->name,
			       tunnel->reason);
	return 0;
}

static int write_all(struct client_tunnel *tunnel, const struct buf *text, struct err *err)
{
	for (size_t at = 0; at < text->len;) {
		struct pollfd wait = { .fd = tunnel->fd, .events = POLLOUT };
		const ssize_t n = client_tunnel_write(tunnel, text->data + at, text->len - at);

		if (n >= 0)
			at += (size_t)n;
		else if (n != CLIENT_TUNNEL_AGAIN || poll(&wait, 1, (int)ANSWER_MS) <= 0)
			return err_set(err, ERR_UNAVAILABLE, "the connection broke");
	}
	return 0;
}

/* Splits "http://host:port/prefix" into the prefix and the host. */
static int send_head(const struct client *client, const char *path, struct client_tunnel *tunnel,
		     struct err *err)
{
	cleanup_buf struct buf head = BUF_INIT(HEAD_MAX);
	const char *host = strstr(client->url.base, "://");
	int code;

	host = host != NULL ? host + 3 : client->url.base;
	if (buf_addf(&head, err,
		     "GET %s/reckon/v1/%s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: reckon/"
		     RECKON_VERSION "\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n",
		     host + strcspn(host, "/"), path, (int)strcspn(host, "/"), host) < 0 ||
	    (client->key[0] != '\0' &&
	     buf_addf(&head, err, "Authorization: Bearer %s\r\n", client->key) < 0) ||
	    buf_adds(&head, "\r\n", err) < 0)
		return (int)err->code;
	code = write_all(tunnel, &head, err);
	explicit_bzero(head.data, head.len);
	return code;
}

/* ---- the reply ------------------------------------------------------------------------------ */

/* Reads until `ret` contains `end`, or to the end of the stream if `end` is NULL. */
static int read_until(struct client_tunnel *tunnel, const char *end, struct buf *ret,
		      struct err *err)
{
	const uint64_t until = clock_mono_ns() + ANSWER_MS * 1000000ull;
	char chunk[4096];

	while (end == NULL || memmem(buf_text(ret), ret->len, end, strlen(end)) == NULL) {
		struct pollfd wait = { .fd = tunnel->fd, .events = POLLIN };
		const ssize_t n = client_tunnel_read(tunnel, chunk, sizeof(chunk));

		if (n == 0 || n == -1)
			return end == NULL ? 0
					   : err_set(err, ERR_PROTOCOL,
						     "the server closed the connection");
		if (n > 0 && buf_add(ret, chunk, (size_t)n, err) == 0)
			continue;
		if (n > 0)
			return err_set(err, ERR_PROTOCOL, "the server's answer is not HTTP");
		if (clock_mono_ns() >= until || poll(&wait, 1, (int)ANSWER_MS) <= 0)
			return err_set(err, ERR_TIMEOUT, "the server did not answer in time");
	}
	return 0;
}

static int refused(const char *body, unsigned status, struct err *err)
{
	struct json_value *document = NULL;
	const struct json_value *error = NULL;
	const char *message = NULL, *remedy = NULL;
	char words[WORDS_SIZE];
	struct err ignored;

	if (json_read_parse(body, strlen(body), HEAD_MAX, &document, &ignored) == 0) {
		error = json_read_member(document, "error");
		message = json_read_text(json_read_member(error, "message"), NULL);
		remedy = json_read_text(json_read_member(error, "remedy"), NULL);
	}
	(void)err_set(err, status == 401 || status == 403 ? ERR_DENIED
			   : status == 404		  ? ERR_NOT_FOUND
			   : status == 410		  ? ERR_LOST
			   : status == 504		  ? ERR_TIMEOUT
							  : ERR_UNAVAILABLE,
		      "%.250s", message != NULL ? message : "the server refused the connection");
	if (remedy != NULL) {
		words_remedy(remedy, words, sizeof(words));
		(void)err_remedy(err, "%.150s", words);
	}
	json_read_free(document);
	return (int)err->code;
}

static int read_answer(struct client_tunnel *tunnel, struct err *err)
{
	cleanup_buf struct buf head = BUF_INIT(HEAD_MAX);
	unsigned status = 0;
	const char *end;
	struct err ignored;

	if (read_until(tunnel, "\r\n\r\n", &head, err) < 0)
		return (int)err->code;
	if (strncmp(buf_text(&head), "HTTP/1.1 ", 9) == 0)
		status = (unsigned)strtoul(buf_text(&head) + 9, NULL, 10);
	if (status < 100 || status > 999)
		return err_set(err, ERR_PROTOCOL, "the server's answer is not HTTP");
	end = (const char *)memmem(head.data, head.len, "\r\n\r\n", 4) + 4;
	if (status == 101)
		return buf_add(&tunnel->ahead, end,
			       head.len - (size_t)(end - buf_text(&head)), err);
	(void)client_tunnel_end(tunnel);
	/* A server that keeps the connection open usually sends the error together with the
	 * head. */
	if (strcasestr(buf_text(&head), "connection: close") != NULL || *end == '\0')
		(void)read_until(tunnel, *end == '\0' ? "}" : NULL, &head, &ignored);
	end = (const char *)memmem(head.data, head.len, "\r\n\r\n", 4) + 4;
	return refused(end, status, err);
}

int client_tunnel_open(const struct client *client, const char *path, struct client_tunnel **ret,
		       struct err *err)
{
	struct client_tunnel *tunnel = mem_new0(1, sizeof(*tunnel));

	tunnel->ahead = BUF_INIT(HEAD_MAX);
	tunnel->is_tls = client->url.is_tls;
	if (connect_to(client, tunnel, err) < 0 || send_head(client, path, tunnel, err) < 0 ||
	    read_answer(tunnel, err) < 0) {
		client_tunnel_close(tunnel);
		return (int)err->code;
	}
	*ret = tunnel;
	return 0;
}
