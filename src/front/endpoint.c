/*
 * endpoint.c - the table of the API: path and method, what is asked, how the answer looks.
 *
 * Runs in:  reckon-front.
 * Reads:    the path of a request line, as sent.
 * Never:    decodes twice. Only a file's path may hold encoded characters that matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/route.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "front/front.h"

#define PREFIX "/reckon/v1/"
#define PATH_BYTES_MAX 4095u

#define GET HTTP_VERB_GET
#define POST HTTP_VERB_POST
#define PUT HTTP_VERB_PUT
#define PATCH HTTP_VERB_PATCH
#define DELETE HTTP_VERB_DELETE

/* The methods of one path stand together. */
static const struct endpoint endpoints[] = {
	{ .path = "openapi.json", .verb = GET, .kind = ENDPOINT_DOCUMENT },

	{ .path = "sessions/{session}/executions/{execution}/events", .verb = GET,
	  .kind = ENDPOINT_EVENTS, .type = FRONT_EVENTS, .build = build_events,
	  .query = " after " },

	{ .path = "sessions/{session}/files", .verb = GET, .type = FRONT_FILE_LIST,
	  .build = build_file_list, .query = " path recursive limit cursor " },
	{ .path = "sessions/{session}/files/move", .verb = POST, .type = FRONT_FILE_MOVE,
	  .build = build_move, .shape = shape_moved },
	{ .path = "sessions/{session}/files/mkdir", .verb = POST, .type = FRONT_FILE_MKDIR,
	  .build = build_mkdir, .shape = shape_nothing },
	{ .path = "sessions/{session}/files/{path}", .verb = GET, .kind = ENDPOINT_BYTES,
	  .type = FRONT_FILE_GET, .build = build_in_session },
	{ .path = "sessions/{session}/files/{path}", .verb = PUT, .kind = ENDPOINT_UPLOAD,
	  .type = FRONT_FILE_PUT, .build = build_file_put, .shape = shape_put },
	{ .path = "sessions/{session}/files/{path}", .verb = DELETE, .type = FRONT_FILE_DELETE,
	  .build = build_file_delete, .query = " recursive ", .shape = shape_deleted },
	{ .path = "sessions/{session}/archive", .verb = GET, .kind = ENDPOINT_BYTES,
	  .type = FRONT_ARCHIVE_GET, .build = build_archive_get, .query = " format path " },
	{ .path = "sessions/{session}/archive", .verb = PUT, .kind = ENDPOINT_UPLOAD,
	  .type = FRONT_ARCHIVE_PUT, .build = build_archive_put, .query = " path ",
	  .shape = shape_archive },
	{ .path = "sessions/{session}/versions/{path}", .verb = GET, .type = FRONT_VERSION_LIST,
	  .build = build_list, .query = " limit before ", .shape = shape_versions },

	{ .path = "sessions/{session}/artifacts", .verb = GET, .type = FRONT_KEPT_LIST,
	  .build = build_artifacts, .query = " limit before ", .shape = shape_artifacts },
	{ .path = "sessions/{session}/receipts", .verb = GET, .type = FRONT_KEPT_LIST,
	  .build = build_receipts, .query = " limit before ", .shape = shape_receipts },
	{ .path = "sessions/{session}/links", .verb = GET, .type = FRONT_KEPT_LIST,
	  .build = build_links, .query = " limit before ", .shape = shape_links },
	{ .path = "sessions/{session}/links", .verb = POST, .type = FRONT_LINK_CREATE,
	  .build = build_link, .shape = shape_link, .status = 201 },
	{ .path = "sessions/{session}/links/{link}", .verb = DELETE, .type = FRONT_LINK_DELETE,
	  .build = build_in_session, .shape = shape_nothing },
	{ .path = "links/{token}/{path}", .verb = GET, .kind = ENDPOINT_BYTES,
	  .type = FRONT_LINK_GET, .build = build_follow },

	{ .path = "outputs/{handle}", .verb = GET, .kind = ENDPOINT_BYTES,
	  .type = FRONT_ARTIFACT_GET, .build = build_artifact, .query = " offset length " },
	{ .path = "artifacts/{handle}", .verb = GET, .kind = ENDPOINT_BYTES,
	  .type = FRONT_ARTIFACT_GET, .build = build_artifact, .query = " offset length " },

	{ .path = "agent", .verb = POST, .type = FRONT_RUN_CREATE, .build = build_run,
	  .take = take_run },
	{ .path = "agent/{id}", .verb = GET, .type = FRONT_RUN_SHOW, .build = build_in_session,
	  .shape = shape_run },
	{ .path = "agent/{id}/events", .verb = GET, .kind = ENDPOINT_EVENTS,
	  .type = FRONT_RUN_EVENTS, .build = build_run_events, .query = " after " },
	{ .path = "agent/{id}/interrupt", .verb = POST, .type = FRONT_RUN_INTERRUPT,
	  .build = build_empty, .shape = shape_interrupt },
};

