/*
 * files.c - files of the tenant, and artifacts that code wrote, whose ids contain artifact id and
 * file name.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    ids that any client may have invented; reckond checks whose artifact it is.
 * Never:    lets a browser show a file as a page of ours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "dialects/anthropic/anthropic.h"
#include "dialects/stored.h"

#define LIST_USUAL 100u
#define LIST_MAX 500u /* per page, whatever the client requests */
#define LIST_IDS_MAX 100u

/* The parameters of a list. */
struct query {
	uint64_t limit;
	char before[NAME_SIZE];
	char ids[LIST_IDS_MAX][NAME_SIZE];
	size_t count;
};

/* Opens a file of the tenant with this id, else an artifact of code. */
static int open_file(struct request *request, const char *id, char name[NAME_FILE_MAX + 1],
		     struct api_download *ret, struct call *call)
{
	char artifact[ID_SIZE + 16];

	if (name_read_artifact(ANTHROPIC_FILE, id, artifact, sizeof(artifact), name,
			       NAME_FILE_MAX + 1))
		return call_or_refuse(request, API_ARTIFACT_GET,
				      &(struct api_artifact_get_in){ .artifact = artifact }, ret,
				      call);
	return call_or_refuse(request, API_STORED_GET,
			      &(struct api_stored_get_in){ .file = name_id(id) }, ret, call);
}

struct shown {
	const char *id, *name, *mime, *created_at;
	uint64_t size;
	uint64_t expires_ms; /* 0: never */
};

static void write_file(struct json_writer *json, const struct shown *file)
{
	char at[CLOCK_RFC3339_SIZE];

	json_write_object_begin(json);
	json_write_member_string(json, "id", file->id);
	json_write_member_string(json, "type", "file");
	json_write_member_string(json, "filename", file->name);
	json_write_member_string(json, "mime_type",
				 file->mime != NULL ? file->mime : "application/octet-stream");
	json_write_member_uint(json, "size_bytes", file->size);
	json_write_member_string(json, "created_at", file->created_at);
	json_write_member_bool(json, "downloadable", true);
	if (file->expires_ms > 0)
		clock_rfc3339(file->expires_ms, at);
	json_write_member_string(json, "expires_at", file->expires_ms > 0 ? at : NULL);
	json_write_object_end(json);
}

static void answer_json(struct request *request, struct json_writer *json)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		anthropic_answer(request, json->out);
}

static void answer_file_object(struct request *request, const struct shown *file)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	json_write_init(&json, &body);
	write_file(&json, file);
	answer_json(request, &json);
}

static struct shown shown_of(const struct api_stored_file *file)
{
	return (struct shown){ .id = file->id,
			       .name = file->name,
			       .mime = file->media_type,
			       .created_at = file->created_at,
			       .size = file->bytes,
			       .expires_ms = file->has_expires_at_ms ? file->expires_at_ms : 0 };
}

static void show_stored(struct request *request, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_file file;
	struct shown shown;

	if (call_or_refuse(request, API_STORED_SHOW,
			   &(struct api_stored_show_in){ .file = name_id(id) }, &file, &call) < 0)
		return;
	shown = shown_of(&file);
	answer_file_object(request, &shown);
}

void files_show(struct request *request, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	char name[NAME_FILE_MAX + 1], at[CLOCK_RFC3339_SIZE], artifact[ID_SIZE + 16];
	struct api_download file;

	if (!name_read_artifact(ANTHROPIC_FILE, id, artifact, sizeof(artifact), name,
				sizeof(name))) {
		show_stored(request, id);
		return;
	}
	if (open_file(request, id, name, &file, &call) < 0)
		return;
	clock_rfc3339(file.has_modified_ms ? file.modified_ms : 0, at);
	answer_file_object(request, &(struct shown){ .id = id,
						     .name = name,
						     .mime = file.mime,
						     .created_at = at,
						     .size = file.size });
}

void files_content(struct request *request, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	char name[NAME_FILE_MAX + 1], headers[400];
	struct api_download file;

	if (open_file(request, id, name, &file, &call) < 0)
		return;
	/* A browser must not show a box's file as a page of ours. */
	(void)snprintf(headers, sizeof(headers),
		       "request-id: %s\r\nContent-Disposition: attachment\r\n"
		       "Content-Security-Policy: sandbox; default-src 'none'\r\n",
		       request_id(request));
	if (answer_begin(request, 200, "application/octet-stream", file.size, headers) == 0 &&
	    answer_file(request, call.reply.fd, 0, file.size) == 0)
		answer_end(request);
}

