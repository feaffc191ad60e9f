/*
 * e2b.c - answers, paths and bodies: what the handlers of all sides use.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    heads and bodies from clients.
 * Never:    keeps state between requests: a sandbox is a session, and the client holds its token.
 */
#include "dialects/e2b/e2b.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define PATH_PART_MAX 4096u
#define BODY_BEFORE_KEY (64u * 1024u) /* a longer body is read only after the key is checked */

/* ---- answers -------------------------------------------------------------------------------- */

void e2b_answer(const struct e2b *e2b, unsigned status, const struct buf *body, const char *headers)
{
	char all[1024];

	(void)snprintf(all, sizeof(all), E2B_CORS "%s", headers != NULL ? headers : "");
	answer_text(e2b->request, status, E2B_JSON, body, all);
}

void e2b_answer_empty(const struct e2b *e2b, unsigned status)
{
	if (answer_begin(e2b->request, status, NULL, 0, E2B_CORS) == 0)
		answer_end(e2b->request);
}

void e2b_answer_json(const struct e2b *e2b, unsigned status, struct json_writer *json,
		     const char *headers)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		e2b_refuse(e2b, 500, err.text);
	else
		e2b_answer(e2b, status, json->out, headers);
}

void e2b_refuse(const struct e2b *e2b, unsigned status, const char *message)
{
	const char *code = status == 400   ? "invalid"
			   : status == 404 ? "not_found"
			   : status == 409 ? "conflict"
			   : status == 501 ? "not_supported"
					   : "internal";

	answer_refuse_simple(e2b->request, status, code, message, NULL);
}

/* ---- requests ------------------------------------------------------------------------------- */

bool e2b_may_read(const struct e2b *e2b)
{
	const struct http *http = request_head(e2b->request);

	return (!http->is_chunked && http->length <= BODY_BEFORE_KEY) ||
	       call_check_key(e2b->request) == 0;
}

struct json_value *e2b_take_json(const struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(E2B_BODY_MAX);
	struct json_value *ret = NULL;
	struct err err;

	if (!e2b_may_read(e2b) || request_body(e2b->request, E2B_BODY_MAX, &body) < 0)
		return NULL;
	if (body.len == 0 && buf_adds(&body, "{}", &err) < 0) {
		e2b_refuse(e2b, 500, err.text);
		return NULL;
	}
	if (json_read_parse(body.data, body.len, E2B_BODY_MAX, &ret, &err) < 0) {
		e2b_refuse(e2b, 400, err.text);
		return NULL;
	}
	if (json_read_kind(ret) != JSON_KIND_OBJECT) {
		json_read_free(ret);
		e2b_refuse(e2b, 400, "the body must be a JSON object");
		return NULL;
	}
	return ret;
}

bool e2b_take_path(struct e2b *e2b, const char *path)
{
	char part[PATH_PART_MAX];

	if (path[0] == '/' && path[1] == 'v' && (path[2] == '2' || path[2] == '3') &&
	    path[3] == '/') {
		e2b->version = (unsigned)(path[2] - '0');
		path += 3;
	}
	while (*path == '/') {
		const size_t len = strcspn(++path, "/");

		if (len == 0 && path[0] == '\0')
			break;
		if (e2b->part_count == E2B_PARTS_MAX || len == 0 ||
		    !http_decode(path, len, part, sizeof(part)))
			return false;
		e2b->part[e2b->part_count++] = arena_text(e2b->arena, part, strlen(part));
		path += len;
	}
	return e2b->part_count > 0;
}

static bool is_path(const struct e2b *e2b, const char *path)
{
	for (size_t i = 0; i < e2b->part_count; i++) {
		const size_t len = strcspn(path, "/");

		if (len == 0 || (!(len == 1 && path[0] == '*') &&
				 (strlen(e2b->part[i]) != len ||
				  memcmp(e2b->part[i], path, len) != 0)))
			return false;
		path += len;
		if (*path == '/')
			path++;
	}
	return *path == '\0';
}

void e2b_refuse_method(const struct e2b *e2b, unsigned verbs)
{
	static const struct {
		enum http_verb verb;
		const char *name;
	} names[] = { { HTTP_VERB_GET, "GET" },
		      { HTTP_VERB_POST, "POST" },
		      { HTTP_VERB_PUT, "PUT" },
		      { HTTP_VERB_PATCH, "PATCH" },
		      { HTTP_VERB_DELETE, "DELETE" } };
	char line[80] = "Allow:";

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (verbs & (unsigned)names[i].verb)
			(void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s %s",
				       line[6] != '\0' ? "," : "", names[i].name);
	(void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "\r\n");
	answer_note_headers(e2b->request, line);
	answer_refuse_simple(e2b->request, 405, "method", "this path has no such method", NULL);
}

void e2b_route(struct e2b *e2b, const struct e2b_route *routes, size_t count)
{
	const enum http_verb verb = request_head(e2b->request)->verb;
	unsigned verbs = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_path(e2b, routes[i].path))
			continue;
		verbs |= (unsigned)routes[i].verb;
		if (routes[i].verb == verb) {
			routes[i].fn(e2b);
			return;
		}
	}
	if (verbs == 0)
		e2b_refuse(e2b, 404, "there is nothing here");
	else
		e2b_refuse_method(e2b, verbs);
}
