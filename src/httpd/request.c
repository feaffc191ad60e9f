/*
 * request.c - one request: its head, its key, its notes for the log.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    waits.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "httpd/server.h"

static const struct conn *conn_of_const(const struct request *request)
{
	return (const struct conn *)((const char *)request - offsetof(struct conn, request));
}

const struct http *request_head(const struct request *request)
{
	return &conn_of_const(request)->http;
}

const struct dialect *request_dialect(const struct request *request)
{
	return conn_of_const(request)->server->dialect;
}

void request_note(struct request *request, const char *route, const char *session,
		  const char *execution)
{
	struct log_context *about = &request->access.about;

	if (route != NULL)
		(void)snprintf(request->access.route, sizeof(request->access.route), "%s", route);
	if (session != NULL)
		(void)snprintf(about->session, sizeof(about->session), "%s", session);
	if (execution != NULL)
		(void)snprintf(about->execution, sizeof(about->execution), "%s", execution);
}

const char *request_id(const struct request *request)
{
	return request->access.about.request;
}

void request_trace(const struct request *request, char *ret, size_t size)
{
	const struct log_context *about = &request->access.about;

	ret[0] = '\0';
	if (about->trace[0] != '\0')
		(void)snprintf(ret, size, "%s%s", about->trace, about->span);
}

static const char *behind_scheme(const char *value, const char *scheme)
{
	const size_t len = strlen(scheme);

	if (value == NULL || strncasecmp(value, scheme, len) != 0 || value[len] != ' ')
		return NULL;
	return value + len + strspn(value + len, " ");
}

/* From `Authorization: Basic`, base64 of "name:password". */
static void key_of_basic(const char *value, char *ret, size_t size)
{
	cleanup_buf struct buf pair = BUF_INIT(512);
	const char *colon, *key;
	struct err ignored;

	if (value == NULL || strncasecmp(value, "basic ", 6) != 0)
		return;
	value += 6 + strspn(value + 6, " ");
	if (base64_decode(value, strlen(value), &pair, &ignored) < 0)
		return;
	colon = strchr(buf_text(&pair), ':');
	key = colon != NULL ? colon + 1 : buf_text(&pair);
	if (key[0] == '\0' && colon != NULL)
		(void)snprintf(ret, size, "%.*s", (int)(colon - buf_text(&pair)), buf_text(&pair));
	else if (strlen(key) < size)
		(void)snprintf(ret, size, "%s", key);
}

static void key_of_path(const char *path, const char *begin, char *ret, size_t size)
{
	for (const char *at = strchr(path, '/'); at != NULL; at = strchr(at, '/')) {
		const size_t len = strcspn(++at, "/");

		if (strncmp(at, begin, strlen(begin)) == 0 && len < size) {
			(void)snprintf(ret, size, "%.*s", (int)len, at);
			return;
		}
	}
}

static void key_of_query(const char *query, const char *want, char *ret, size_t size)
{
	char name[64], value[512];
	struct err ignored;
	int more;

	/* Whatever else stands there, long or malformed, is not the key. */
	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
				       &ignored)) != 0)
		if (more == 1 && strcmp(name, want) == 0 && strlen(value) < size) {
			(void)snprintf(ret, size, "%s", value);
			return;
		}
}

/* A page can set only one header of a WebSocket: the list of subprotocols. */
static void key_of_protocols(const char *list, const char *prefix, char *ret, size_t size)
{
	for (const char *at = list; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
		size_t len;

		at += strspn(at, ", \t");
		len = strcspn(at, ", \t");
		if (len > strlen(prefix) && len - strlen(prefix) < size &&
		    strncmp(at, prefix, strlen(prefix)) == 0) {
			(void)snprintf(ret, size, "%.*s", (int)(len - strlen(prefix)),
				       at + strlen(prefix));
			return;
		}
	}
}

void request_use_key(struct request *request, const char *key)
{
	if (strlen(key) < sizeof(request->key))
		(void)snprintf(request->key, sizeof(request->key), "%s", key);
}

void request_key(const struct request *request, char *ret, size_t size)
{
	const struct http *http = request_head(request);

	(void)snprintf(ret, size, "%s", request->key);
	for (const struct key_place *at = request_dialect(request)->keys;
	     at->kind != KEY_NONE && ret[0] == '\0'; at++) {
		const char *found = NULL;

		if (at->kind == KEY_BEARER)
			found = behind_scheme(http_header(http, "authorization"), "bearer");
		else if (at->kind == KEY_SCHEME)
			found = behind_scheme(http_header(http, "authorization"), at->name);
		else if (at->kind == KEY_HEADER)
			found = http_header(http, at->name);
		else if (at->kind == KEY_PROTOCOL)
			key_of_protocols(http_header(http, "sec-websocket-protocol"), at->name, ret,
					 size);
		else if (at->kind == KEY_PATH)
			key_of_path(http->path, at->name, ret, size);
		else if (at->kind == KEY_BASIC)
			key_of_basic(http_header(http, "authorization"), ret, size);
		else
			key_of_query(http->query, at->name, ret, size);
		if (found != NULL && strlen(found) < size)
			(void)snprintf(ret, size, "%s", found);
	}
}

bool request_may_present(const struct request *request, const char *key)
{
	const struct conn *conn = conn_of_const(request);

	return auth_may_ask(conn->server->throttle, &conn->peer, key);
}

void request_learn_key(struct request *request, const char *key, bool is_good)
{
	struct conn *conn = conn_of(request);

	auth_learn(conn->server->throttle, key, is_good);
	if (!is_good)
		auth_failed(conn->server->throttle, &conn->peer);
}

void request_end_at_eof(struct request *request)
{
	if (request->at_eof == AT_EOF_WAITS)
		request->at_eof = AT_EOF_GONE;
	if (conn_of(request)->read_ended)
		request->client = CLIENT_GONE;
}

void request_outlive(struct request *request)
{
	if (request->client == CLIENT_GONE)
		return;
	request->client = CLIENT_MAY_GO;
	conn_of(request)->http.keep_alive = false;
}

void request_part(struct request *request)
{
	struct conn *conn = conn_of(request);
	const struct log_context about = request->access.about;

	if (!conn->is_dead)
		conn_part(conn);
	access_end(conn, request->answer == ANSWER_ENDED);
	request->access.about = about; /* for the log lines of its later frames to reckond */
}
