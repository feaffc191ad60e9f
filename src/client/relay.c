/*
 * relay.c - parallel messages to a path of the daemon outside its API.
 *
 * Runs in:  reckon-client.
 * Reads:    heads, bodies and events from any server at the address.
 * Never:    follows a redirect, or keeps more of an answer than MESSAGE_MAX.
 */
#include "client/relay.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "client/inner.h"
#include "codec/sse.h"

#define MESSAGE_MAX ((size_t)80 * 1024 * 1024)
#define POLL_MS 1000
#define CONNECT_S 10L
#define SESSION_SIZE 128

struct exchange {
	struct exchange *next;
	struct client_relay *relay;
	unsigned long id;
	CURL *easy;
	struct curl_slist *headers;
	struct buf sent, body;
	struct sse sse;
	bool is_events;
	char session[SESSION_SIZE];
};

struct client_relay {
	struct client *client;
	char *url;
	relay_message_fn *on_message;
	relay_end_fn *on_end;
	void *arg;
	struct exchange *exchanges;
	struct err err;
	bool has_failed;
};

/* ---- one exchange ------------------------------------------------------------------------------ */

static int on_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct exchange *exchange = arg;
	struct client_relay *relay = exchange->relay;

	if (event->len == 0)
		return 0;
	return relay->on_message(exchange->id, event->data, event->len, relay->arg, err);
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
	static const char session[] = "mcp-session-id:", type[] = "content-type: text/event-stream";
	struct exchange *exchange = arg;
	const size_t len = size * count;

	if (len >= sizeof(type) - 1 && strncasecmp(line, type, sizeof(type) - 1) == 0)
		exchange->is_events = true;
	if (len > sizeof(session) && strncasecmp(line, session, sizeof(session) - 1) == 0) {
		const char *value = line + sizeof(session) - 1;
		size_t value_len = len - (sizeof(session) - 1);

		while (value_len > 0 && *value == ' ') {
			value++;
			value_len--;
		}
		while (value_len > 0 && (unsigned char)value[value_len - 1] <= ' ')
			value_len--;
		if (value_len < SESSION_SIZE) {
			memcpy(exchange->session, value, value_len);
			exchange->session[value_len] = '\0';
		}
	}
	return len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct exchange *exchange = arg;
	struct client_relay *relay = exchange->relay;
	const size_t len = size * count;
	const int code = exchange->is_events
				 ? sse_feed(&exchange->sse, bytes, len, &relay->err)
				 : buf_add(&exchange->body, bytes, len, &relay->err);

	if (code < 0)
		relay->has_failed = true;
	return code < 0 ? 0 : len;
}

static void exchange_free(struct exchange *exchange)
{
	if (exchange->easy != NULL) {
		(void)curl_multi_remove_handle(exchange->relay->client->multi, exchange->easy);
		curl_easy_cleanup(exchange->easy);
	}
	curl_slist_free_all(exchange->headers);
	sse_done(&exchange->sse);
	buf_done(&exchange->sent);
	buf_done(&exchange->body);
	free(exchange);
}

static int set_headers(struct exchange *exchange, const char *const *headers, struct err *err)
{
	static const char *const always[] = {
		"Content-Type: application/json",
		"Accept: application/json, text/event-stream",
		"Expect:",
	};
	const char *key = exchange->relay->client->key;
	char line[CLIENT_KEY_SIZE + 32];

	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (client_add_header(&exchange->headers, always[i], err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < RELAY_HEADERS_MAX && headers[i] != NULL; i++)
		if (client_add_header(&exchange->headers, headers[i], err) < 0)
			return (int)err->code;
	if (key[0] == '\0')
		return 0;
	(void)snprintf(line, sizeof(line), "Authorization: Bearer %s", key);
	return client_add_header(&exchange->headers, line, err);
}

static void set_options(struct exchange *exchange)
{
	const struct url *url = &exchange->relay->client->url;
	CURL *easy = exchange->easy;

	(void)curl_easy_setopt(easy, CURLOPT_URL, exchange->relay->url);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "reckon/" RECKON_VERSION);
	if (url->socket[0] != '\0')
		(void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, url->socket);
	if (url->is_loopback)
		(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->headers);
	(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->sent.len);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, buf_text(&exchange->sent));
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
}

