/*
 * routes.c - LibreChat's Code API: programs with files that pass from run to run by id.
 *
 *   POST /librechat/exec                          a program
 *   POST /librechat/exec/programmatic             a program that calls tools; …/cancel
 *   POST /librechat/upload, /upload/batch         files, as a form
 *   GET  /librechat/files/{session}               files of a run or an upload
 *   GET  /librechat/download/{session}/{file}     its bytes
 *   GET  /librechat/sessions/{session}/objects/{file}
 *   information; DELETE removes it, as for /librechat/files/{session}/{file}
 *   GET  /librechat/health
 *
 * The same paths work with /v1 after /librechat. A key may precede it, because current clients can
 * only configure an address and send no key: /librechat/rk_…/v1/exec.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    heads of any client.
 * Never:    is called by another file of this folder: handlers do not depend on it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/librechat/programmatic.h"

extern const struct dialect dialect_librechat;

static void health(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(32), none = BUF_INIT(0);
	struct err err;

	if (request_body(request, 0, &none) == 0 &&
	    buf_adds(&body, "{\"status\":\"ok\"}", &err) == 0)
		answer_text(request, 200, LIBRECHAT_JSON, &body, NULL);
}

/* ---- paths ---------------------------------------------------------------------------------- */

#define PARTS_MAX 4u
#define PART_SIZE 64u

/* Splits "/a/b/c" into its parts; 0: too many parts, or one is too long. */
static size_t split(const char *path, char ret[PARTS_MAX][PART_SIZE])
{
	size_t count = 0;

	while (*path == '/') {
		const size_t len = strcspn(++path, "/");

		if (count == PARTS_MAX || len >= PART_SIZE)
			return 0;
		(void)snprintf(ret[count++], PART_SIZE, "%.*s", (int)len, path);
		path += len;
	}
	return count;
}

static bool is_object(char parts[PARTS_MAX][PART_SIZE], size_t count)
{
	return count == 4 && strcmp(parts[0], "sessions") == 0 && strcmp(parts[2], "objects") == 0;
}

static void refuse_path(struct request *request)
{
	answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

static void route_get(struct request *request, char parts[PARTS_MAX][PART_SIZE], size_t count)
{
	if (count == 1 && strcmp(parts[0], "health") == 0) {
		health(request);
	} else if (count == 2 && strcmp(parts[0], "files") == 0) {
		request_note(request, "/librechat/files/{session}", NULL, NULL);
		librechat_list(request, parts[1]);
	} else if (count == 3 && strcmp(parts[0], "download") == 0) {
		request_note(request, "/librechat/download/{session}/{file}", NULL, NULL);
		librechat_download(request, parts[1], parts[2]);
	} else if (is_object(parts, count)) {
		request_note(request, "/librechat/sessions/{session}/objects/{file}", NULL, NULL);
		librechat_show(request, parts[1], parts[3]);
	} else {
		refuse_path(request);
	}
}

static void route_post(struct request *request, char parts[PARTS_MAX][PART_SIZE], size_t count)
{
	const bool is_exec = strcmp(parts[0], "exec") == 0;
	const bool is_programmatic = is_exec && strcmp(parts[1], "programmatic") == 0;

	if (is_exec && count == 1) {
		request_note(request, "/librechat/exec", NULL, NULL);
		librechat_exec(request);
	} else if (is_programmatic && count == 2) {
		request_note(request, "/librechat/exec/programmatic", NULL, NULL);
		librechat_programmatic(request);
	} else if (is_programmatic && count == 3 && strcmp(parts[2], "cancel") == 0) {
		request_note(request, "/librechat/exec/programmatic/cancel", NULL, NULL);
		librechat_cancel(request);
	} else if (strcmp(parts[0], "upload") == 0 &&
		   (count == 1 || (count == 2 && strcmp(parts[1], "batch") == 0))) {
		request_note(request, "/librechat/upload", NULL, NULL);
		librechat_upload(request, count == 2);
	} else {
		refuse_path(request);
	}
}

static void route_delete(struct request *request, char parts[PARTS_MAX][PART_SIZE], size_t count)
{
	const bool is_file = count == 3 && strcmp(parts[0], "files") == 0;

	if (!is_file && !is_object(parts, count)) {
		refuse_path(request);
		return;
	}
	request_note(request, "/librechat/files/{session}/{file}", NULL, NULL);
	librechat_delete(request, parts[1], parts[is_file ? 2 : 3]);
}

#define KEY_BEGINS "rk_"

static const char *after_key(const char *path)
{
	if (strncmp(path, "/" KEY_BEGINS, 1 + strlen(KEY_BEGINS)) != 0)
		return path;
	return path + 1 + strcspn(path + 1, "/");
}

static void handle(struct request *request)
{
	const struct http *http = request_head(request);
	const char *path = after_key(http->path + strlen("/librechat"));
	char parts[PARTS_MAX][PART_SIZE] = { 0 };
	size_t count;

	if (strncmp(path, "/v1/", 4) == 0)
		path += strlen("/v1");
	count = split(path, parts);
	if (http->verb == HTTP_VERB_GET)
		route_get(request, parts, count);
	else if (http->verb == HTTP_VERB_POST)
		route_post(request, parts, count);
	else if (http->verb == HTTP_VERB_DELETE)
		route_delete(request, parts, count);
	else
		refuse_path(request);
}

static const struct key_place keys[] = {
	{ KEY_HEADER, "x-api-key" }, { KEY_PATH, KEY_BEGINS }, { KEY_BEARER, NULL },
	{ KEY_BASIC, NULL },	     { KEY_NONE, NULL },
};

const struct dialect dialect_librechat = {
	.name = "librechat",
	.keys = keys,
	.handle = handle,
	.refuse = librechat_refuse,
};
