/*
 * routes.c - Jupyter Server's API below /jupyter: maps paths to handlers.
 *
 *   /jupyter, /jupyter/tree, /jupyter/login, /jupyter/logout
 *   /jupyter/api, /api/status, /api/me, /api/kernelspecs[/NAME]
 *   /jupyter/api/kernels[/ID[/interrupt|/restart|/channels]]
 *   /jupyter/api/sessions[/ID]
 *   /jupyter/api/contents[/PATH[/checkpoints[/ID]]], /jupyter/files/PATH
 *   /jupyter/api/config/NAME, /api/nbconvert, /api/events/subscribe
 *   /jupyter/api/terminals[/NAME], /jupyter/terminals/websocket/NAME
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    heads and bodies of any client.
 * Never:    is called by another file of this folder: handlers do not depend on it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/jupyter/server.h"
#include "dialects/route.h"

extern const struct dialect dialect_jupyter;

/* ---- how it is ------------------------------------------------------------------------------ */

struct status {
	uint64_t kernels;
	char first[40], last[40]; /* start times of the oldest and the newest kernel */
};

static bool count(const struct kernel_ref *kernel, void *arg)
{
	struct status *status = arg;

	status->kernels++;
	if (status->first[0] == '\0' || strcmp(kernel->created_at, status->first) < 0)
		(void)snprintf(status->first, sizeof(status->first), "%s", kernel->created_at);
	if (strcmp(kernel->created_at, status->last) > 0)
		(void)snprintf(status->last, sizeof(status->last), "%s", kernel->created_at);
	return true;
}

/* Reports the start of the oldest kernel as the server's. */
static void show_status(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct status status = { 0 };
	struct json_writer json;
	char now[CLOCK_RFC3339_SIZE];

	if (server_take_nothing(request) < 0 || kernels_each(request, count, &status) < 0)
		return;
	clock_rfc3339_now(now);
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_uint(&json, "connections", clients_count(NULL));
	json_write_member_uint(&json, "kernels", status.kernels);
	server_write_moment(&json, "last_activity", status.kernels > 0 ? status.last : now);
	server_write_moment(&json, "started", status.kernels > 0 ? status.first : now);
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Accepts the socket but sends nothing, because there are no events: if it is refused, JupyterLab
 * retries for ever, with an error each time. */
static void serve_events(struct request *request)
{
	struct websocket_message message;
	const char *protocol;

	if (call_check_key(request) < 0 ||
	    websocket_begin(request, NULL, SERVER_BODY_MAX, &protocol) < 0)
		return;
	while (websocket_next(request, 0, &message) >= 0)
		;
}

/* ---- formats to export a notebook to -------------------------------------------------------- */

static void list_formats(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(64);
	struct err err;

	if (server_take_nothing(request) == 0 && buf_adds(&body, "{}", &err) == 0)
		answer_text(request, 200, SERVER_JSON, &body, NULL);
}

/* ---- a request ------------------------------------------------------------------------------ */

#define ANY (~0u)
#define ORIGIN_MAX 180u /* a longer origin gets no header */

static void download(struct request *request, const char *rest)
{
	contents_download(request, rest[0] == '/' ? rest + 1 : rest);
}

static void serve_terminal(struct request *request, const char *rest)
{
	terminals_serve(request, rest[0] == '/' ? rest + 1 : rest);
}

/*
 * Pages of allowed origins may read answers if they send a token. Without
 * Access-Control-Allow-Credentials browsers do not show them answers to requests with the cookie.
 */
static void allow_origin(struct request *request)
{
	const char *origin = http_header(request_head(request), "origin");
	char headers[256];

	if (origin == NULL || !request_origin_is_allowed(request) ||
	    strlen(origin) > ORIGIN_MAX)
		return;
	(void)snprintf(headers, sizeof(headers),
		       "Access-Control-Allow-Origin: %s\r\nVary: Origin\r\n", origin);
	answer_note_headers(request, headers);
}

/* A browser's question before it sends a page's request; it has no key, and may name any path. */
static bool is_preflight(const struct http *http)
{
	return http->verb == HTTP_VERB_OTHER && strcmp(http->method, "OPTIONS") == 0 &&
	       strncmp(http->path, "/jupyter/api", strlen("/jupyter/api")) == 0;
}

static void answer_preflight(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);

	if (request_body(request, SERVER_BODY_MAX, &unused) == 0 &&
	    answer_begin(request, 200, NULL, 0,
			 "Access-Control-Allow-Methods: GET, PUT, POST, PATCH, DELETE, OPTIONS\r\n"
			 "Access-Control-Allow-Headers: accept, content-type, authorization, "
			 "x-xsrftoken\r\n") == 0)
		answer_end(request);
}

static void handle(struct request *request)
{
	static const struct route routes[] = {
		{ HTTP_VERB_GET, "", login_show_home, NULL },
		{ HTTP_VERB_GET, "/", login_show_home, NULL },
		{ HTTP_VERB_GET, "/tree", login_show_home, NULL },
		{ HTTP_VERB_GET, "/login", login_show_form, NULL },
		{ HTTP_VERB_POST, "/login", login_take_password, NULL },
		{ HTTP_VERB_GET, "/logout", login_end, NULL },
		{ HTTP_VERB_GET, "/api", server_show_version, NULL },
		{ HTTP_VERB_GET, "/api/", server_show_version, NULL },
		{ HTTP_VERB_GET, "/api/status", show_status, NULL },
		{ HTTP_VERB_GET, "/api/me", server_show_me, NULL },
		{ HTTP_VERB_GET, "/api/kernelspecs", NULL, server_show_specs },
		{ ANY, "/api/kernels", NULL, kernels_route },
		{ ANY, "/api/sessions", NULL, sessions_route },
		{ ANY, "/api/contents", NULL, contents_route },
		{ ANY, "/api/terminals", NULL, terminals_route },
		{ HTTP_VERB_GET, "/api/events/subscribe", serve_events, NULL },
		{ HTTP_VERB_GET, "/api/nbconvert", list_formats, NULL },
		{ ANY, "/api/config", NULL, config_route },
		{ HTTP_VERB_GET, "/files", NULL, download },
		{ HTTP_VERB_GET, "/terminals/websocket", NULL, serve_terminal },
	};
	const char *path = request_head(request)->path + strlen("/jupyter");

	allow_origin(request);
	login_use_cookie(request);
	if (is_preflight(request_head(request)))
		answer_preflight(request);
	else if (route_call(request, path, routes, ARRAY_LEN(routes)) != ROUTE_HANDLED)
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

static const struct key_place keys[] = {
	{ KEY_SCHEME, "token" }, { KEY_BEARER, NULL }, { KEY_QUERY, "token" }, { KEY_NONE, NULL }
};

const struct dialect dialect_jupyter = {
	.name = "jupyter",
	.keys = keys,
	.handle = handle,
	.refuse = server_refuse,
};
