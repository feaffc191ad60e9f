/*
 * files.c - files: list, read, write, delete.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    paths from a model; files that hostile programs wrote.
 * Never:    sends more of a file than the budget, or bytes that are not text as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/utf8.h"
#include "codec/base64.h"
#include "dialects/mcp/mcp.h"

#define LISTED_MAX 200u
#define IMAGE_MAX ((size_t)384 * 1024)
#define WRITE_MAX ((size_t)8 * 1024 * 1024)

static int list(struct tool *tool, const char *session, const char *path)
{
	cleanup_call struct call call = CALL_INIT;
	struct json_value *document = NULL;
	const struct json_value *files;
	struct api_file_list_out out;
	struct err err;
	int64_t size;
	int code;

	if (!tool_make(tool, API_FILE_LIST,
		       &(struct api_file_list_in){ .session = session, .path = path,
						   .has_limit = true, .limit = LISTED_MAX },
		       &out, &call, &code))
		return code;
	if (json_read_parse(out.files.data, out.files.len, MCP_OUT_MAX, &document, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	files = json_read_member(document, "files");
	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *name = rpc_text(file, "path", 4095);

		size = 0;
		(void)json_read_int(json_read_member(file, "size"), &size);
		tool_say(tool, "%10" PRId64 " %s\n", size, name != NULL ? name : "?");
	}
	if (json_read_count(files) == 0)
		tool_say(tool, "no files\n");
	if (json_read_text(json_read_member(document, "next"), NULL) != NULL)
		tool_say(tool, "[more files: list a folder with path]\n");
	json_read_free(document);
	return 0;
}

/* ---- read ------------------------------------------------------------------------------------- */

static void link_whole(struct tool *tool, const char *session, const char *path,
		       const struct api_download *file)
{
	cleanup_buf struct buf uri = BUF_INIT(16384);
	struct err ignored;

	if (strncmp(path, "ar_", 3) == 0)
		(void)buf_addf(&uri, &ignored, "reckon://artifacts/%s", path);
	else
		mcp_write_file_uri(session, path, &uri);
	tool_add_link(tool, buf_text(&uri), path, file->mime, true, file->size);
}

