/*
 * kernels_rest.c - REST routes of kernels: list, start, interrupt, restart, end.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    bodies of any client.
 * Never:    depends on whether a kernel is a session or a context.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/jupyter/server.h"

static void answer_kernel(struct request *request, unsigned status, const struct kernel_ref *kernel)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	char headers[128] = "", uuid[UUID_SIZE];
	struct json_writer json;

	if (status == 201 && kernels_uuid(kernel, uuid))
		(void)snprintf(headers, sizeof(headers), "Location: /jupyter/api/kernels/%s\r\n",
			       uuid);
	json_write_init(&json, &body);
	kernels_write(&json, kernel);
	server_answer(request, status, &json, &body, headers);
}

static bool write_one(const struct kernel_ref *kernel, void *arg)
{
	kernels_write(arg, kernel);
	return true;
}

static void list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	if (kernels_each(request, write_one, &json) < 0)
		return;
	json_write_array_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

static void start(struct request *request)
{
	cleanup_json struct json_value *body = NULL;
	struct kernel_ref kernel;

	if (server_take_object(request, SERVER_BODY_MAX, &body) == 0 &&
	    kernels_make(request, json_get_str(body, "name"), json_get_str(body, "path"),
			 &kernel) == 0)
		answer_kernel(request, 201, &kernel);
}

typedef enum call_status change_fn(struct request *request, const struct kernel_ref *kernel,
				   struct call *call);

static int change(struct request *request, const char *uuid, change_fn *fn)
{
	cleanup_call struct call call = CALL_INIT;
	struct kernel_ref kernel;
	enum call_status status;

	if (server_take_nothing(request) < 0 || kernels_find(request, uuid, &kernel) < 0)
		return -1;
	status = fn(request, &kernel, &call);
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	return status == CALL_OK ? 0 : -1;
}

static void show(struct request *request, const char *uuid)
{
	struct kernel_ref kernel;

	if (server_take_nothing(request) == 0 && kernels_find(request, uuid, &kernel) == 0)
		answer_kernel(request, 200, &kernel);
}

static void end(struct request *request, const char *uuid)
{
	if (change(request, uuid, kernels_make_end) == 0)
		server_answer_nothing(request);
}

static void interrupt(struct request *request, const char *uuid)
{
	if (change(request, uuid, kernels_make_interrupt) == 0)
		server_answer_nothing(request);
}

static void restart(struct request *request, const char *uuid)
{
	struct kernel_ref now;

	if (change(request, uuid, kernels_make_restart) == 0 &&
	    kernels_find(request, uuid, &now) == 0)
		answer_kernel(request, 200, &now);
}

void kernels_route(struct request *request, const char *rest)
{
	static const struct {
		enum http_verb verb;
		const char *what;
		void (*fn)(struct request *request, const char *uuid);
	} routes[] = {
		{ HTTP_VERB_GET, "", show },
		{ HTTP_VERB_DELETE, "", end },
		{ HTTP_VERB_POST, "/interrupt", interrupt },
		{ HTTP_VERB_POST, "/restart", restart },
		{ HTTP_VERB_GET, "/channels", channels_serve },
	};
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	char uuid[64], route[96];

	if (rest[0] == '\0' && verb == HTTP_VERB_GET) {
		list(request);
		return;
	}
	if (rest[0] == '\0' && verb == HTTP_VERB_POST) {
		start(request);
		return;
	}
	for (size_t i = 0; len > 0 && i < ARRAY_LEN(routes); i++)
		if (routes[i].verb == verb && strcmp(routes[i].what, rest + 1 + len) == 0) {
			(void)snprintf(uuid, sizeof(uuid), "%.*s", (int)len, rest + 1);
			(void)snprintf(route, sizeof(route), "/jupyter/api/kernels/{id}%s",
				       routes[i].what);
			request_note(request, route, NULL, NULL);
			routes[i].fn(request, uuid);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}
