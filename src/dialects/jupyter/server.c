/*
 * server.c - Jupyter Server's interface below /jupyter: what it is, and where its parts are.
 *
 *   /jupyter/api, /api/status, /api/me, /api/kernelspecs[/NAME]
 *   /jupyter/api/kernels[/ID[/interrupt|/restart|/channels]]
 *   /jupyter/api/sessions[/ID]
 *   /jupyter/api/contents[/PATH[/checkpoints[/ID]]], /jupyter/files/PATH
 *   /jupyter/api/terminals[/NAME], /jupyter/terminals/websocket/NAME
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    heads and bodies of anybody.
 * Never:    looks at the type of a body: clients send any.
 */
#include "dialects/jupyter/server.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

extern const struct dialect dialect_jupyter;

static const struct {
	const char *spec, *language, *display;
} specs[] = {
	{ "python3", "python", "Python 3 (Reckon)" },
	{ "bash", "bash", "Bash (Reckon)" },
};

const char *server_language_of(const char *spec)
{
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (strcmp(specs[i].spec, spec) == 0)
			return specs[i].language;
	return NULL;
}

const char *server_spec_of(const char *language)
{
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (strcmp(specs[i].language, language) == 0)
			return specs[i].spec;
	return language;
}

/* ---- answers -------------------------------------------------------------------------------- */

void server_answer(struct request *request, unsigned status, struct json_writer *json,
		   struct buf *body, const char *headers)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, status, SERVER_JSON, body, headers);
}

void server_answer_nothing(struct request *request)
{
	if (answer_begin(request, 204, NULL, 0, NULL) == 0)
		answer_end(request);
}

/* A key that is missing or wrong is 403: so a Jupyter server says it. */
static void refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const unsigned status = refusal->status == 401 ? 403 : refusal->status;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "message",
				 refusal->message != NULL ? refusal->message : refusal->code);
	json_write_member_string(&json, "reason", refusal->remedy);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status, SERVER_JSON, &body, refusal->headers);
}

int server_take_nothing(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);

	return call_check_key(request) < 0 ? -1 : request_body(request, SERVER_BODY_MAX, &unused);
}

int server_take_object(struct request *request, size_t max, struct json_value **ret)
{
	cleanup_buf struct buf body = BUF_INIT(max);
	cleanup_json struct json_value *parsed = NULL;
	struct err err = { 0 };

	*ret = NULL;
	if (call_check_key(request) < 0 || request_body(request, max, &body) < 0)
		return -1;
	if (body.len == 0)
		return 0;
	if (json_read_parse(body.data, body.len, max, &parsed, &err) < 0 ||
	    json_read_kind(parsed) != JSON_KIND_OBJECT) {
		answer_refuse_simple(request, 400, "invalid", "Invalid JSON in body of request",
				     parsed == NULL ? err.text : "send an object");
		return -1;
	}
	*ret = TAKE_PTR(parsed);
	return 0;
}

const char *server_text(const struct json_value *object, const char *key)
{
	const char *text = json_read_text(json_read_member(object, key), NULL);

	return text != NULL ? text : "";
}

/* ---- what the server is --------------------------------------------------------------------- */

static void show_version(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX), body = BUF_INIT(64);
	struct err err;

	if (request_body(request, SERVER_BODY_MAX, &unused) == 0 &&
	    buf_adds(&body, "{\"version\":\"2.21.1\"}", &err) == 0)
		answer_text(request, 200, SERVER_JSON, &body, NULL);
}

struct status {
	uint64_t kernels;
	char first[40], last[40]; /* when a kernel began */
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

/* A server of kernels began with the first of them. */
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
	json_write_member_uint(&json, "connections", 0);
	json_write_member_uint(&json, "kernels", status.kernels);
	kernels_write_moment(&json, "last_activity", status.kernels > 0 ? status.last : now);
	kernels_write_moment(&json, "started", status.kernels > 0 ? status.first : now);
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

/* Of what is asked about, all is allowed that the key is: that is judged with each request. */
static void write_permissions(struct request *request, struct json_writer *json)
{
	cleanup_buf struct buf compact = BUF_INIT(8192);
	const char *query = request_head(request)->query;
	enum json_kind kind = JSON_KIND_NULL;
	char name[64], value[4096];
	struct err err;

	json_write_key(json, "permissions");
	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "permissions") == 0 && compact.len == 0 &&
		    json_read_compact(value, strlen(value), sizeof(value), &compact, &kind, &err) == 0 &&
		    kind == JSON_KIND_OBJECT) {
			json_write_raw(json, compact.data, compact.len);
			return;
		}
	json_write_raw(json, "{}", 2);
}

