/*
 * files.c - lists and downloads of files of runs and uploads.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    ids and queries of any client.
 * Never:    lets a browser show a file: it is always an attachment.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dialects/librechat/librechat.h"

#define HEADERS                                                                                   \
	"Content-Disposition: attachment\r\nX-Content-Type-Options: nosniff\r\n"                  \
	"Content-Security-Policy: sandbox; default-src 'none'\r\n"

void librechat_answer(struct request *request, unsigned status, struct json_writer *json,
		      struct buf *body)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, status, LIBRECHAT_JSON, body, NULL);
}

static int take_nothing(struct request *request)
{
	cleanup_buf struct buf none = BUF_INIT(0);

	return call_check_key(request) < 0 ? -1 : request_body(request, 0, &none);
}

/* As librechat_may_use(), for a request without a body. */
static int may_see(struct request *request, const char *session)
{
	struct librechat_owner who;

	return librechat_who(request, NULL, &who) < 0
		       ? -1
		       : librechat_may_use(request, session, &who, NULL);
}

/* As librechat_find(): other users' files count as missing. */
static int find(struct request *request, const char *session, const char *id,
		struct librechat_file *ret)
{
	const int may = may_see(request, session);

	return may > 0 ? librechat_find(request, session, id, ret) : may;
}

static void refuse_missing(struct request *request)
{
	answer_refuse_simple(request, 404, "File not found", "there is no such file", NULL);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static const char *suffix_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *dot = strrchr(slash != NULL ? slash : name, '.');

	return dot != NULL && strlen(dot) < 16 ? dot : "";
}

/* Writes the name as an object store's key: clients cut the id out of it. */
static void write_object_name(struct json_writer *json, const struct librechat_file *file)
{
	char name[2 * LIBRECHAT_ID_SIZE + 20];

	(void)snprintf(name, sizeof(name), "%s/%s%s", file->session, file->id,
		       suffix_of(file->name));
	json_write_member_string(json, "name", name);
}

static bool write_listed(const struct librechat_file *file, void *arg)
{
	struct json_writer *json = arg;

	json_write_object_begin(json);
	write_object_name(json, file);
	json_write_member_string(json, "id", file->id);
	json_write_member_string(json, "storage_session_id", file->session);
	json_write_member_string(json, "session_id", file->session);
	json_write_member_uint(json, "size", file->size);
	json_write_member_string(json, "lastModified", file->created_at);
	json_write_member_string(json, "etag", file->sha256);
	json_write_member_string(json, "contentType", file->mime);
	json_write_key(json, "metadata");
	json_write_object_begin(json);
	json_write_member_string(json, "content-type", file->mime);
	json_write_member_string(json, "original-filename", file->name);
	json_write_object_end(json);
	json_write_object_end(json);
	return true;
}

void librechat_list(struct request *request, const char *session)
{
	cleanup_buf struct buf body = BUF_INIT(LIBRECHAT_LIST_MAX);
	struct json_writer json;
	int may;

	if (take_nothing(request) < 0)
		return;
	may = may_see(request, session);
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	if (may < 0 || (may > 0 && librechat_each(request, session, write_listed, &json) < 0))
		return;
	json_write_array_end(&json);
	librechat_answer(request, 200, &json, &body);
}

/* ---- a download ----------------------------------------------------------------------------- */

void librechat_show(struct request *request, const char *session, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct librechat_file file;
	struct json_writer json;
	int found;

	if (take_nothing(request) < 0)
		return;
	found = find(request, session, id, &file);
	if (found == 0)
		refuse_missing(request);
	if (found <= 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	write_object_name(&json, &file);
	json_write_member_string(&json, "originalFilename", file.name);
	json_write_member_uint(&json, "size", file.size);
	json_write_member_string(&json, "lastModified", file.created_at);
	json_write_member_string(&json, "etag", file.sha256);
	json_write_member_string(&json, "contentType", file.mime);
	json_write_member_bool(&json, "readOnly", (file.flags & LIBRECHAT_READ_ONLY) != 0);
	json_write_object_end(&json);
	librechat_answer(request, 200, &json, &body);
}

void librechat_delete(struct request *request, const char *session, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(256);
	cleanup_call struct call call = CALL_INIT;
	struct librechat_file file;
	struct json_writer json;
	char ours[OURS_SIZE];
	int found;

	if (take_nothing(request) < 0)
		return;
	found = may_see(request, session);
	if (found == 0)
		found = librechat_refuse_file(request);
	if (found > 0)
		found = librechat_find(request, session, id, &file);
	if (found == 0)
		refuse_missing(request);
	if (found <= 0 || !librechat_session_of(session, ours) ||
	    call_or_refuse(request, API_ARTIFACT_DELETE,
			   &(struct api_artifact_delete_in){ .session = ours,
							     .artifact = file.artifact },
			   NULL, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "message", "File deleted");
	json_write_object_end(&json);
	librechat_answer(request, 200, &json, &body);
}

void librechat_download(struct request *request, const char *session, const char *id)
{
	struct librechat_file file;
	cleanup_fd int fd = -1;
	uint64_t size;
	int found;

	if (take_nothing(request) < 0)
		return;
	found = find(request, session, id, &file);
	if (found > 0)
		found = librechat_open(request, &file, &fd, &size);
	if (found == 0)
		refuse_missing(request);
	if (found <= 0)
		return;
	if (answer_begin(request, 200, "application/octet-stream", size, HEADERS) == 0 &&
	    answer_file(request, fd, 0, size) == 0)
		answer_end(request);
}
