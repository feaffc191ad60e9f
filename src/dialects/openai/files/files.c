/*
 * files.c - files of the tenant, as OpenAI's Files.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies and ids of any client; reckond checks whose file it is.
 * Never:    lets a browser show a file as a page of ours.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/openai/openai.h"
#include "dialects/stored.h"

#define LIST_MAX 10000u
#define LIST_PART 500u /* what one call to reckond lists */
#define IMPORT_MAX 50u

static void write_file(struct json_writer *json, const struct api_stored_file *file)
{
	char id[NAME_SIZE];

	if (!name_swap(file->id, "file_", OPENAI_FILE, id, sizeof(id)))
		id[0] = '\0';
	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "object", "file");
	json_write_member_uint(json, "bytes", file->bytes);
	json_write_member_uint(json, "created_at", clock_read_s(file->created_at));
	if (file->has_expires_at_ms && file->expires_at_ms > 0)
		json_write_member_uint(json, "expires_at", file->expires_at_ms / 1000);
	json_write_member_string(json, "filename", file->name);
	openai_write_metadata(json, &file->metadata, "purpose", "purpose", "user_data");
	json_write_member_string(json, "status", "processed");
	json_write_object_end(json);
}

static void answer_file_object(struct request *request, const struct api_stored_file *file)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	json_write_init(&json, &body);
	write_file(&json, file);
	openai_answer_json(request, &json);
}

static void create(struct request *request)
{
	cleanup_stored_form struct stored_form form = STORED_FORM_INIT;
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_file file;

	if (stored_form_read(request, &form) == 0 &&
	    stored_form_keep(request, &form, &file, &call) == 0)
		answer_file_object(request, &file);
}

struct page {
	char first[NAME_SIZE], last[NAME_SIZE]; /* ids */
	bool has_more;
};

/* Writes up to `list->limit` files, in several calls. Negative: refused. */
static int write_page(struct request *request, const struct list *list, struct json_writer *json,
		      struct page *page)
{
	char at[ID_SIZE] = "";

	if (list->after[0] != '\0' && !name_swap(list->after, OPENAI_FILE, "file_", at, sizeof(at)))
		(void)snprintf(at, sizeof(at), "-");
	page->has_more = true;
	for (uint64_t left = list->limit; left > 0 && page->has_more;) {
		cleanup_call struct call call = CALL_INIT;
		struct api_stored_list_in in = {
			.purpose = list->purpose[0] != '\0' ? list->purpose : NULL,
			.order = list->is_ascending ? API_STORED_LIST_IN_ORDER_ASC
						    : API_STORED_LIST_IN_ORDER_DESC,
			.has_limit = true,
			.limit = left < LIST_PART ? left : LIST_PART,
		};
		const struct api_stored_file *files;
		struct api_stored_files out;

		*(list->is_ascending ? &in.after : &in.before) = at[0] != '\0' ? at : NULL;
		if (call_or_refuse(request, API_STORED_LIST, &in, &out, &call) < 0)
			return -1;
		files = out.files.items;
		for (size_t i = 0; i < out.files.count; i++) {
			write_file(json, &files[i]);
			(void)name_swap(files[i].id, "file_", OPENAI_FILE, page->last,
					sizeof(page->last));
			if (page->first[0] == '\0')
				(void)snprintf(page->first, sizeof(page->first), "%s", page->last);
		}
		left -= out.files.count;
		page->has_more = out.next != NULL;
		(void)snprintf(at, sizeof(at), "%s", out.next != NULL ? out.next : "");
	}
	return 0;
}

static void list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct page page = { 0 };
	struct json_writer json;
	struct list list;

	if (list_read(request, LIST_MAX, LIST_MAX, &list) < 0)
		return;
	list_begin(&json, &body);
	if (write_page(request, &list, &json, &page) < 0)
		return;
	list_end(&json, page.first, page.last, page.has_more);
	openai_answer_json(request, &json);
}

static void show(struct request *request, const char *file)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_stored_file stored;

	if (call_or_refuse(request, API_STORED_SHOW, &(struct api_stored_show_in){ .file = file },
			   &stored, &call) == 0)
		answer_file_object(request, &stored);
}

static void send_content(struct request *request, const char *file)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download download;
	char headers[400];

	if (call_or_refuse(request, API_STORED_GET, &(struct api_stored_get_in){ .file = file },
			   &download, &call) < 0)
		return;
	(void)snprintf(headers, sizeof(headers),
		       "x-request-id: %s\r\nContent-Disposition: attachment\r\n"
		       "Content-Security-Policy: sandbox; default-src 'none'\r\n",
		       request_id(request));
	if (answer_begin(request, 200, "application/octet-stream", download.size, headers) == 0 &&
	    answer_file(request, call.reply.fd, 0, download.size) == 0)
		answer_end(request);
}

static void delete(struct request *request, const char *id, const char *file)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;

	if (call_or_refuse(request, API_STORED_DELETE,
			   &(struct api_stored_delete_in){ .file = file }, NULL, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", "file");
	json_write_member_bool(&json, "deleted", true);
	json_write_object_end(&json);
	openai_answer_json(request, &json);
}

void files_handle(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	char id[NAME_SIZE], file[ID_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, len > 0 ? rest + 1 : "");
	if (!name_swap(id, OPENAI_FILE, "file_", file, sizeof(file)))
		(void)snprintf(file, sizeof(file), "-");
	if (verb == HTTP_VERB_GET && len > 0 &&
	    (rest[1 + len] == '\0' || strcmp(rest + 1 + len, "/content") == 0) &&
	    files_named_handle(request, id, rest[1 + len] != '\0'))
		return;
	if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		create(request);
	else if (rest[0] == '\0' && verb == HTTP_VERB_GET)
		list(request);
	else if (len > 0 && rest[1 + len] == '\0' && verb == HTTP_VERB_GET)
		show(request, file);
	else if (len > 0 && rest[1 + len] == '\0' && verb == HTTP_VERB_DELETE)
		delete(request, id, file);
	else if (len > 0 && strcmp(rest + 1 + len, "/content") == 0 && verb == HTTP_VERB_GET)
		send_content(request, file);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
}

/* ---- into a session ------------------------------------------------------------------------- */

int files_import_one(struct request *request, const char *id, const char *session, char *ret_path,
		     size_t size)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_file_put put;
	char file[ID_SIZE];

	if (id == NULL || !name_swap(id, OPENAI_FILE, "file_", file, sizeof(file)))
		(void)snprintf(file, sizeof(file), "-");
	if (call_or_refuse(request, API_STORED_COPY,
			   &(struct api_stored_copy_in){ .session = session, .file = file }, &put,
			   &call) < 0)
		return -1;
	(void)snprintf(ret_path, size, "%s", put.path);
	return 0;
}

int files_count(const struct json_value *ids, const char *where, struct err *err)
{
	return json_read_count(ids) <= IMPORT_MAX
		       ? 0
		       : err_set(err, ERR_INVALID, "%s: there are at most %u", where, IMPORT_MAX);
}

int files_import(struct request *request, const struct json_value *ids, const char *session,
		 struct buf *ret)
{
	const size_t count = json_read_count(ids);
	char path[4100];
	struct err full; /* more files than the text can list */

	for (size_t i = 0; i < count; i++) {
		if (files_import_one(request, json_read_text(json_read_at(ids, i), NULL), session,
				     path, sizeof(path)) < 0)
			return -1;
		(void)buf_addf(ret, &full, "%s- %s",
			       ret->len == 0 ? "\n\nFiles in /mnt/data:\n" : "\n", path);
	}
	return 0;
}