static void show_me(struct request *request)
{
	static const char identity[] = "{\"username\":\"reckon\",\"name\":\"Reckon\","
				       "\"display_name\":\"Reckon\",\"initials\":\"R\","
				       "\"avatar_url\":null,\"color\":null}";
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "identity");
	json_write_raw(&json, identity, sizeof(identity) - 1);
	write_permissions(request, &json);
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

static void write_spec(struct json_writer *json, size_t i)
{
	json_write_object_begin(json);
	json_write_member_string(json, "name", specs[i].spec);
	json_write_key(json, "spec");
	json_write_object_begin(json);
	json_write_key(json, "argv");
	json_write_array_begin(json);
	json_write_array_end(json);
	json_write_key(json, "env");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_member_string(json, "display_name", specs[i].display);
	json_write_member_string(json, "language", specs[i].language);
	json_write_member_string(json, "interrupt_mode", "message");
	json_write_key(json, "metadata");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_object_end(json);
	json_write_key(json, "resources");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_object_end(json);
}

static void list_specs(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "default", specs[0].spec);
	json_write_key(&json, "kernelspecs");
	json_write_object_begin(&json);
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		json_write_key(&json, specs[i].spec);
		write_spec(&json, i);
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

static void show_spec(struct request *request, const char *name)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (strcmp(specs[i].spec, name) == 0) {
			write_spec(&json, i);
			server_answer(request, 200, &json, &body, NULL);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "no such kernelspec", NULL);
}

/* ---- a request ------------------------------------------------------------------------------ */

struct route {
	enum http_verb verb; /* 0: any */
	const char *path;
	void (*fn)(struct request *request);
	void (*below)(struct request *request, const char *rest);
};

/* A path, or, of those that have something below them, a path or what begins with it and a slash. */
static bool is_for(const struct route *route, enum http_verb verb, const char *path)
{
	const size_t len = strlen(route->path);

	if ((route->verb != 0 && route->verb != verb) || strncmp(route->path, path, len) != 0)
		return false;
	return path[len] == '\0' || (route->below != NULL && path[len] == '/');
}

static void show_spec_of(struct request *request, const char *rest)
{
	if (rest[0] == '\0')
		list_specs(request);
	else
		show_spec(request, rest + 1);
}

static void download(struct request *request, const char *rest)
{
	contents_download(request, rest[0] == '/' ? rest + 1 : rest);
}

static void serve_terminal(struct request *request, const char *rest)
{
	terminals_serve(request, rest[0] == '/' ? rest + 1 : rest);
}

static void handle(struct request *request)
{
	static const struct route routes[] = {
		{ HTTP_VERB_GET, "/api", show_version, NULL },
		{ HTTP_VERB_GET, "/api/", show_version, NULL },
		{ HTTP_VERB_GET, "/api/status", show_status, NULL },
		{ HTTP_VERB_GET, "/api/me", show_me, NULL },
		{ HTTP_VERB_GET, "/api/kernelspecs", NULL, show_spec_of },
		{ 0, "/api/kernels", NULL, kernels_route },
		{ 0, "/api/sessions", NULL, sessions_route },
		{ 0, "/api/contents", NULL, contents_route },
		{ 0, "/api/terminals", NULL, terminals_route },
		{ HTTP_VERB_GET, "/files", NULL, download },
		{ HTTP_VERB_GET, "/terminals/websocket", NULL, serve_terminal },
	};
	const struct http *http = request_head(request);
	const char *path = http->path + strlen("/jupyter");

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (is_for(&routes[i], http->verb, path)) {
			request_note(request, routes[i].path, NULL, NULL);
			if (routes[i].below != NULL)
				routes[i].below(request, path + strlen(routes[i].path));
			else
				routes[i].fn(request);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

static const struct key_place keys[] = {
	{ KEY_SCHEME, "token" }, { KEY_BEARER, NULL }, { KEY_QUERY, "token" }, { KEY_NONE, NULL }
};

const struct dialect dialect_jupyter = {
	.name = "jupyter",
	.keys = keys,
	.handle = handle,
	.refuse = refuse,
};
