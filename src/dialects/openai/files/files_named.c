/*
 * files_named.c - files that runs of threads wrote: the ids name them where they are, without
 * storing them again.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; records of hostile programs.
 * Never:    shows a file that the key may not see: reckond checks that.
 *
 * A picture's id is "file-i" with its session, execution and index there; a workspace file's id is
 * "file-a" with its artifact and name. They exist as long as these.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/openai/files/files_read.h"

#define PICTURE_MAX (48u * 1024u * 1024u)

struct named {
	char name[NAME_SIZE];
	uint64_t size, created_s;
	struct buf bytes; /* a picture's */
	struct call call; /* a file's: its descriptor */
};

/* Parses "SESSION_EXECUTION_INDEX". */
static bool read_picture_id(const char *id, char session[ID_SIZE], char execution[ID_SIZE],
			    size_t *ret_index)
{
	const char *at = id + strlen(OPENAI_PICTURE), *end;
	const size_t where = strcspn(at, "_");
	const size_t what = at[where] == '_' ? strcspn(at + where + 1, "_") : 0;

	if (where == 0 || what == 0 || where + 4 > ID_SIZE || what + 4 > ID_SIZE)
		return false;
	end = at + where + 1 + what;
	if (end[0] != '_' || end[1] < '0' || end[1] > '9' || strlen(end) > 5)
		return false;
	(void)snprintf(session, ID_SIZE, "se_%.*s", (int)where, at);
	(void)snprintf(execution, ID_SIZE, "ex_%.*s", (int)what, at + where + 1);
	*ret_index = strtoull(end + 1, NULL, 10);
	return true;
}

static int take_picture(const struct api_bytes *record, size_t index, struct named *ret,
			struct err *err)
{
	struct json_value *document = NULL;
	const char *mime = "", *base64;
	size_t len = 0;
	int rc;

	if (record->data == NULL ||
	    json_read_parse(record->data, record->len, OPENAI_OUT_MAX, &document, err) < 0)
		return err_set(err, ERR_NOT_FOUND, "there is no such file");
	base64 = outputs_picture(json_read_at(json_read_member(document, "results"), index), &mime,
				 &len);
	rc = base64 != NULL ? base64_decode(base64, len, &ret->bytes, err)
			    : err_set(err, ERR_NOT_FOUND, "there is no such file");
	ret->size = ret->bytes.len;
	(void)snprintf(ret->name, sizeof(ret->name), "figure-%zu.%s", index,
		       strcmp(mime, "image/jpeg") == 0 ? "jpg" : "png");
	json_read_free(document);
	return rc;
}

static int find_picture(struct request *request, const char *id, struct named *ret)
{
	struct api_execution_show_in in = { 0 };
	struct api_execution_show_out out;
	char session[ID_SIZE] = "-", execution[ID_SIZE] = "-";
	size_t index = 0;
	struct err err;

	if (!read_picture_id(id, session, execution, &index))
		(void)snprintf(session, sizeof(session), "-");
	in.session = session;
	in.execution = execution;
	if (call_or_refuse(request, API_EXECUTION_SHOW, &in, &out, &ret->call) < 0)
		return -1;
	if (take_picture(&out.record, index, ret, &err) == 0)
		return 0;
	answer_refuse_simple(request, 404, "not_found", err.text, NULL);
	return -1;
}

static int find_file(struct request *request, const char *id, struct named *ret)
{
	struct api_download file;
	char artifact[ID_SIZE + 16];

	if (!name_read_artifact(OPENAI_FILE_OF, id, artifact, sizeof(artifact), ret->name,
				sizeof(ret->name)))
		(void)snprintf(artifact, sizeof(artifact), "-");
	if (call_or_refuse(request, API_ARTIFACT_GET,
			   &(struct api_artifact_get_in){ .artifact = artifact }, &file,
			   &ret->call) < 0)
		return -1;
	ret->size = file.size;
	ret->created_s = file.has_modified_ms ? file.modified_ms / 1000 : 0;
	return 0;
}

static void answer_object(struct request *request, const char *id, const struct named *named)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", "file");
	json_write_member_uint(&json, "bytes", named->size);
	json_write_member_uint(&json, "created_at", named->created_s);
	json_write_member_string(&json, "filename", named->name);
	json_write_member_string(&json, "purpose", "assistants_output");
	json_write_member_string(&json, "status", "processed");
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) == 0)
		openai_answer(request, &body);
	else
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
}

static void answer_bytes(struct request *request, const struct named *named)
{
	char headers[400];
	int rc;

	(void)snprintf(headers, sizeof(headers),
		       "x-request-id: %s\r\nContent-Disposition: attachment\r\n"
		       "Content-Security-Policy: sandbox; default-src 'none'\r\n",
		       request_id(request));
	if (answer_begin(request, 200, "application/octet-stream", named->size, headers) < 0)
		return;
	rc = named->bytes.len > 0
		     ? answer_write(request, named->bytes.data, named->bytes.len)
		     : answer_file(request, named->call.reply.fd, 0, named->size);
	if (rc == 0)
		answer_end(request);
}

int files_read_descriptor(int fd, uint64_t size, struct buf *ret, struct err *err)
{
	char *space;

	if (buf_reserve(ret, (size_t)size, &space, err) < 0)
		return (int)err->code;
	for (uint64_t at = 0; at < size;) {
		const ssize_t n = pread(fd, space + at, (size_t)(size - at), (off_t)at);

		if (n <= 0)
			return err_sys(err, "read a file");
		at += (uint64_t)n;
	}
	ret->len += (size_t)size;
	ret->data[ret->len] = '\0';
	return 0;
}

static bool is_named_picture(const char *id)
{
	return strncmp(id, OPENAI_PICTURE, strlen(OPENAI_PICTURE)) == 0;
}

int files_named_read(struct request *request, const char *id, struct buf *ret,
		     char name[FILES_NAME_SIZE])
{
	struct named named = { .bytes = BUF_INIT(PICTURE_MAX), .call = CALL_INIT };
	struct err err = { 0 };
	int rc = 1;

	if (!is_named_picture(id) && strncmp(id, OPENAI_FILE_OF, strlen(OPENAI_FILE_OF)) != 0)
		return 0;
	if ((is_named_picture(id) ? find_picture : find_file)(request, id, &named) < 0)
		rc = -1;
	else if (named.size > ret->max - ret->len)
		rc = err_set(&err, ERR_LIMIT, "the file %.60s is too large", id);
	else
		rc = (named.bytes.len > 0
			      ? buf_add(ret, named.bytes.data, named.bytes.len, &err)
			      : files_read_descriptor(named.call.reply.fd, named.size, ret, &err)) <
				     0
			     ? -1
			     : 1;
	if (rc < 0 && err.code != ERR_OK)
		answer_refuse_invalid(request, &err);
	(void)snprintf(name, FILES_NAME_SIZE, "%.255s", named.name);
	buf_done(&named.bytes);
	call_done(&named.call);
	return rc < 0 ? -1 : 1;
}

bool files_named_handle(struct request *request, const char *id, bool is_content)
{
	const bool is_picture = is_named_picture(id);
	struct named named = { .bytes = BUF_INIT(PICTURE_MAX), .call = CALL_INIT };

	if (!is_picture && strncmp(id, OPENAI_FILE_OF, strlen(OPENAI_FILE_OF)) != 0)
		return false;
	if ((is_picture ? find_picture : find_file)(request, id, &named) == 0) {
		if (is_content)
			answer_bytes(request, &named);
		else
			answer_object(request, id, &named);
	}
	buf_done(&named.bytes);
	call_done(&named.call);
	return true;
}
