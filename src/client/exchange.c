/*
 * exchange.c - parallel requests of protocols other than the native API.
 *
 * Runs in:  programs that relay messages between a user's program and a daemon.
 * Reads:    heads and bodies from any server at the address.
 * Never:    follows a redirect, or lets a key get into a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/inner.h"

#define CONNECT_S 10L

struct client_exchange {
	struct client_exchange *next;
	struct client *client;
	struct client_request request;
	CURL *easy;
	struct curl_slist *headers;
	struct buf body;
};

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
	const struct client_exchange *exchange = arg;

	if (exchange->request.on_header != NULL)
		exchange->request.on_header(line, size * count, exchange->request.arg);
	return size * count;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
	const struct client_exchange *exchange = arg;

	return exchange->request.on_bytes(bytes, size * count, exchange->request.arg) ? size * count
										      : 0;
}

static int set_headers(struct client_exchange *exchange, struct err *err)
{
	char line[CLIENT_KEY_SIZE + 32];
	const char *const *at = exchange->request.headers;

	(void)snprintf(line, sizeof(line), "Authorization: Bearer %s", exchange->client->key);
	if (exchange->client->key[0] != '\0' &&
	    client_add_header(&exchange->headers, line, err) < 0)
		return (int)err->code;
	explicit_bzero(line, sizeof(line));
	for (; at != NULL && *at != NULL; at++)
		if (client_add_header(&exchange->headers, *at, err) < 0)
			return (int)err->code;
	return client_add_header(&exchange->headers, "Expect:", err);
}

static void set_up(struct client_exchange *exchange, const char *url)
{
	const struct url *place = &exchange->client->url;
	CURL *easy = exchange->easy;

	(void)curl_easy_setopt(easy, CURLOPT_URL, url);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "reckon/" RECKON_VERSION);
	if (place->socket[0] != '\0')
		(void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, place->socket);
	if (place->is_loopback)
		(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->headers);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	if (exchange->body.len > 0) {
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)exchange->body.len);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange->body.data);
	}
	(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange->request.method);
}

void client_exchange_end(struct client_exchange *exchange)
{
	if (exchange == NULL)
		return;
	if (exchange->easy != NULL) {
		(void)curl_multi_remove_handle(exchange->client->multi, exchange->easy);
		curl_easy_cleanup(exchange->easy);
	}
	curl_slist_free_all(exchange->headers);
	buf_done(&exchange->body);
	free(exchange);
}

int client_exchange_begin(struct client *client, const struct client_request *request,
			  struct client_exchange **ret, struct err *err)
{
	struct client_exchange *exchange = mem_new0(1, sizeof(*exchange));
	char url[URL_BASE_SIZE + 128];

	exchange->client = client;
	exchange->request = *request;
	exchange->body = BUF_INIT(CLIENT_JSON_MAX);
	exchange->easy = curl_easy_init();
	(void)snprintf(url, sizeof(url), "%s%.100s", client->url.base, request->path);
	if (exchange->easy == NULL)
		(void)err_set(err, ERR_SYSTEM, "libcurl does not start");
	else if ((request->body == NULL ||
		  buf_add(&exchange->body, request->body->data, request->body->len, err) == 0) &&
		 set_headers(exchange, err) == 0) {
		set_up(exchange, url);
		if (curl_multi_add_handle(client->multi, exchange->easy) == CURLM_OK) {
			*ret = exchange;
			return 0;
		}
		(void)err_set(err, ERR_SYSTEM, "libcurl does not take the request");
	}
	client_exchange_end(exchange);
	return (int)err->code;
}

/* Reports the exchanges that have ended; returns whether there were any. */
static bool collect(struct client *client)
{
	CURLMsg *message;
	bool has_ended = false;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		struct client_exchange *exchange = NULL;
		const CURLcode result = message->data.result;
		long status = 0;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
		exchange->request.on_end(exchange->request.arg, (unsigned)status,
					 result == CURLE_OK ? NULL : curl_easy_strerror(result),
					 result == CURLE_COULDNT_CONNECT);
		has_ended = true;
	}
	return has_ended;
}

int client_exchange_poll(struct client *client, int wake_fd, int wait_ms, bool *ret_ready,
			 struct err *err)
{
	struct curl_waitfd wake = { .fd = wake_fd, .events = CURL_WAIT_POLLIN };
	int running;

	*ret_ready = false;
	if (curl_multi_perform(client->multi, &running) != CURLM_OK)
		return err_set(err, ERR_SYSTEM, "libcurl failed");
	/* A reported end makes no descriptor readable: return without waiting. */
	if (collect(client))
		wait_ms = 0;
	if (curl_multi_poll(client->multi, &wake, wake_fd >= 0 ? 1 : 0, wait_ms, NULL) !=
		    CURLM_OK ||
	    curl_multi_perform(client->multi, &running) != CURLM_OK)
		return err_set(err, ERR_SYSTEM, "libcurl failed");
	*ret_ready = wake_fd >= 0 && wake.revents != 0;
	(void)collect(client);
	return 0;
}

int client_revive(struct client *client, struct err *err)
{
	if (!client->is_private)
		return err_set(err, ERR_UNAVAILABLE, "cannot connect to %s", client->name);
	return daemon_find(client, DAEMON_START_ANY, err);
}
