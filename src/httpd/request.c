/*
 * request.c - one request: the coroutine that handles it, and what that waits for.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    leaves a handler hanging: when the client is gone, each wait ends at once.
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

/* Of `Authorization: Basic`, in base 64: "name:password". */
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

	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &ignored) > 0)
		if (strcmp(name, want) == 0 && strlen(value) < size) {
			(void)snprintf(ret, size, "%s", value);
			return;
		}
}

/* Browsers let pages set no header of a WebSocket but the list of subprotocols. */
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
	request->ends_at_eof = true;
	if (conn_of(request)->read_ended)
		request->is_gone = true;
}

/* No answer comes to what was not asked: the time is over, or the client is gone. */
int request_pause(struct request *request, uint64_t ms)
{
	return request_wait(request, WAIT_TIME, ms > 0 ? ms : 1) < 0 ? -1 : 0;
}

/* ---- its coroutine -------------------------------------------------------------------------- */

void request_start(struct conn *conn, coroutine_fn *fn)
{
	struct err err;

	conn->request.wait = WAIT_NOTHING;
	loop_timer_clear(conn->timer);
	if (coroutine_new(fn, conn, &conn->request.coroutine, &err) < 0)
		conn_abort(conn);
}

static bool may_go_on(const struct conn *conn)
{
	const struct request *request = &conn->request;

	if (request->is_gone || request->has_timed_out)
		return true;
	switch (request->wait) {
	case WAIT_NOTHING:
		return true;
	case WAIT_BODY:
		return conn->in.len > 0;
	case WAIT_OUT:
		return conn->out.len - conn->out_at <= CONN_OUT_LOW;
	case WAIT_REPLY:
		return request->wanted->has_reply;
	case WAIT_ANSWER:
		return upstream_has_reply(request);
	case WAIT_MESSAGE:
		return conn->in.len > 0 || upstream_has_reply(request) || request->has_note ||
		       conn->is_dead;
	case WAIT_NOTE:
		return request->has_note;
	case WAIT_TIME:
		return false;
	case WAIT_CHANNEL:
		return channel_may_go_on(request->channel);
	}
	return true;
}

bool request_stays(const struct request *request)
{
	return request->outlives && !request->is_gone && request->coroutine != NULL;
}

static void finish(struct conn *conn)
{
	struct request *request = &conn->request;

	request->coroutine = NULL;
	if (request->is_gone)
		upstream_forget(conn);
	else
		upstream_end(conn);
	memset(request->cancels, 0, sizeof(request->cancels));
	if (!request->has_ended || request->answer_left > 0)
		conn_abort(conn); /* a client has to see that this is not a whole answer */
}

bool request_go_on(struct conn *conn)
{
	if (!may_go_on(conn))
		return false;
	if (coroutine_resume(conn->request.coroutine))
		finish(conn);
	return true;
}

/* A body, or an answer, has one time limit for all its waits: each byte would begin a new one. */
static void set_timer(struct conn *conn, enum wait wait, uint64_t ms)
{
	struct request *request = &conn->request;

	if (wait != WAIT_NOTHING && request->timer_of == wait)
		return;
	request->timer_of = wait;
	request->wait_ms = ms;
	if (ms == 0) {
		loop_timer_clear(conn->timer);
		return;
	}
	if (!wait_is_on_others(wait))
		conn->progress = 0;
	loop_timer_set(conn->timer, ms);
}

int request_wait(struct request *request, enum wait wait, uint64_t ms)
{
	struct conn *conn = conn_of(request);

	if (request->is_gone)
		return -1;
	conn_flush(conn);
	if (request->is_gone)
		return -1;
	request->wait = wait;
	request->has_timed_out = false;
	if (may_go_on(conn))
		return 0;
	set_timer(conn, wait, ms);
	coroutine_yield();
	request->wait = WAIT_NOTHING;
	if (wait_is_on_others(wait))
		set_timer(conn, WAIT_NOTHING, 0);
	if (request->is_gone)
		return -1;
	return request->has_timed_out ? 1 : 0;
}

void request_drop(struct conn *conn)
{
	struct request *request = &conn->request;

	request->is_gone = true;
	upstream_forget(conn);
	if (request->coroutine != NULL && coroutine_resume(request->coroutine))
		request->coroutine = NULL;
	upstream_end(conn);
	websocket_free(request->websocket);
	request->websocket = NULL;
}

void request_reset(struct request *request)
{
	websocket_free(request->websocket);
	memset(request, 0, sizeof(*request));
}
