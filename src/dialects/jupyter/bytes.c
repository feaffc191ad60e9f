/*
 * bytes.c - reads and writes whole files of the workspace.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    files of hostile programs.
 * Never:    reads a file larger than CONTENTS_MAX.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "dialects/jupyter/server.h"

void bytes_refuse_missing(struct request *request, const char *path)
{
	char message[512];

	(void)snprintf(message, sizeof(message), "No such file or directory: %.400s", path);
	answer_refuse_simple(request, 404, "not_found", message, NULL);
}

void bytes_refuse(struct request *request, const struct api_failure *failure, const char *path)
{
	if (failure->error == API_ERR_NOT_FOUND)
		bytes_refuse_missing(request, path);
	else
		call_refuse(request, failure);
}

static int take(struct request *request, int fd, uint64_t size, struct buf *ret)
{
	struct err err;
	char *space;

	while (ret->len < size) {
		const size_t left = (size_t)size - ret->len;
		ssize_t got;

		if (buf_reserve(ret, left, &space, &err) < 0)
			break;
		got = pread(fd, space, left, (off_t)ret->len);
		if (got <= 0)
			break; /* the file has become shorter */
		ret->len += (size_t)got;
		ret->data[ret->len] = '\0';
	}
	if (ret->len == size)
		return 0;
	answer_refuse_simple(request, 500, "internal", "the file could not be read", NULL);
	return -1;
}

int bytes_read(struct request *request, const char *session, const char *path, struct buf *ret,
	       struct api_download *ret_file)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status =
		call_make(request, API_FILE_GET,
			  &(struct api_file_get_in){ .session = session, .path = path }, ret_file,
			  &call);

	if (status == CALL_FAILED)
		bytes_refuse(request, call.failure, path);
	if (status != CALL_OK)
		return -1;
	if (ret_file->size > CONTENTS_MAX || call.reply.fd < 0) {
		answer_refuse_simple(request, 413, "limit",
				     "the file is too large for this interface",
				     "fetch it from /files, or with the native API");
		return -1;
	}
	ret_file->mime = ret_file->etag = ret_file->name = NULL; /* invalid after the call */
	return take(request, call.reply.fd, ret_file->size, ret);
}

enum call_status bytes_write(struct request *request, const char *session, const char *path,
			     const struct buf *bytes, bool only_new, struct call *call)
{
	struct api_upload upload;
	struct err err;
	enum call_status status =
		call_make(request, API_FILE_PUT,
			  &(struct api_file_put_in){ .session = session,
						     .path = path,
						     .has_size = true,
						     .size = bytes->len,
						     .if_none_match = only_new ? "*" : NULL },
			  &upload, call);

	if (status != CALL_OK)
		return status;
	{
		cleanup_fd int fd = TAKE_FD(call->reply.fd);

		if (bytes->len > upload.size_max || fd < 0 ||
		    fd_write_full(fd, buf_text(bytes), bytes->len, &err) < 0) {
			upstream_cancel_when_gone(request, upload.ticket);
			upstream_cancel_now(request);
			answer_refuse_simple(request, bytes->len > upload.size_max ? 413 : 507,
					     "limit", "the file does not fit", NULL);
			return CALL_GONE;
		}
	}
	return call_make(request, API_FILE_COMMIT,
			 &(struct api_file_commit_in){ .ticket = upload.ticket }, NULL, call);
}