void files_create(struct request *request)
{
	cleanup_stored_form struct stored_form form = STORED_FORM_INIT;
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_file file;
	struct shown shown;

	if (stored_form_read(request, &form) < 0 ||
	    stored_form_keep(request, &form, &file, &call) < 0)
		return;
	shown = shown_of(&file);
	answer_file_object(request, &shown);
}

void files_delete(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;

	if (call_or_refuse(request, API_STORED_DELETE,
			   &(struct api_stored_delete_in){ .file = name_id(id) }, NULL, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", "file_deleted");
	json_write_object_end(&json);
	answer_json(request, &json);
}

static bool is_digits(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Lists the files with the query's ids that exist, as one page. */
static void list_named(struct request *request, const struct query *query)
{
	cleanup_buf struct buf body = BUF_INIT(4u * 1024 * 1024);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "data");
	json_write_array_begin(&json);
	for (size_t i = 0; i < query->count; i++) {
		cleanup_call struct call call = CALL_INIT;
		struct api_stored_file file;
		const enum call_status status =
			call_make(request, API_STORED_SHOW,
				  &(struct api_stored_show_in){ .file = name_id(query->ids[i]) },
				  &file, &call);

		if (status == CALL_GONE)
			return;
		if (status == CALL_OK) {
			const struct shown shown = shown_of(&file);

			write_file(&json, &shown);
		} else if (call.failure->error != API_ERR_NOT_FOUND) {
			call_refuse(request, call.failure);
			return;
		}
	}
	json_write_array_end(&json);
	json_write_member_string(&json, "next_page", NULL);
	json_write_member_bool(&json, "has_more", false);
	json_write_object_end(&json);
	answer_json(request, &json);
}

/* False: it was refused. */
static bool read_query(struct request *request, struct query *ret)
{
	const char *at = request_head(request)->query;
	char name[64], value[NAME_SIZE];
	struct err err;
	int more;

	*ret = (struct query){ .limit = LIST_USUAL };
	while ((more = http_query_next(&at, name, sizeof(name), value, sizeof(value), &err)) == 1) {
		if (strcmp(name, "page") == 0 || strcmp(name, "after_id") == 0) {
			memcpy(ret->before, value, sizeof(ret->before));
		} else if (strcmp(name, "limit") == 0) {
			ret->limit = strtoull(value, NULL, 10);
			if (ret->limit < 1 || ret->limit > 1000 || !is_digits(value)) {
				answer_refuse_simple(request, 400, "invalid",
						     "limit: it is from 1 to 1000", NULL);
				return false;
			}
		} else if (strcmp(name, "ids") == 0 || strcmp(name, "ids[]") == 0) {
			if (ret->count == LIST_IDS_MAX) {
				answer_refuse_simple(request, 400, "invalid",
						     "ids: there are at most 100", NULL);
				return false;
			}
			memcpy(ret->ids[ret->count++], value, sizeof(value));
		}
	}
	if (more != 0)
		answer_refuse_invalid(request, &err);
	return more == 0;
}

/* Newest first; the page token is the last file, in the old or the new parameter. */
static void list_page(struct request *request, const struct query *query)
{
	cleanup_buf struct buf body = BUF_INIT(4u * 1024 * 1024);
	cleanup_call struct call call = CALL_INIT;
	const struct api_stored_list_in in = {
		.has_limit = true,
		.limit = query->limit < LIST_MAX ? query->limit : LIST_MAX,
		.before = query->before[0] != '\0' ? name_id(query->before) : NULL,
	};
	struct api_stored_files out;
	const struct api_stored_file *files;
	struct json_writer json;

	if (call_or_refuse(request, API_STORED_LIST, &in, &out, &call) < 0)
		return;
	files = out.files.items;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "data");
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.files.count; i++) {
		const struct shown shown = shown_of(&files[i]);

		write_file(&json, &shown);
	}
	json_write_array_end(&json);
	json_write_member_string(&json, "next_page", out.next);
	json_write_member_bool(&json, "has_more", out.next != NULL);
	json_write_member_string(&json, "first_id", out.files.count > 0 ? files[0].id : NULL);
	json_write_member_string(&json, "last_id",
				 out.files.count > 0 ? files[out.files.count - 1].id : NULL);
	json_write_object_end(&json);
	answer_json(request, &json);
}

void files_list(struct request *request)
{
	/* Too large for a coroutine's stack. */
	struct query *query = mem_new0(1, sizeof(*query));

	if (read_query(request, query)) {
		if (query->count > 0)
			list_named(request, query);
		else
			list_page(request, query);
	}
	free(query);
}