/* What is no row above, but one of the field table. */
static const struct endpoint of_a_call = { .path = "", .kind = ENDPOINT_CALL };

/* An id that no id can be is one that does not exist. */
static void take_id(const char *text, size_t len, char *ret, size_t size)
{
	if (len >= size || strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"abcdefghijklmnopqrstuvwxyz_-") < len) {
		(void)snprintf(ret, size, "-");
		return;
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
}

/* What `{name}` of a pattern stands for; -1 when a file's path is malformed. */
static int take_part(struct target *ret, const char *name, const char *text, size_t len)
{
	if (strncmp(name, "{path}", 6) == 0) {
		free(ret->path);
		ret->path = mem_new0(PATH_BYTES_MAX + 1, 1);
		return http_decode(text, len, ret->path, PATH_BYTES_MAX + 1) ? 0 : -1;
	}
	if (strncmp(name, "{session}", 9) == 0)
		take_id(text, len, ret->session, sizeof(ret->session));
	else if (strncmp(name, "{execution}", 11) == 0)
		take_id(text, len, ret->execution, sizeof(ret->execution));
	else if (strncmp(name, "{token}", 7) == 0)
		take_id(text, len, ret->word, sizeof(ret->word));
	else if (strncmp(name, "{handle}", 8) == 0)
		take_id(text, len, ret->handle, sizeof(ret->handle));
	else
		take_id(text, len, ret->id, sizeof(ret->id));
	return 0;
}

/* 1: it is this path; 0: it is not; -1: it is, and malformed. A {path} takes all that is left. */
static int match(const char *pattern, const char *path, struct target *ret)
{
	int result = 1;

	while (*pattern != '\0') {
		const bool is_rest = strncmp(pattern, "{path}", 6) == 0;
		const size_t len = is_rest ? strlen(path) : strcspn(path, "/");

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return 0;
			continue;
		}
		if (len == 0)
			return 0;
		if (take_part(ret, pattern, path, len) < 0)
			result = -1;
		path += len;
		pattern = strchr(pattern, '}') + 1;
	}
	return *path == '\0' ? result : 0;
}

/* The methods that the path of `endpoint` knows; *ret is the one asked for, if it does. */
static unsigned verbs_of(const struct endpoint *endpoint, enum http_verb verb,
			 const struct endpoint **ret)
{
	const struct endpoint *end = endpoints + ARRAY_LEN(endpoints);
	const char *path = endpoint->path;
	unsigned verbs = 0;

	for (; endpoint < end && strcmp(endpoint->path, path) == 0; endpoint++) {
		verbs |= endpoint->verb;
		/* A stream of events has no head worth knowing without them. */
		if (endpoint->verb == HTTP_VERB_GET && endpoint->kind != ENDPOINT_EVENTS)
			verbs |= HTTP_VERB_HEAD;
		if (endpoint->verb == verb ||
		    (verb == HTTP_VERB_HEAD && endpoint->verb == HTTP_VERB_GET &&
		     endpoint->kind != ENDPOINT_EVENTS))
			*ret = endpoint;
	}
	return verbs;
}

/*
 * The first path that fits and knows the method. Another may fit too: `files/move` is a place to
 * POST to, and the name of a file.
 */
int endpoint_find(enum http_verb verb, const char *path, struct target *ret, struct err *err)
{
	const bool is_ours = strncmp(path, PREFIX, strlen(PREFIX)) == 0;
	unsigned verbs = 0;

	target_done(ret);
	for (size_t i = 0; i < ARRAY_LEN(endpoints) && ret->endpoint == NULL; i++) {
		const bool is_whole = endpoints[i].path[0] == '/';
		int found = 0;

		if (i > 0 && strcmp(endpoints[i].path, endpoints[i - 1].path) == 0)
			continue;
		if (is_whole || is_ours)
			found = match(endpoints[i].path, path + (is_whole ? 0 : strlen(PREFIX)), ret);
		if (found < 0)
			return err_set(err, ERR_INVALID, "the file's path is malformed");
		if (found > 0)
			verbs |= verbs_of(&endpoints[i], verb, &ret->endpoint);
	}
	if (verbs == 0 && (ret->call = api_route(verb, path, &verbs)) != NULL)
		ret->endpoint = &of_a_call;
	ret->verbs = verbs;
	return verbs != 0 ? 0 : err_set(err, ERR_NOT_FOUND, "there is nothing at %.100s", path);
}

bool target_is_open(const struct target *target)
{
	return target->endpoint->kind == ENDPOINT_DOCUMENT ||
	       (target->call != NULL && target->call->scope == API_SCOPE_NONE);
}

void target_done(struct target *target)
{
	free(target->path);
	memset(target, 0, sizeof(*target));
}