int client_relay_post(struct client_relay *relay, unsigned long id, const char *const *headers,
		      const char *json, size_t len, struct err *err)
{
	struct exchange *exchange = mem_new0(1, sizeof(*exchange));

	*exchange = (struct exchange){ .relay = relay,
				       .id = id,
				       .sent = BUF_INIT(MESSAGE_MAX),
				       .body = BUF_INIT(MESSAGE_MAX) };
	sse_init(&exchange->sse, MESSAGE_MAX, on_event, exchange);
	exchange->easy = curl_easy_init();
	if (exchange->easy == NULL)
		(void)err_set(err, ERR_SYSTEM, "libcurl does not start");
	if (exchange->easy == NULL || buf_add(&exchange->sent, json, len, err) < 0 ||
	    set_headers(exchange, headers, err) < 0) {
		exchange_free(exchange);
		return (int)err->code;
	}
	set_options(exchange);
	if (curl_multi_add_handle(relay->client->multi, exchange->easy) != CURLM_OK) {
		exchange_free(exchange);
		return err_set(err, ERR_SYSTEM, "libcurl does not take the request");
	}
	exchange->next = relay->exchanges;
	relay->exchanges = exchange;
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------------- */

static void unlink_exchange(struct exchange *exchange)
{
	struct exchange **at = &exchange->relay->exchanges;

	while (*at != exchange)
		at = &(*at)->next;
	*at = exchange->next;
}

static int end(struct exchange *exchange, CURLcode result, struct err *err)
{
	struct client_relay *relay = exchange->relay;
	long status = 0;
	int code = 0;

	(void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
	if (result != CURLE_OK)
		status = 0;
	unlink_exchange(exchange);
	if (status >= 200 && status < 300 && exchange->body.len > 0)
		code = relay->on_message(exchange->id, buf_text(&exchange->body),
					 exchange->body.len, relay->arg, err);
	if (code >= 0)
		code = relay->on_end(exchange->id, (unsigned)status, &exchange->body,
				     exchange->session, relay->arg, err);
	exchange_free(exchange);
	return code;
}

static int collect(struct client_relay *relay, struct err *err)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(relay->client->multi, &left)) != NULL) {
		struct exchange *exchange = NULL;
		const CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
		if (end(exchange, result, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int client_relay_wait(struct client_relay *relay, int fd, bool *ret_readable, struct err *err)
{
	struct curl_waitfd input = { .fd = fd, .events = CURL_WAIT_POLLIN };
	CURLM *multi = relay->client->multi;
	int running;

	*ret_readable = false;
	if (curl_multi_perform(multi, &running) != CURLM_OK)
		return err_set(err, ERR_SYSTEM, "libcurl failed");
	if (collect(relay, err) < 0)
		return (int)err->code;
	if (relay->has_failed) {
		*err = relay->err;
		return (int)err->code;
	}
	(void)curl_multi_poll(multi, &input, fd >= 0, POLL_MS, NULL);
	*ret_readable = fd >= 0 && input.revents != 0;
	return 0;
}

size_t client_relay_count(const struct client_relay *relay)
{
	size_t count = 0;

	for (const struct exchange *at = relay->exchanges; at != NULL; at = at->next)
		count++;
	return count;
}

void client_relay_drop(struct client_relay *relay, unsigned long id)
{
	for (struct exchange *at = relay->exchanges; at != NULL; at = at->next)
		if (at->id == id) {
			unlink_exchange(at);
			exchange_free(at);
			return;
		}
}

int client_relay_open(struct client *client, const char *path, relay_message_fn *on_message,
		      relay_end_fn *on_end, void *arg, struct client_relay **ret, struct err *err)
{
	cleanup_buf struct buf url = BUF_INIT(4096);

	if (buf_addf(&url, err, "%s%s", client->url.base, path) < 0)
		return (int)err->code;
	*ret = mem_new0(1, sizeof(**ret));
	**ret = (struct client_relay){ .client = client,
				       .url = mem_strdup(buf_text(&url)),
				       .on_message = on_message,
				       .on_end = on_end,
				       .arg = arg };
	return 0;
}

void client_relay_close(struct client_relay *relay)
{
	if (relay == NULL)
		return;
	while (relay->exchanges != NULL) {
		struct exchange *exchange = relay->exchanges;

		unlink_exchange(exchange);
		exchange_free(exchange);
	}
	free(relay->url);
	free(relay);
}
