/*
 * files.c - files of the tenant: uploaded as the vendor's SDKs do it, listed, shown, removed, and
 * brought for the contents that name them.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    ids that anybody made up; reckond judges whose file it is.
 * Never:    remembers an upload between its two requests: its address says all of it.
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

#define PIECE_MAX (8u * 1024u * 1024u) /* what SDKs send in one request */
#define LIST_MAX 100u
#define URL_SIZE 4096

/* ---- addresses ------------------------------------------------------------------------------ */

static const char *header_of(const struct request *request, const char *name)
{
	const char *value = http_header(request_head(request), name);

	return value != NULL ? value : "";
}

/* Where the client has reached us; "" when it says nothing that could be it. */
static void write_origin(const struct request *request, char *ret, size_t size)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   ".-:[]";
	const char *host = header_of(request, "host");
	const bool is_tls = strcmp(header_of(request, "x-forwarded-proto"), "https") == 0;

	ret[0] = '\0';
	if (host[0] != '\0' && strlen(host) < 256 && strspn(host, good) == strlen(host))
		(void)snprintf(ret, size, "http%s://%s", is_tls ? "s" : "", host);
}

/* `text` with everything escaped that could mean something in a query. */
static int add_escaped(struct buf *ret, const char *text, struct err *err)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "._-";

	for (; *text != '\0'; text++)
		if (strchr(plain, *text) != NULL ? buf_addc(ret, *text, err) < 0
						 : buf_addf(ret, err, "%%%02X",
							    (unsigned)(unsigned char)*text) < 0)
			return (int)err->code;
	return 0;
}

/* ---- what one looks like -------------------------------------------------------------------- */

static void write_file(const struct request *request, struct json_writer *json,
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
	write_origin(request, origin, sizeof(origin));
	(void)snprintf(text, sizeof(text), "%s/gemini/v1beta/files/%s", origin, file->id);
	json_write_member_string(json, "uri", text);
	json_write_member_string(json, "state", "ACTIVE");
	json_write_member_string(json, "source", "UPLOADED");
	json_write_object_end(json);
}

/* ---- uploading ------------------------------------------------------------------------------ */

/* The second request has no key of its own, which is why its address has it. */
static int write_target(const struct request *request, const char *name, const char *mime,
			struct buf *ret, struct err *err)
{
	char key[256], origin[280];

	request_key(request, key, sizeof(key));
	write_origin(request, origin, sizeof(origin));
	if (buf_addf(ret, err, "X-Goog-Upload-Status: active\r\nX-Goog-Upload-URL: "
		     "%s/gemini/upload/v1beta/files?mime=", origin) < 0 ||
	    add_escaped(ret, mime, err) < 0 || buf_adds(ret, "&name=", err) < 0 ||
	    add_escaped(ret, name, err) < 0 || buf_adds(ret, "&key=", err) < 0 ||
	    add_escaped(ret, key, err) < 0)
		return (int)err->code;
	return buf_adds(ret, "\r\n", err);
}

static bool is_too_long(const struct request *request)
{
	const char *length = header_of(request, "x-goog-upload-header-content-length");

	return strspn(length, "0123456789") == strlen(length) &&
	       (strlen(length) > 9 || strtoull(length, NULL, 10) > PIECE_MAX);
}

static void begin_upload(struct request *request)
{
	cleanup_buf struct buf headers = BUF_INIT(URL_SIZE), empty = BUF_INIT(8);
	const char *name = header_of(request, "x-goog-upload-file-name");
	const char *mime = header_of(request, "x-goog-upload-header-content-type");
	struct json_value *body;
	const char *shown;
	struct err err;

	if (call_json_body(request, 64u * 1024u, &body) < 0)
		return;
	shown = order_text(json_read_member(body, "file"), "displayName");
	if (shown != NULL && shown[0] != '\0')
		name = shown;
	if (is_too_long(request))
		answer_refuse_simple(request, 413, "limit", "a file of this API has at most 8 MiB",
				     "store it with the native API");
	else if (strlen(name) > 255 || strlen(mime) > 255 ||
		 write_target(request, name[0] != '\0' ? name : "upload", mime, &headers, &err) < 0)
		answer_refuse_simple(request, 400, "invalid", "the file's name is too long", NULL);
	else if (buf_adds(&empty, "{}", &err) == 0)
		answer_text(request, 200, GEMINI_JSON, &empty, buf_text(&headers));
	json_read_free(body);
}

static void take_upload(struct request *request)
{
	cleanup_stored_form struct stored_form form = STORED_FORM_INIT;
	cleanup_buf struct buf body = BUF_INIT(URL_SIZE);
	cleanup_call struct call call = CALL_INIT;
	const char *at = request_head(request)->query;
	char key[32], value[1024];
	struct api_stored_file file;
	struct json_writer json;
	struct err err;

	(void)snprintf(form.name, sizeof(form.name), "upload");
	while (http_query_next(&at, key, sizeof(key), value, sizeof(value), &err) > 0)
		if (strcmp(key, "name") == 0)
			stored_form_name(&form, value);
		else if (strcmp(key, "mime") == 0)
			(void)snprintf(form.media_type, sizeof(form.media_type), "%.127s", value);
	if (call_check_key(request) < 0 || request_body(request, PIECE_MAX, &form.body) < 0)
		return;
	form.data = buf_text(&form.body);
	form.len = form.body.len;
	if (stored_form_keep(request, &form, &file, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "file");
	write_file(request, &json, &file);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, GEMINI_JSON, &body, "X-Goog-Upload-Status: final\r\n");
}

void files_upload(struct request *request)
{
	const char *command = header_of(request, "x-goog-upload-command");
	const char *offset = header_of(request, "x-goog-upload-offset");

	if (strcmp(command, "start") == 0)
		begin_upload(request);
	else if (strcmp(command, "upload, finalize") == 0 && strspn(offset, "0") == strlen(offset))
		take_upload(request);
	else
		answer_refuse_simple(request, 400, "invalid", "an upload has two requests, with the "
				     "commands 'start' and 'upload, finalize'", NULL);
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
	write_file(request, &json, &file);
	gemini_answer(request, &json);
}

void files_delete(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(8);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_STORED_DELETE,
			   &(struct api_stored_delete_in){ .file = name_id(id) }, NULL, &call) == 0 &&
	    buf_adds(&body, "{}", &err) == 0)
		answer_text(request, 200, GEMINI_JSON, &body, NULL);
}

/* The newest first; a page is named by the last file of the one before. */
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

	while (http_query_next(&at, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "pageToken") == 0 && value[0] != '\0') {
			memcpy(before, value, sizeof(before));
			in.before = name_id(before);
		}
	if (call_or_refuse(request, API_STORED_LIST, &in, &out, &call) < 0)
		return;
	files = out.files.items;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "files");
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.files.count; i++)
		write_file(request, &json, &files[i]);
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
	if (file.size > GEMINI_FILE_BYTES_MAX || fd_read_all(call.reply.fd, &bytes, &err) < 0 ||
	    base64_encode(buf_text(&bytes), bytes.len, &text, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", "fileData: the file is too large", NULL);
		return -1;
	}
	if (stored->mime == NULL && file.mime != NULL)
		stored->mime = arena_text(&order->arena, file.mime, strlen(file.mime));
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
