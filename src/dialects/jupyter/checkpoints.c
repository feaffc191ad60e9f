/*
 * checkpoints.c - one checkpoint per file, in Jupyter's own folder .ipynb_checkpoints.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    paths of any client.
 * Never:    keeps more than one checkpoint of a file.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/jupyter/server.h"

#define ID "checkpoint"

/* For "a/b.ipynb": "a/.ipynb_checkpoints/b-checkpoint.ipynb". False: it is too long. */
static bool place_of(const char *path, char ret[CONTENTS_PATH_SIZE])
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	const size_t stem = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);

	return snprintf(ret, CONTENTS_PATH_SIZE, "%.*s.ipynb_checkpoints/%.*s-" ID "%s",
			(int)(name - path), path, (int)stem, name,
			name + stem) < (int)CONTENTS_PATH_SIZE;
}

static void write_checkpoint(struct json_writer *json, const struct api_download *file)
{
	char modified[CLOCK_RFC3339_SIZE];

	clock_rfc3339(file->has_modified_ms ? file->modified_ms : 0, modified);
	json_write_object_begin(json);
	json_write_member_string(json, "id", ID);
	server_write_moment(json, "last_modified", modified);
	json_write_object_end(json);
}

/* 1: it exists; 0: it does not. Negative: answered with an error, or the client is gone. */
static int look(struct request *request, const char *session, const char *place,
		struct api_download *ret)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status = call_make(
		request, API_FILE_GET,
		&(struct api_file_get_in){ .session = session, .path = place }, ret, &call);

	if (status == CALL_FAILED && call.failure->error != API_ERR_NOT_FOUND)
		call_refuse(request, call.failure);
	else if (status == CALL_FAILED)
		return 0;
	return status == CALL_OK ? 1 : -1;
}

static void list(struct request *request, const char *session, const char *place)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct api_download file;
	struct json_writer json;
	const int found = look(request, session, place, &file);

	if (found < 0)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	if (found > 0)
		write_checkpoint(&json, &file);
	json_write_array_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

/* Negative: as above. */
static int copy(struct request *request, const char *session, const char *from, const char *to)
{
	cleanup_buf struct buf bytes = BUF_INIT(CONTENTS_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	enum call_status status;

	if (bytes_read(request, session, from, &bytes, &file) < 0)
		return -1;
	status = bytes_write(request, session, to, &bytes, false, &call);
	if (status == CALL_FAILED)
		bytes_refuse(request, call.failure, to);
	return status == CALL_OK ? 0 : -1;
}

static void make(struct request *request, const char *session, const char *path, const char *place)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct api_download file;
	struct json_writer json;

	if (copy(request, session, path, place) < 0 || look(request, session, place, &file) <= 0)
		return;
	json_write_init(&json, &body);
	write_checkpoint(&json, &file);
	server_answer(request, 201, &json, &body, NULL);
}

static void remove_it(struct request *request, const char *session, const char *place)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status =
		call_make(request, API_FILE_DELETE,
			  &(struct api_file_delete_in){ .session = session, .path = place }, NULL,
			  &call);

	if (status == CALL_FAILED)
		bytes_refuse(request, call.failure, place);
	if (status == CALL_OK)
		server_answer_nothing(request);
}

void checkpoints_route(struct request *request, const char *path, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const bool is_one = strcmp(rest, "/" ID) == 0;
	char session[ID_SIZE], place[CONTENTS_PATH_SIZE];

	if (server_take_nothing(request) < 0 || home_open(request, session) < 0)
		return;
	if (!place_of(path, place))
		answer_refuse_simple(request, 400, "invalid", "the path is too long", NULL);
	else if (rest[0] == '\0' && verb == HTTP_VERB_GET)
		list(request, session, place);
	else if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		make(request, session, path, place);
	else if (is_one && verb == HTTP_VERB_POST) {
		if (copy(request, session, place, path) == 0)
			server_answer_nothing(request);
	} else if (is_one && verb == HTTP_VERB_DELETE)
		remove_it(request, session, place);
	else
		answer_refuse_simple(request, 404, "not_found", "Checkpoint does not exist", NULL);
}
