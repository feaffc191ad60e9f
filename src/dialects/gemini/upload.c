/*
 * upload.c - uploads as Gemini's SDKs do them: in pieces, one request each.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    URLs that any client may have invented; reckond checks whose pieces they are.
 * Never:    stores state between the requests of an upload: the URL identifies it, and its pieces
 *           are files of the tenant that expire.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "dialects/gemini/gemini.h"
#include "dialects/names.h"
#include "dialects/stored.h"

#define PIECE_MAX (16u * 1024u * 1024u) /* SDKs send half of this per request */
#define UPLOAD_MAX (UINT64_C(512) * 1024 * 1024)
#define PIECES_MAX 500u
#define PIECE_S 3600u /* lifetime of a piece */
#define URL_SIZE 4096
#define COPY_SIZE ((size_t)256 * 1024)

/* Contents of an upload URL. */
struct target {
	char name[256], mime[128], upload[64];
	uint64_t offset; /* of the body in the file */
};

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

/* ---- the first request ---------------------------------------------------------------------- */

/* Later requests send no key, so the URL contains it. */
static int write_target(const struct request *request, const char *name, const char *mime,
			struct buf *ret, struct err *err)
{
	char key[256], origin[280];

	request_key(request, key, sizeof(key));
	files_origin(request, origin, sizeof(origin));
	if (buf_addf(ret, err, "X-Goog-Upload-Status: active\r\nX-Goog-Upload-URL: "
		     "%s/gemini/upload/v1beta/files?upload_id=%s&mime=", origin,
		     request_id(request)) < 0 ||
	    add_escaped(ret, mime, err) < 0 || buf_adds(ret, "&name=", err) < 0 ||
	    add_escaped(ret, name, err) < 0 || buf_adds(ret, "&key=", err) < 0 ||
	    add_escaped(ret, key, err) < 0)
		return (int)err->code;
	return buf_adds(ret, "\r\n", err);
}

static bool is_too_long(const struct request *request)
{
	const char *length = gemini_header(request, "x-goog-upload-header-content-length");

	return strspn(length, "0123456789") == strlen(length) &&
	       (strlen(length) > 12 || strtoull(length, NULL, 10) > UPLOAD_MAX);
}

static void begin_upload(struct request *request)
{
	cleanup_buf struct buf headers = BUF_INIT(URL_SIZE), empty = BUF_INIT(8);
	const char *name = gemini_header(request, "x-goog-upload-file-name");
	const char *mime = gemini_header(request, "x-goog-upload-header-content-type");
	struct json_value *body;
	const char *shown;
	struct err err;

	if (call_json_body(request, 64u * 1024u, &body) < 0)
		return;
	shown = order_text(json_read_member(body, "file"), "displayName");
	if (shown != NULL && shown[0] != '\0')
		name = shown;
	if (is_too_long(request))
		answer_refuse_simple(request, 413, "limit", "a file has at most 512 MiB", NULL);
	else if (strlen(name) > 255 || strlen(mime) > 255 ||
		 write_target(request, name[0] != '\0' ? name : "upload", mime, &headers, &err) < 0)
		answer_refuse_simple(request, 400, "invalid", "the file's name is too long", NULL);
	else if (buf_adds(&empty, "{}", &err) == 0)
		answer_text(request, 200, GEMINI_JSON, &empty, buf_text(&headers));
	json_read_free(body);
}

/* ---- pieces --------------------------------------------------------------------------------- */

static void read_target(const struct request *request, struct target *ret)
{
	const char *at = request_head(request)->query;
	const char *offset = gemini_header(request, "x-goog-upload-offset");
	char key[32], value[1024];
	struct err err;

	*ret = (struct target){ .name = "upload", .upload = "-" };
	while (http_query_next(&at, key, sizeof(key), value, sizeof(value), &err) > 0)
		if (strcmp(key, "name") == 0)
			(void)snprintf(ret->name, sizeof(ret->name), "%.255s", value);
		else if (strcmp(key, "mime") == 0)
			(void)snprintf(ret->mime, sizeof(ret->mime), "%.127s", value);
		else if (strcmp(key, "upload_id") == 0)
			(void)snprintf(ret->upload, sizeof(ret->upload), "%.63s", name_id(value));
	if (offset[0] != '\0' && strlen(offset) < 16 &&
	    strspn(offset, "0123456789") == strlen(offset))
		ret->offset = strtoull(offset, NULL, 10);
	else if (offset[0] != '\0')
		ret->offset = UINT64_MAX;
}

