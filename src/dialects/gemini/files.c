/*
 * files.c - files of the tenant: listing, showing, deleting, and loading them for contents.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    ids that any client may have invented; reckond checks whose file it is.
 * Never:    shows pieces of an unfinished upload.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "codec/base64.h"
#include "dialects/gemini/gemini.h"
#include "dialects/names.h"
#include "dialects/stored.h"

#define LIST_MAX 100u
#define URL_SIZE 4096

/* ---- addresses ------------------------------------------------------------------------------ */

void files_origin(const struct request *request, char *ret, size_t size)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   ".-:[]";
	const char *host = gemini_header(request, "host");
	const bool is_tls = strcmp(gemini_header(request, "x-forwarded-proto"), "https") == 0;

	ret[0] = '\0';
	if (host[0] != '\0' && strlen(host) < 256 && strspn(host, good) == strlen(host))
		(void)snprintf(ret, size, "http%s://%s", is_tls ? "s" : "", host);
}

/* ---- one file's JSON ------------------------------------------------------------------------ */

void files_write(const struct request *request, struct json_writer *json,
		 const struct api_stored_file *file)
{
	char text[NAME_SIZE + 400], origin[280], at[CLOCK_RFC3339_SIZE];

	json_write_object_begin(json);
	(void)snprintf(text, sizeof(text), "files/%s", file->id);
	json_write_member_string(json, "name", text);
	json_write_member_string(json, "displayName", file->name);
	json_write_member_string(json, "mimeType", file->media_type);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)file->bytes);
	json_write_member_string(json, "sizeBytes", text);
	json_write_member_string(json, "createTime", file->created_at);
	json_write_member_string(json, "updateTime", file->created_at);
	if (file->has_expires_at_ms) {
		clock_rfc3339(file->expires_at_ms, at);
		json_write_member_string(json, "expirationTime", at);
	}
	files_origin(request, origin, sizeof(origin));
	(void)snprintf(text, sizeof(text), "%s/gemini/v1beta/files/%s", origin, file->id);
	json_write_member_string(json, "uri", text);
	json_write_member_string(json, "state", "ACTIVE");
	json_write_member_string(json, "source", "UPLOADED");
	json_write_object_end(json);
}

/* ---- the rest ------------------------------------------------------------------------------- */

void files_show(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(URL_SIZE);
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_file file;
	struct json_writer json;

	if (call_or_refuse(request, API_STORED_SHOW,
			   &(struct api_stored_show_in){ .file = name_id(id) }, &file, &call) < 0)
		return;
	json_write_init(&json, &body);
	files_write(request, &json, &file);
	gemini_answer(request, &json);
}

void files_delete(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(8);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_STORED_DELETE,
			   &(struct api_stored_delete_in){ .file = name_id(id) }, NULL,
			   &call) == 0 &&
	    buf_adds(&body, "{}", &err) == 0)
		answer_text(request, 200, GEMINI_JSON, &body, NULL);
}

static bool is_piece(const struct api_stored_file *file)
{
	return memmem(file->metadata.data, file->metadata.len, "\"" GEMINI_PIECE "\"",
		      sizeof(GEMINI_PIECE) + 1) != NULL;
}

/* Newest first; the page token is the id of the last page's last file. */
void files_list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(1024u * 1024u);
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_list_in in = { .has_limit = true, .limit = LIST_MAX };
	const char *at = request_head(request)->query;
	char name[32], value[NAME_SIZE], before[NAME_SIZE];
	struct api_stored_files out;
	const struct api_stored_file *files;
	struct json_writer json;
	struct err err;
	int more;

	while ((more = http_query_next(&at, name, sizeof(name), value, sizeof(value), &err)) == 1)
		if (strcmp(name, "pageToken") == 0 && value[0] != '\0') {
			memcpy(before, value, sizeof(before));
			in.before = name_id(before);
		} else if (strcmp(name, "pageSize") == 0 && value[0] >= '1' && value[0] <= '9') {
			in.limit = strtoull(value, NULL, 10);
		}
	if (more != 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	if (in.limit > LIST_MAX)
		in.limit = LIST_MAX;
	if (call_or_refuse(request, API_STORED_LIST, &in, &out, &call) < 0)
		return;
	files = out.files.items;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "files");
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.files.count; i++)
		if (!is_piece(&files[i]))
			files_write(request, &json, &files[i]);
	json_write_array_end(&json);
	if (out.next != NULL)
		json_write_member_string(&json, "nextPageToken", out.next);
	json_write_object_end(&json);
	gemini_answer(request, &json);
}

/* ---- for a conversation --------------------------------------------------------------------- */

static int bring(struct request *request, struct order *order, struct order_stored *stored)
{
	cleanup_buf struct buf bytes = BUF_INIT(GEMINI_FILE_BYTES_MAX + 1),
			       text = BUF_INIT(GEMINI_FILE_BYTES_MAX * 2);
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	struct err err;

	if (call_or_refuse(request, API_STORED_GET,
			   &(struct api_stored_get_in){ .file = name_id(stored->id) }, &file,
			   &call) < 0)
		return -1;
	stored->is_large = order->runs_code && file.size > GEMINI_FILE_BYTES_MAX;
	if (stored->mime == NULL && file.mime != NULL)
		stored->mime = arena_text(&order->arena, file.mime, strlen(file.mime));
	if (stored->is_large)
		return 0;
	if (file.size > GEMINI_FILE_BYTES_MAX || fd_read_all(call.reply.fd, &bytes, &err) < 0 ||
	    base64_encode(buf_text(&bytes), bytes.len, &text, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", "fileData: the file is too large",
				     NULL);
		return -1;
	}
	stored->base64 = arena_text(&order->arena, buf_text(&text), text.len);
	return 0;
}

int files_bring(struct request *request, struct order *order)
{
	for (size_t i = 0; i < order->stored_count; i++)
		if (bring(request, order, &order->stored[i]) < 0)
			return -1;
	return 0;
}

int files_copy(struct request *request, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	for (size_t i = 0; i < order->stored_count; i++) {
		const struct order_stored *stored = &order->stored[i];

		if (stored->path == NULL)
			continue;
		if (order->session[0] == '\0') {
			if (call_or_refuse(request, API_SESSION_CREATE,
					   &(struct api_session_create_in){ .has_held = true,
									    .held = true },
					   &session, &call) < 0)
				return -1;
			(void)snprintf(order->session, sizeof(order->session), "%s", session.id);
			order->session_frame = call.frame;
			upstream_cancel_when_gone(request, call.frame);
		}
		if (call_or_refuse(request, API_STORED_COPY,
				   &(struct api_stored_copy_in){ .session = order->session,
								 .file = name_id(stored->id),
								 .path = stored->path },
				   NULL, &call) < 0)
			return -1;
	}
	return 0;
}
