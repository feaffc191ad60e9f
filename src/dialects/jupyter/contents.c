/*
 * contents.c - shows files and folders of the home as Jupyter's models; downloads files unchanged.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    paths of any client; names and contents of files that hostile programs wrote.
 * Never:    lets a browser show a box's file as a page of ours; lists names that begin with a dot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "codec/json_get.h"
#include "codec/hash/sha256.h"
#include "dialects/jupyter/server.h"

#define EPOCH "1970-01-01T00:00:00Z"
#define MODEL_MAX (2 * CONTENTS_MAX)

bool contents_is_notebook(const char *path)
{
	const size_t len = strlen(path);

	return len > 6 && strcmp(path + len - 6, ".ipynb") == 0;
}

/* ---- models --------------------------------------------------------------------------------- */

void contents_begin(struct json_writer *json, const struct entry *entry)
{
	json_write_object_begin(json);
	json_write_member_string(json, "name", text_base_name(entry->path));
	json_write_member_string(json, "path", entry->path);
	json_write_member_string(json, "type",
				 entry->is_folder			? "directory"
				 : contents_is_notebook(entry->path) ? "notebook"
								       : "file");
	server_write_moment(json, "created", entry->modified);
	server_write_moment(json, "last_modified", entry->modified);
	json_write_member_bool(json, "writable", true);
	json_write_key(json, "size");
	if (entry->is_folder)
		json_write_null(json);
	else
		json_write_uint(json, entry->size);
	json_write_member_string(json, "hash", entry->sha256);
	json_write_member_string(json, "hash_algorithm", entry->sha256 != NULL ? "sha256" : NULL);
}

void contents_write(struct json_writer *json, const struct entry *entry)
{
	contents_begin(json, entry);
	json_write_member_string(json, "mimetype", NULL);
	json_write_member_string(json, "format", NULL);
	json_write_member_string(json, "content", NULL);
	json_write_object_end(json);
}

/* ---- what is there -------------------------------------------------------------------------- */

int contents_list(struct request *request, const char *session, const char *folder,
		  struct json_value **ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_file_list_out out;
	const enum call_status status = call_make(
		request, API_FILE_LIST,
		&(struct api_file_list_in){ .session = session,
					    .path = folder[0] != '\0' ? folder : NULL,
					    .has_recursive = true },
		&out, &call);
	struct err err;

	if (status == CALL_FAILED)
		bytes_refuse(request, call.failure, folder);
	if (status != CALL_OK)
		return -1;
	if (json_read_parse(out.files.data, out.files.len, ANSWER_MAX, ret, &err) == 0)
		return 0;
	answer_refuse_simple(request, 500, "internal", err.text, NULL);
	return -1;
}

static bool is_hidden(const char *path)
{
	return text_base_name(path)[0] == '.';
}

static void write_listed(struct json_writer *json, const struct json_value *files)
{
	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		int64_t size = 0;
		const struct entry entry = {
			.path = json_get_str(file, "path"),
			.modified = json_get_str(file, "modified"),
			.is_folder = strcmp(json_get_str(file, "kind"), "folder") == 0,
		};
		struct entry sized = entry;

		(void)json_read_int(json_read_member(file, "size"), &size);
		sized.size = (uint64_t)size;
		if (!is_hidden(entry.path))
			contents_write(json, &sized);
	}
}

/* `session` NULL: the home does not exist yet, so the folder is empty. */
static void answer_folder(struct request *request, const char *session, const char *path,
			  bool has_content)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_json struct json_value *all = NULL;
	const struct entry entry = { .path = path, .modified = EPOCH, .is_folder = true };
	struct json_writer json;

	if (session != NULL && contents_list(request, session, path, &all) < 0)
		return;
	json_write_init(&json, &body);
	contents_begin(&json, &entry);
	json_write_member_string(&json, "mimetype", NULL);
	json_write_member_string(&json, "format", has_content ? "json" : NULL);
	json_write_key(&json, "content");
	if (has_content) {
		json_write_array_begin(&json);
		write_listed(&json, json_read_member(all, "files"));
		json_write_array_end(&json);
	} else {
		json_write_null(&json);
	}
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