/* Lists all pieces, oldest first; valid as long as the call. */
static int list_pieces(struct request *request, const struct target *target,
		       struct api_stored_files *ret, struct call *call)
{
	char filter[128];

	(void)snprintf(filter, sizeof(filter), "{\"" GEMINI_PIECE "\":\"%s\"}", target->upload);
	return call_or_refuse(request, API_STORED_LIST,
			      &(struct api_stored_list_in){
				      .metadata = filter,
				      .order = API_STORED_LIST_IN_ORDER_ASC,
				      .has_limit = true,
				      .limit = PIECES_MAX },
			      ret, call);
}

/* The piece at this offset; if the client sent it twice, both have the same bytes. */
static const struct api_stored_file *piece_at(const struct api_stored_files *pieces,
					      uint64_t offset)
{
	const struct api_stored_file *items = pieces->files.items;
	char name[32];

	(void)snprintf(name, sizeof(name), "%" PRIu64, offset);
	for (size_t i = pieces->files.count; i > 0; i--)
		if (strcmp(items[i - 1].name, name) == 0 && items[i - 1].bytes > 0)
			return &items[i - 1];
	return NULL;
}

/* How many bytes have arrived without a gap. */
static uint64_t received(const struct api_stored_files *pieces)
{
	const struct api_stored_file *piece;
	uint64_t sum = 0;

	while (sum < UPLOAD_MAX && (piece = piece_at(pieces, sum)) != NULL)
		sum += piece->bytes;
	return sum;
}

static void drop_pieces(struct request *request, const struct api_stored_files *pieces)
{
	const struct api_stored_file *items = pieces->files.items;
	cleanup_call struct call call = CALL_INIT;

	for (size_t i = 0; i < pieces->files.count; i++)
		if (call_make(request, API_STORED_DELETE,
			      &(struct api_stored_delete_in){ .file = items[i].id }, NULL,
			      &call) == CALL_GONE)
			return; /* the rest expires */
}

static int write_file(struct request *request, const struct api_stored_create_in *in,
		      struct api_upload *ret, struct call *call, int *ret_fd)
{
	if (call_or_refuse(request, API_STORED_CREATE, in, ret, call) < 0)
		return -1;
	*ret_fd = TAKE_FD(call->reply.fd);
	return 0;
}

static int give_up(struct request *request, const struct api_upload *upload, const char *why)
{
	upstream_cancel_when_gone(request, upload->ticket);
	upstream_cancel_now(request);
	answer_refuse_simple(request, 507, "limit", why, NULL);
	return -1;
}

static void say_status(struct request *request, const char *status, uint64_t size)
{
	cleanup_buf struct buf empty = BUF_INIT(8);
	char headers[128];
	struct err err;

	(void)snprintf(headers, sizeof(headers),
		       "X-Goog-Upload-Status: %s\r\nX-Goog-Upload-Size-Received: %" PRIu64 "\r\n",
		       status, size);
	if (buf_adds(&empty, "{}", &err) == 0)
		answer_text(request, 200, GEMINI_JSON, &empty, headers);
}

/* Stores one of several pieces as a separate file until the last one comes. */
static void take_piece(struct request *request, const struct target *target)
{
	cleanup_buf struct buf body = BUF_INIT(PIECE_MAX);
	cleanup_call struct call call = CALL_INIT;
	char name[32], metadata[128];
	struct api_stored_create_in in = {
		.has_size = true,
		.name = name,
		.metadata = metadata,
		.media_type = "application/octet-stream",
		.has_expires_in_s = true,
		.expires_in_s = PIECE_S,
	};
	struct api_upload upload;
	cleanup_fd int fd = -1;
	struct err err;

	if (request_body(request, PIECE_MAX, &body) < 0)
		return;
	(void)snprintf(name, sizeof(name), "%" PRIu64, target->offset);
	(void)snprintf(metadata, sizeof(metadata), "{\"" GEMINI_PIECE "\":\"%s\"}", target->upload);
	in.size = body.len;
	if (write_file(request, &in, &upload, &call, &fd) < 0)
		return;
	if (fd_write_full(fd, buf_text(&body), body.len, &err) < 0)
		(void)give_up(request, &upload, err.text);
	else if (call_or_refuse(request, API_STORED_COMMIT,
				&(struct api_stored_commit_in){ .ticket = upload.ticket }, NULL,
				&call) == 0)
		say_status(request, "active", target->offset + body.len);
}

