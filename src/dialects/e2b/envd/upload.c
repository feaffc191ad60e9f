/*
 * upload.c - uploads: a body that is a file, or a form with files as parts.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies from clients.
 * Never:    holds a large body in memory: it maps an unnamed file of reckond, which it cancels, so
 *           that no such file appears in the sandbox.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "codec/form_data.h"
#include "dialects/e2b/envd/inside.h"

#define PARTS_MAX 256u
#define ANSWER_MAX (4u << 20)
#define NAMELESS ".form" /* its upload is always cancelled, so no such file appears */
#define ELSEWHERE_MAX ((size_t)64 << 20) /* of a file outside the workspace */

/* ---- one file ------------------------------------------------------------------------------- */

/* Begins an upload; call->reply.fd is the file to write. Negative: answered with an error, or the
 * client disconnected. */
static int begin(const struct e2b *e2b, const char *inside, bool has_size, uint64_t size,
		 struct api_upload *ret, struct call *call)
{
	if (call_or_refuse(e2b->request, API_FILE_PUT,
			   &(struct api_file_put_in){ .session = e2b->target.session,
						      .path = inside,
						      .has_size = has_size,
						      .size = size },
			   ret, call) < 0)
		return -1;
	upstream_cancel_when_gone(e2b->request, ret->ticket);
	if (call->reply.fd >= 0)
		return 0;
	e2b_refuse(e2b, 500, "there is no file to write to");
	return -1;
}

static int commit(const struct e2b *e2b, const struct e2b_path *path, uint64_t ticket)
{
	cleanup_call struct call call = CALL_INIT;
	char message[E2B_PATH_SIZE + 64];
	const enum call_status status =
		call_make(e2b->request, API_FILE_COMMIT,
			  &(struct api_file_commit_in){ .ticket = ticket }, NULL, &call);

	if (status == CALL_FAILED && call.failure->error == API_ERR_DENIED) {
		(void)snprintf(message, sizeof(message),
			       "path '%s' is a directory, or below a file", path->whole);
		e2b_refuse(e2b, 400, message);
	} else if (status == CALL_FAILED) {
		call_refuse(e2b->request, call.failure);
	}
	return status == CALL_OK ? 0 : -1;
}

void e2b_write_written(struct json_writer *json, const char *path, const char *metadata)
{
	json_write_object_begin(json);
	json_write_member_string(json, "path", path);
	json_write_member_string(json, "name", strrchr(path, '/') + 1);
	json_write_member_string(json, "type", "file");
	if (metadata != NULL) {
		json_write_key(json, "metadata");
		json_write_raw(json, metadata, strlen(metadata));
	}
	json_write_object_end(json);
}

/* Writes a file outside the workspace through a program in the box. Negative: as above. */
static int put_elsewhere(const struct e2b *e2b, const struct e2b_path *path, const char *bytes,
			 size_t len, const char *metadata)
{
	cleanup_json struct json_value *answer = NULL;

	if (len > ELSEWHERE_MAX) {
		e2b_refuse(e2b, 413, "files beside /home/user have at most 64 MiB");
		return -1;
	}
	answer = inside_ask(
		e2b, &(struct inside_order){ .command = "write",
					     .path = path->whole,
					     .bytes = bytes,
					     .len = len,
					     .attributes = metadata != NULL ? metadata : "{}" });
	return answer == NULL || inside_refused(e2b, answer) ? -1 : 0;
}

static bool take_path(const struct e2b *e2b, const char *given, struct e2b_path *ret)
{
	if (given[0] == '\0')
		e2b_refuse(e2b, 400, "path is required");
	else if (!e2b_path_of(given, ret))
		e2b_refuse(e2b, 400, e2b_path_remedy);
	else if (ret->inside != NULL && ret->inside[0] == '\0')
		e2b_refuse(e2b, 400, "path is a directory");
	else
		return true;
	return false;
}

/* ---- a whole body --------------------------------------------------------------------------- */

/* What the head says about the files. */
struct encoded {
	bool is_gzip;
	const char *metadata; /* an object in JSON, or NULL */
};

static int unpack_whole(const struct e2b *e2b, struct fd_mapping *whole)
{
	cleanup_call struct call call = CALL_INIT;
	struct fd_mapping unpacked = { 0 };
	struct api_upload upload;
	int code;

	if (begin(e2b, NAMELESS, false, 0, &upload, &call) < 0)
		return -1;
	code = e2b_gunzip_to(e2b, whole->bytes, whole->len, call.reply.fd, upload.size_max);
	if (code == 0)
		fd_map(call.reply.fd, &unpacked);
	upstream_cancel_now(e2b->request);
	fd_unmap(whole);
	*whole = unpacked;
	return code;
}

/* Reads the body into an unnamed file, and maps it. Negative: as above. */
static int take_whole(const struct e2b *e2b, bool is_gzip, struct fd_mapping *ret)
{
	const struct http *http = request_head(e2b->request);
	cleanup_call struct call call = CALL_INIT;
	struct api_upload upload;
	int code;

	if (begin(e2b, NAMELESS, !http->is_chunked, http->length, &upload, &call) < 0)
		return -1;
	code = request_body_to(e2b->request, call.reply.fd, upload.size_max);
	if (code == 0)
		fd_map(call.reply.fd, ret);
	upstream_cancel_now(e2b->request);
	return code == 0 && is_gzip ? unpack_whole(e2b, ret) : code;
}

/* ---- a body that is a file ------------------------------------------------------------------ */