static int show_part(struct tool *tool, int fd, const struct api_download *file, double offset,
		     double length, bool *ret_is_text)
{
	cleanup_buf struct buf part = BUF_INIT(MCP_TEXT_MAX);
	struct err err;
	char *space;
	size_t len;
	ssize_t n;

	if (buf_reserve(&part, (size_t)length, &space, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	n = pread(fd, space, (size_t)length, (off_t)offset);
	len = n > 0 ? (size_t)n - utf8_incomplete_tail(space, (size_t)n) : 0;
	*ret_is_text = n >= 0 && utf8_is_valid(space, len) && memchr(space, '\0', len) == NULL;
	if (!*ret_is_text) {
		tool_say(tool, "[%" PRIu64 " bytes that are not text%s%s]\n", file->size,
			 file->mime != NULL ? ": " : "", file->mime != NULL ? file->mime : "");
		return 0;
	}
	(void)buf_add(&tool->text, space, len, &err);
	if ((uint64_t)offset + len < file->size)
		tool_say(tool, "\n[bytes %.0f to %.0f of %" PRIu64 "; go on with offset %.0f]\n",
			 offset, offset + (double)len, file->size, offset + (double)len);
	else if (len == 0)
		tool_say(tool, "[%s]\n",
			 file->size == 0 ? "an empty file" : "nothing behind its end");
	return 0;
}

static bool show_image(struct tool *tool, int fd, const struct api_download *file)
{
	cleanup_buf struct buf bytes = BUF_INIT(IMAGE_MAX);
	struct err err;
	char *space;

	if (!mcp_is_image(file->mime) || file->size > IMAGE_MAX ||
	    buf_reserve(&bytes, (size_t)file->size, &space, &err) < 0 ||
	    pread(fd, space, (size_t)file->size, 0) != (ssize_t)file->size ||
	    !tool_add_image(tool, space, (size_t)file->size, file->mime))
		return false;
	tool_say(tool, "[an image: %s, %" PRIu64 " bytes]\n", file->mime, file->size);
	return true;
}

static int read_file(struct tool *tool, const char *session, const char *path)
{
	cleanup_call struct call call = CALL_INIT;
	double offset = 0, length = (double)mcp_text_budget(tool);
	const bool is_artifact = strncmp(path, "ar_", 3) == 0;
	const struct api_file_get_in file_in = { .session = session, .path = path };
	const struct api_artifact_get_in artifact_in = { .artifact = path };
	struct api_download file;
	bool is_text = false;
	int code;

	if (!tool_number(tool, "offset", 0, 1e15, &offset) ||
	    !tool_number(tool, "length", 1, MCP_TEXT_MAX, &length) ||
	    !tool_make(tool, is_artifact ? API_ARTIFACT_GET : API_FILE_GET,
		       is_artifact ? (const void *)&artifact_in : (const void *)&file_in, &file,
		       &call, &code))
		return tool->is_error ? 0 : code;
	if (call.reply.fd < 0)
		return tool_fail(tool, "there is nothing to read", NULL);
	if (!show_image(tool, call.reply.fd, &file))
		(void)show_part(tool, call.reply.fd, &file, offset, length, &is_text);
	if (!is_text || (uint64_t)(offset + length) < file.size)
		link_whole(tool, session, path, &file);
	return 0;
}

/* ---- write ------------------------------------------------------------------------------------ */

static bool take_content(struct tool *tool, struct buf *ret)
{
	const struct json_value *text = json_read_member(tool->args, "text");
	const struct json_value *base64 = json_read_member(tool->args, "base64");
	struct err err;
	size_t len;
	const char *bytes = json_read_text(text != NULL ? text : base64, &len);

	if (bytes == NULL || (text != NULL && base64 != NULL))
		(void)tool_fail(tool, "write takes text or base64, as a string", NULL);
	else if (text != NULL ? buf_add(ret, bytes, len, &err) < 0
			      : base64_decode(bytes, len, ret, &err) < 0)
		(void)tool_fail(tool, err.text, "at most 8 MiB, base64 with padding");
	else
		return true;
	return false;
}

static int write_file(struct tool *tool, const char *session, const char *path)
{
	cleanup_buf struct buf bytes = BUF_INIT(WRITE_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct request *request = tool->mcp->request;
	struct api_upload upload;
	struct api_file_put put;
	cleanup_fd int fd = -1;
	struct err err;
	int code;

	if (!take_content(tool, &bytes))
		return 0;
	if (!tool_make(tool, API_FILE_PUT,
		       &(struct api_file_put_in){ .session = session, .path = path,
						  .has_size = true, .size = bytes.len },
		       &upload, &call, &code))
		return code;
	fd = TAKE_FD(call.reply.fd);
	upstream_cancel_when_gone(request, upload.ticket);
	if (fd < 0 || fd_write_full(fd, buf_text(&bytes), bytes.len, &err) < 0) {
		upstream_cancel_now(request);
		return tool_fail(tool, "the file could not be written", "the disk may be full");
	}
	(void)close(TAKE_FD(fd));
	upstream_cancel_when_gone(request, 0);
	if (!tool_make(tool, API_FILE_COMMIT,
		       &(struct api_file_commit_in){ .ticket = upload.ticket }, &put, &call, &code))
		return code;
	tool_say(tool, "wrote %" PRIu64 " bytes to %s\n", put.size, put.path);
	return 0;
}

int tool_files(struct tool *tool)
{
	cleanup_call struct call call = CALL_INIT;
	char session[ID_SIZE];
	const char *action, *path;
	int code;

	if (!tool_text(tool, "action", 16, &action) || !tool_text(tool, "path", 4095, &path))
		return 0;
	if (action == NULL || (strcmp(action, "list") != 0 && strcmp(action, "read") != 0 &&
			       strcmp(action, "write") != 0 && strcmp(action, "delete") != 0))
		return tool_fail(tool, "action must be list, read, write or delete", NULL);
	if (path == NULL && strcmp(action, "list") != 0)
		return tool_fail(tool, "the argument path is missing", NULL);
	if (path != NULL && strcmp(action, "read") == 0 && strncmp(path, "ar_", 3) == 0)
		return read_file(tool, "", path);
	if (path != NULL && strncmp(path, "/mnt/data/", 10) == 0)
		path += 10;
	if (!tool_find_session(tool, strcmp(action, "write") == 0, session, &code))
		return code;
	if (path == NULL || strcmp(action, "list") == 0)
		return list(tool, session, path);
	if (strcmp(action, "read") == 0)
		return read_file(tool, session, path);
	if (strcmp(action, "write") == 0) {
		code = write_file(tool, session, path);
		if (code == 0 && tool->mcp->name == NULL)
			tool_say(tool, "[session %s]\n", session);
		return code;
	}
	if (tool_make(tool, API_FILE_DELETE,
		      &(struct api_file_delete_in){ .session = session, .path = path }, NULL, &call,
		      &code))
		tool_say(tool, "deleted %s\n", path);
	return tool->is_error ? 0 : code;
}