/* The client's options. */
struct wanted {
	char type[16], format[16]; /* "": not given */
	bool has_content, has_hash;
};

static struct wanted wanted_of(struct request *request)
{
	const char *query = request_head(request)->query;
	struct wanted wanted = { .has_content = true };
	char name[64], value[256];
	struct err err;

	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "content") == 0)
			wanted.has_content = strcmp(value, "0") != 0;
		else if (strcmp(name, "hash") == 0)
			wanted.has_hash = strcmp(value, "0") != 0;
		else if (strcmp(name, "type") == 0)
			(void)snprintf(wanted.type, sizeof(wanted.type), "%.15s", value);
		else if (strcmp(name, "format") == 0)
			(void)snprintf(wanted.format, sizeof(wanted.format), "%.15s", value);
	return wanted;
}

static void refuse_type(struct request *request, const char *path, const char *what)
{
	char message[512];

	(void)snprintf(message, sizeof(message), "%.400s is %s", path, what);
	answer_refuse_simple(request, 400, "invalid", message, "bad type");
}

/* Writes a notebook as JSON, other text as a string, other bytes as base64. False: answered with an
 * error. */
static bool write_content(struct request *request, struct json_writer *json, const char *path,
			  const struct wanted *wanted, const struct buf *bytes)
{
	const bool is_text = utf8_is_valid(buf_text(bytes), bytes->len);
	cleanup_buf struct buf compact = BUF_INIT(CONTENTS_MAX);
	enum json_kind kind = JSON_KIND_NULL;
	struct err err;

	if (contents_is_notebook(path) && strcmp(wanted->type, "file") != 0) {
		if (json_read_compact(buf_text(bytes), bytes->len, CONTENTS_MAX, &compact, &kind,
				      &err) < 0 ||
		    kind != JSON_KIND_OBJECT) {
			refuse_type(request, path, "not a notebook: it is not a JSON object");
			return false;
		}
		json_write_member_string(json, "mimetype", NULL);
		json_write_member_string(json, "format", "json");
		json_write_key(json, "content");
		json_write_raw(json, compact.data, compact.len);
		return true;
	}
	if (!is_text && strcmp(wanted->format, "text") == 0) {
		refuse_type(request, path, "not UTF-8 encoded");
		return false;
	}
	if (is_text && strcmp(wanted->format, "base64") != 0) {
		json_write_member_string(json, "mimetype", "text/plain");
		json_write_member_string(json, "format", "text");
		json_write_member_text(json, "content", buf_text(bytes), bytes->len);
		return true;
	}
	json_write_member_string(json, "mimetype", "application/octet-stream");
	json_write_member_string(json, "format", "base64");
	json_write_key(json, "content");
	json_write_base64(json, buf_text(bytes), bytes->len);
	return true;
}

static void moment_of(const struct api_download *file, char ret[CLOCK_RFC3339_SIZE])
{
	clock_rfc3339(file->has_modified_ms ? file->modified_ms : 0, ret);
}

