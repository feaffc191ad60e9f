/*
 * upload.c - /upload and /upload/batch: stores the files of a form in a storage session.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    forms of any client.
 * Never:    holds a form in memory: it maps an unnamed file, and drops it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "codec/form_data.h"
#include "dialects/librechat/librechat.h"

#define FORM_MAX ((uint64_t)512 * 1024 * 1024)
#define NAME_MAX_BYTES 256u

struct upload {
	struct request *request;
	struct program program;
	struct form_part *part; /* on the heap: its names are large */
	struct json_writer json;
	struct buf files; /* an array */
	struct librechat_owner who;
	char kind[16], id[LIBRECHAT_OWNER_SIZE]; /* the owner: entity kind and id */
	bool is_batch;
	unsigned flags;
	unsigned succeeded, failed;
};

/* ---- the form ------------------------------------------------------------------------------- */

/* A name may contain folders. One that begins with a dot would count as a file of our own later. */
static const char *wrong_name(const char *name)
{
	if (name[0] == '\0' || name[0] == '/' || strlen(name) > NAME_MAX_BYTES)
		return "a name has 1 to 256 bytes, and is relative";
	if (name[0] == '.' || strstr(name, "/../") != NULL || strstr(name, "//") != NULL)
		return "a name does not begin with a dot, and leads nowhere else";
	return NULL;
}

static void write_failed(struct upload *upload, const char *why)
{
	upload->failed++;
	json_write_object_begin(&upload->json);
	json_write_member_string(&upload->json, "status", "error");
	json_write_member_string(&upload->json, "filename", upload->part->filename);
	json_write_member_string(&upload->json, "error", why);
	json_write_object_end(&upload->json);
}

static void write_stored(struct upload *upload)
{
	char id[LIBRECHAT_ID_SIZE];

	librechat_file_id(upload->program.artifact, upload->flags, id);
	if (id[0] == '\0') {
		write_failed(upload, "the file is larger than what is kept");
		return;
	}
	upload->succeeded++;
	json_write_object_begin(&upload->json);
	if (upload->is_batch)
		json_write_member_string(&upload->json, "status", "success");
	json_write_member_string(&upload->json, "fileId", id);
	json_write_member_string(&upload->json, "filename", upload->part->filename);
	json_write_object_end(&upload->json);
}

/* Ignores a value that is too long: no valid one is. */
static void take_field(const struct form_part *part, char *ret, size_t size)
{
	if (part->len < size)
		(void)snprintf(ret, size, "%.*s", (int)part->len, part->data);
}

static int take_part(struct upload *upload)
{
	const struct form_part *part = upload->part;
	const char *why;

	if (strcmp(part->name, "kind") == 0)
		take_field(part, upload->kind, sizeof(upload->kind));
	if (strcmp(part->name, "id") == 0)
		take_field(part, upload->id, sizeof(upload->id));
	if (strcmp(part->name, "entity_id") == 0)
		take_field(part, upload->who.entity, sizeof(upload->who.entity));
	if (strcmp(part->name, "read_only") == 0 && part->len == 4 &&
	    memcmp(part->data, "true", 4) == 0)
		upload->flags = LIBRECHAT_READ_ONLY;
	if (strcmp(part->name, "file") != 0 || !part->has_filename)
		return 0;
	if (upload->succeeded + upload->failed == LIBRECHAT_FILES_MAX) {
		answer_refuse_simple(upload->request, 413, "too_many_files",
				     "at most 200 files at once", NULL);
		return -1;
	}
	why = wrong_name(part->filename);
	if (why != NULL) {
		write_failed(upload, why);
		return 0;
	}
	if (program_put(&upload->program, part->filename, part->data, part->len) < 0)
		return -1;
	write_stored(upload);
	return 0;
}

static int take_form(struct upload *upload, const char *type)
{
	cleanup_fd_mapping struct fd_mapping whole = { 0 };
	struct form_data form;
	cleanup_fd int fd = -1;
	struct err err;
	int more;

	if (program_take_body(&upload->program, FORM_MAX, &fd) < 0)
		return -1;
	fd_map(fd, &whole);
	more = form_data_begin(type, whole.bytes != NULL ? whole.bytes : "", whole.len, &form,
			       &err);
	while (more >= 0 && (more = form_data_next(&form, upload->part, &err)) > 0)
		if (take_part(upload) < 0)
			return -1;
	if (more < 0)
		answer_refuse_simple(upload->request, 400, "invalid_request", err.text, NULL);
	return more;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static const char *message_of(const struct upload *upload)
{
	if (upload->failed == 0 && upload->succeeded > 0)
		return "success";
	return upload->succeeded > 0 ? "partial_success" : "error";
}

static void answer(struct upload *upload)
{
	cleanup_buf struct buf body = BUF_INIT(LIBRECHAT_LIST_MAX);
	char session[LIBRECHAT_ID_SIZE];
	struct json_writer json;
	struct err err;

	if (json_write_finish(&upload->json, &err) < 0) {
		answer_refuse_simple(upload->request, 500, "internal", err.text, NULL);
		return;
	}
	librechat_session_id(upload->program.session, session);
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "message", message_of(upload));
	json_write_member_string(&json, "storage_session_id", session);
	json_write_member_string(&json, "session_id", session);
	json_write_key(&json, "files");
	json_write_raw(&json, buf_text(&upload->files), upload->files.len);
	if (upload->is_batch) {
		json_write_member_uint(&json, "succeeded", upload->succeeded);
		json_write_member_uint(&json, "failed", upload->failed);
	}
	json_write_object_end(&json);
	librechat_answer(upload->request, upload->succeeded > 0 ? 200 : 400, &json, &body);
}

static void run(struct upload *upload, const char *type)
{
	json_write_init(&upload->json, &upload->files);
	json_write_array_begin(&upload->json);
	if (program_open(&upload->program, upload->request, &(struct program_order){ 0 }) < 0 ||
	    take_form(upload, type) < 0 ||
	    librechat_own(upload->request, upload->program.session, upload->who.user,
			  librechat_is_shared(upload->kind) ? upload->id
							    : upload->who.entity) < 0)
		return;
	json_write_array_end(&upload->json);
	answer(upload);
}

void librechat_upload(struct request *request, bool is_batch)
{
	const char *type = http_header(request_head(request), "content-type");
	struct upload upload = { .request = request,
				 .program = PROGRAM_INIT,
				 .files = BUF_INIT(LIBRECHAT_LIST_MAX),
				 .is_batch = is_batch };
	cleanup_arena struct arena arena = { 0 };

	if (call_check_key(request) < 0 || librechat_who(request, NULL, &upload.who) < 0)
		return;
	upload.part = arena_new(&arena, 1, sizeof(*upload.part));
	run(&upload, type != NULL ? type : "");
	program_done(&upload.program);
	buf_done(&upload.files);
}
