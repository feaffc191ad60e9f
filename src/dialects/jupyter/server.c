/*
 * server.c - Jupyter Server's interface below /jupyter: kernels, and nothing of files.
 *
 *   GET  /jupyter/api, /api/status, /api/me
 *   GET  /jupyter/api/kernelspecs[/NAME]
 *   GET, POST /jupyter/api/kernels; GET, DELETE /jupyter/api/kernels/ID
 *   POST /jupyter/api/kernels/ID/interrupt, /restart
 *   GET  /jupyter/api/kernels/ID/channels      a WebSocket
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    heads and bodies of anybody.
 * Never:    looks at the type of a body: clients send any.
 */
#include "dialects/jupyter/server.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

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

static int take_nothing(struct request *request, bool needs_key)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);

	if (needs_key && call_check_key(request) < 0)
		return -1;
	return request_body(request, SERVER_BODY_MAX, &unused);
}

/* ---- what the server is --------------------------------------------------------------------- */

static void answer_raw(struct request *request, const char *json, bool needs_key)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct err err;

	if (take_nothing(request, needs_key) == 0 && buf_adds(&body, json, &err) == 0)
		answer_text(request, 200, SERVER_JSON, &body, NULL);
}

static void show_version(struct request *request)
{
	answer_raw(request, "{\"version\":\"2.21.1\"}", false);
}

static void show_status(struct request *request)
{
	answer_raw(request,
		   "{\"connections\":0,\"kernels\":0,\"last_activity\":\"2026-01-01T00:00:00.000000Z\","
		   "\"started\":\"2026-01-01T00:00:00.000000Z\"}",
		   true);
}

static void show_me(struct request *request)
{
	answer_raw(request,
		   "{\"identity\":{\"username\":\"reckon\",\"name\":\"Reckon\",\"display_name\":"
		   "\"Reckon\",\"initials\":null,\"avatar_url\":null,\"color\":null},"
		   "\"permissions\":{}}",
		   true);
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

	if (take_nothing(request, true) < 0)
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

	if (take_nothing(request, true) < 0)
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

#define PART_SIZE 64u

/* Behind /api/kernels/: the id, and what of it. */
static void route_kernel(struct request *request, const char *rest)
{
	static const struct {
		enum http_verb verb;
		const char *what;
		void (*fn)(struct request *request, const char *uuid);
	} routes[] = {
		{ HTTP_VERB_GET, "", kernels_show },
		{ HTTP_VERB_DELETE, "", kernels_end },
		{ HTTP_VERB_POST, "/interrupt", kernels_interrupt },
		{ HTTP_VERB_POST, "/restart", kernels_restart },
		{ HTTP_VERB_GET, "/channels", channels_serve },
	};
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = strcspn(rest, "/");
	char uuid[PART_SIZE], route[96];

	(void)snprintf(uuid, sizeof(uuid), "%.*s", (int)len, rest);
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (routes[i].verb == verb && strcmp(routes[i].what, rest + len) == 0) {
			(void)snprintf(route, sizeof(route), "/jupyter/api/kernels/{id}%s",
				       routes[i].what);
			request_note(request, route, NULL, NULL);
			routes[i].fn(request, uuid);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

static const char *behind(const char *path, const char *prefix)
{
	const size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 ? path + len : NULL;
}

static void handle(struct request *request)
{
	static const struct {
		enum http_verb verb;
		const char *path;
		void (*fn)(struct request *request);
	} routes[] = {
		{ HTTP_VERB_GET, "/api", show_version },
		{ HTTP_VERB_GET, "/api/", show_version },
		{ HTTP_VERB_GET, "/api/status", show_status },
		{ HTTP_VERB_GET, "/api/me", show_me },
		{ HTTP_VERB_GET, "/api/kernelspecs", list_specs },
		{ HTTP_VERB_GET, "/api/kernels", kernels_list },
		{ HTTP_VERB_POST, "/api/kernels", kernels_start },
	};
	const struct http *http = request_head(request);
	const char *path = http->path + strlen("/jupyter");
	const char *spec = behind(path, "/api/kernelspecs/"), *kernel = behind(path, "/api/kernels/");

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (http->verb == routes[i].verb && strcmp(path, routes[i].path) == 0) {
			request_note(request, routes[i].path, NULL, NULL);
			routes[i].fn(request);
			return;
		}
	if (spec != NULL && http->verb == HTTP_VERB_GET)
		show_spec(request, spec);
	else if (kernel != NULL)
		route_kernel(request, kernel);
	else
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