static void answer_file_model(struct request *request, const char *session, const char *path,
			      const struct wanted *wanted)
{
	cleanup_buf struct buf body = BUF_INIT(MODEL_MAX), bytes = BUF_INIT(CONTENTS_MAX);
	char modified[CLOCK_RFC3339_SIZE], sha256[SHA256_TEXT_SIZE];
	struct api_download file;
	struct json_writer json;

	if (strcmp(wanted->type, "directory") == 0) {
		refuse_type(request, path, "not a directory");
		return;
	}
	if (bytes_read(request, session, path, &bytes, &file) < 0)
		return;
	moment_of(&file, modified);
	if (wanted->has_hash)
		sha256_text(buf_text(&bytes), bytes.len, sha256);
	const struct entry entry = {
		.path = path,
		.modified = modified,
		.size = file.size,
		.sha256 = wanted->has_hash ? sha256 : NULL,
	};

	json_write_init(&json, &body);
	if (!wanted->has_content) {
		contents_write(&json, &entry);
		server_answer(request, 200, &json, &body, NULL);
		return;
	}
	contents_begin(&json, &entry);
	if (!write_content(request, &json, path, wanted, &bytes))
		return;
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

void contents_answer(struct request *request, const char *session, const char *path,
		     unsigned status)
{
	cleanup_buf struct buf body = BUF_INIT(65536);
	cleanup_call struct call call = CALL_INIT;
	char modified[CLOCK_RFC3339_SIZE];
	struct entry entry = { .path = path, .modified = EPOCH };
	struct api_download file;
	struct json_writer json;
	const enum call_status known =
		call_make(request, API_FILE_GET,
			  &(struct api_file_get_in){ .session = session, .path = path }, &file,
			  &call);

	if (known == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND) {
		bytes_refuse_missing(request, path);
	} else if (known != CALL_GONE) {
		entry.is_folder = known == CALL_FAILED;
		if (known == CALL_OK) {
			moment_of(&file, modified);
			entry.modified = modified;
			entry.size = file.size;
		}
		json_write_init(&json, &body);
		contents_write(&json, &entry);
		server_answer(request, status, &json, &body, NULL);
	}
}

void contents_show(struct request *request, const char *path)
{
	const struct wanted wanted = wanted_of(request);
	cleanup_call struct call call = CALL_INIT;
	char session[ID_SIZE];
	struct api_download file;
	enum call_status status;
	enum home home;

	if (server_take_nothing(request) < 0)
		return;
	home = home_find(request, session);
	if (home == HOME_GONE)
		return;
	if (path[0] == '\0') {
		answer_folder(request, home == HOME_FOUND ? session : NULL, path,
			      wanted.has_content);
		return;
	}
	if (home == HOME_NONE) {
		bytes_refuse_missing(request, path);
		return;
	}
	status = call_make(request, API_FILE_GET,
			   &(struct api_file_get_in){ .session = session, .path = path }, &file,
			   &call);
	if (status == CALL_FAILED && call.failure->error != API_ERR_DENIED)
		bytes_refuse(request, call.failure, path);
	else if (status == CALL_FAILED && wanted.type[0] != '\0' &&
		 strcmp(wanted.type, "directory") != 0)
		refuse_type(request, path, "a directory");
	else if (status == CALL_FAILED)
		answer_folder(request, session, path, wanted.has_content);
	else if (status == CALL_OK && (wanted.has_content || wanted.has_hash))
		answer_file_model(request, session, path, &wanted);
	else if (status == CALL_OK)
		contents_answer(request, session, path, 200);
}

/* ---- as it is ------------------------------------------------------------------------------- */

void contents_download(struct request *request, const char *rest)
{
	cleanup_call struct call call = CALL_INIT;
	char path[CONTENTS_PATH_SIZE], session[ID_SIZE];
	struct api_download file;
	enum call_status status;
	enum home home;

	if (!http_decode(rest, strlen(rest), path, sizeof(path))) {
		answer_refuse_simple(request, 400, "invalid", "the path is malformed", NULL);
		return;
	}
	if (server_take_nothing(request) < 0)
		return;
	home = home_find(request, session);
	if (home == HOME_NONE)
		bytes_refuse_missing(request, path);
	if (home != HOME_FOUND)
		return;
	status = call_make(request, API_FILE_GET,
			   &(struct api_file_get_in){ .session = session, .path = path }, &file,
			   &call);
	if (status == CALL_FAILED)
		bytes_refuse(request, call.failure, path);
	if (status == CALL_OK && call.reply.fd >= 0 &&
	    answer_begin(request, 200, "application/octet-stream", file.size,
			 "Content-Disposition: attachment\r\n"
			 "X-Content-Type-Options: nosniff\r\n"
			 "Content-Security-Policy: sandbox; default-src 'none'\r\n") == 0 &&
	    answer_file(request, call.reply.fd, 0, file.size) == 0)
		answer_end(request);
}