/* ---- the last piece ------------------------------------------------------------------------- */

static int copy_piece(struct request *request, const struct api_stored_file *piece, int to)
{
	cleanup_buf struct buf bytes = BUF_INIT(PIECE_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	struct err err;

	if (call_make(request, API_STORED_GET, &(struct api_stored_get_in){ .file = piece->id },
		      &file, &call) != CALL_OK ||
	    fd_read_all(call.reply.fd, &bytes, &err) < 0 || bytes.len != piece->bytes)
		return -1;
	return fd_write_full(to, buf_text(&bytes), bytes.len, &err);
}

static int put_together(struct request *request, const struct target *target,
			const struct api_stored_files *pieces, const struct buf *last,
			struct api_stored_file *ret, struct call *call)
{
	struct stored_form form = STORED_FORM_INIT;
	struct api_stored_create_in in = { .has_size = true,
					   .size = target->offset + last->len,
					   .name = form.name,
					   .media_type =
						   target->mime[0] != '\0' ? target->mime : NULL };
	struct api_upload upload;
	cleanup_fd int fd = -1;
	struct err err;

	(void)snprintf(form.name, sizeof(form.name), "upload");
	stored_form_name(&form, target->name);
	if (write_file(request, &in, &upload, call, &fd) < 0)
		return -1;
	for (uint64_t at = 0; at < target->offset;) {
		const struct api_stored_file *piece = piece_at(pieces, at);

		if (piece == NULL || copy_piece(request, piece, fd) < 0)
			return give_up(request, &upload, "a piece of the upload is gone");
		at += piece->bytes;
	}
	if (fd_write_full(fd, buf_text(last), last->len, &err) < 0)
		return give_up(request, &upload, err.text);
	return call_or_refuse(request, API_STORED_COMMIT,
			      &(struct api_stored_commit_in){ .ticket = upload.ticket }, ret, call);
}

static void take_last(struct request *request, const struct target *target)
{
	cleanup_buf struct buf body = BUF_INIT(PIECE_MAX), out = BUF_INIT(URL_SIZE);
	cleanup_call struct call listed = CALL_INIT, call = CALL_INIT;
	struct api_stored_files pieces = { 0 };
	struct api_stored_file file;
	struct json_writer json;
	struct err err;

	if (request_body(request, PIECE_MAX, &body) < 0 ||
	    (target->offset > 0 && list_pieces(request, target, &pieces, &listed) < 0))
		return;
	if (received(&pieces) != target->offset) {
		answer_refuse_simple(request, 400, "invalid",
				     "pieces of the upload are missing, or "
				     "its offset is another",
				     NULL);
		return;
	}
	if (put_together(request, target, &pieces, &body, &file, &call) < 0)
		return;
	drop_pieces(request, &pieces);
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_key(&json, "file");
	files_write(request, &json, &file);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, GEMINI_JSON, &out, "X-Goog-Upload-Status: final\r\n");
}

/* Reports how much has arrived, or finishes the upload. */
static void look(struct request *request, const struct target *target, bool ends)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_files pieces;

	if (list_pieces(request, target, &pieces, &call) < 0)
		return;
	if (ends)
		drop_pieces(request, &pieces);
	say_status(request, ends ? "cancelled" : "active", ends ? 0 : received(&pieces));
}

void files_upload(struct request *request)
{
	const char *command = gemini_header(request, "x-goog-upload-command");
	struct target target;

	if (strcmp(command, "start") == 0) {
		begin_upload(request);
		return;
	}
	read_target(request, &target);
	if (call_check_key(request) < 0)
		return;
	if (target.offset > UPLOAD_MAX)
		answer_refuse_simple(request, 400, "invalid", "that is not an offset of a file",
				     NULL);
	else if (strcmp(command, "upload, finalize") == 0 || strcmp(command, "finalize") == 0)
		take_last(request, &target);
	else if (strcmp(command, "upload") == 0 && strcmp(target.upload, "-") != 0)
		take_piece(request, &target);
	else if (strcmp(command, "query") == 0 || strcmp(command, "cancel") == 0)
		look(request, &target, command[0] == 'c');
	else
		answer_refuse_simple(
			request, 400, "invalid",
			"an upload begins with the command "
			"'start', and goes on with 'upload' and 'upload, finalize' at the "
			"address that this gives",
			NULL);
}