static void answer_written(const struct e2b *e2b, const char *const *paths, size_t count,
			   const char *metadata)
{
	cleanup_buf struct buf answer = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	json_write_init(&json, &answer);
	json_write_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		e2b_write_written(&json, paths[i], metadata);
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* Writes the body as a file of the workspace; `packed`: the gzip body if it was read before, else
 * NULL. Negative: as above. */
static int put_workspace(const struct e2b *e2b, const struct e2b_path *path,
			 const struct fd_mapping *packed)
{
	const struct http *http = request_head(e2b->request);
	const bool has_size = packed == NULL && !http->is_chunked;
	cleanup_call struct call call = CALL_INIT;
	struct api_upload upload;
	int code;

	if (begin(e2b, path->inside, has_size, has_size ? http->length : 0, &upload, &call) < 0)
		return -1;
	code = packed == NULL ? request_body_to(e2b->request, call.reply.fd, upload.size_max)
			      : e2b_gunzip_to(e2b, packed->bytes, packed->len, call.reply.fd,
					      upload.size_max);
	if (code < 0) {
		upstream_cancel_now(e2b->request);
		return -1;
	}
	(void)close(TAKE_FD(call.reply.fd));
	upstream_cancel_when_gone(e2b->request, 0);
	return commit(e2b, path, upload.ticket);
}

static void put_body(const struct e2b *e2b, const char *given, const struct encoded *encoded)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));
	cleanup_fd_mapping struct fd_mapping whole = { 0 };
	const char *const paths[] = { path->whole };

	if (!take_path(e2b, given, path))
		return;
	if (path->inside == NULL) {
		if (take_whole(e2b, encoded->is_gzip, &whole) < 0 ||
		    put_elsewhere(e2b, path, whole.bytes, whole.len, encoded->metadata) < 0)
			return;
	} else if ((encoded->is_gzip && take_whole(e2b, false, &whole) < 0) ||
		   put_workspace(e2b, path, encoded->is_gzip ? &whole : NULL) < 0 ||
		   !e2b_keep_metadata(e2b, paths, 1, encoded->metadata)) {
		return;
	}
	answer_written(e2b, paths, 1, encoded->metadata);
}

/* ---- a form --------------------------------------------------------------------------------- */

static int put_part(const struct e2b *e2b, const struct form_part *part,
		    const struct e2b_path *path, const char *metadata)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_upload upload;
	struct err err;

	if (path->inside == NULL)
		return put_elsewhere(e2b, path, part->data, part->len, metadata);
	if (begin(e2b, path->inside, true, part->len, &upload, &call) < 0)
		return -1;
	if (fd_write_full(call.reply.fd, part->data, part->len, &err) < 0) {
		upstream_cancel_now(e2b->request);
		e2b_refuse(e2b, 507, "there is no room for the file");
		return -1;
	}
	(void)close(TAKE_FD(call.reply.fd));
	upstream_cancel_when_gone(e2b->request, 0);
	return commit(e2b, path, upload.ticket);
}

/* Refuses a path that an earlier part has; else adds it to `paths`. */
static bool is_new(const struct e2b *e2b, const char **paths, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(paths[i], path) == 0) {
			e2b_refuse(e2b, 400, "two parts have one path");
			return false;
		}
	paths[count] = arena_text(e2b->arena, path, strlen(path));
	return true;
}

static void put_parts(const struct e2b *e2b, struct form_data *form, const char *given,
		      const char *metadata)
{
	struct form_part *part = arena_new(e2b->arena, 1, sizeof(*part));
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));
	const char **paths = arena_new(e2b->arena, PARTS_MAX, sizeof(*paths));
	const char **workspace_paths = arena_new(e2b->arena, PARTS_MAX, sizeof(*workspace_paths));
	size_t count = 0, workspace_count = 0;
	struct err err;
	int more;

	while ((more = form_data_next(form, part, &err)) > 0) {
		if (strcmp(part->name, "file") != 0)
			continue;
		if (count == PARTS_MAX) {
			e2b_refuse(e2b, 400, "more than 256 files at once");
			return;
		}
		if (!take_path(e2b, given[0] != '\0' ? given : part->filename, path) ||
		    !is_new(e2b, paths, count, path->whole) ||
		    put_part(e2b, part, path, metadata) < 0)
			return;
		if (path->inside != NULL)
			workspace_paths[workspace_count++] = paths[count];
		count++;
	}
	if (more < 0)
		e2b_refuse(e2b, 400, err.text);
	else if (e2b_keep_metadata(e2b, workspace_paths, workspace_count, metadata))
		answer_written(e2b, paths, count, metadata);
}

static void put_form(const struct e2b *e2b, const char *type, const char *given,
		     const struct encoded *encoded)
{
	cleanup_fd_mapping struct fd_mapping whole = { 0 };
	struct form_data form;
	struct err err;

	if (take_whole(e2b, encoded->is_gzip, &whole) < 0)
		return;
	if (form_data_begin(type, whole.bytes != NULL ? whole.bytes : "", whole.len, &form, &err) <
	    0)
		e2b_refuse(e2b, 400, err.text);
	else
		put_parts(e2b, &form, given, encoded->metadata);
}

/* ---- requests ------------------------------------------------------------------------------- */

void e2b_upload(struct e2b *e2b, const char *path)
{
	const struct http *http = request_head(e2b->request);
	const char *type = http_header(http, "content-type");
	static const char form[] = "multipart/form-data", plain[] = "application/octet-stream";
	struct encoded encoded;

	if (!e2b_take_encoding(e2b, &encoded.is_gzip) ||
	    !e2b_take_metadata(e2b, &encoded.metadata))
		return;
	if (type != NULL && strncasecmp(type, form, sizeof(form) - 1) == 0)
		put_form(e2b, type, path, &encoded);
	else if (type != NULL && strncasecmp(type, plain, sizeof(plain) - 1) == 0)
		put_body(e2b, path, &encoded);
	else
		e2b_refuse(e2b, 400, "the body must be multipart/form-data or "
				     "application/octet-stream");
}
