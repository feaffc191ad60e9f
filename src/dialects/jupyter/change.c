/*
 * change.c - creates, writes, moves and removes files of the home.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    bodies and paths of any client.
 * Never:    replaces a file if the client asked for a new one.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "dialects/jupyter/server.h"

#define BODY_MAX (2 * CONTENTS_MAX)
#define NAMES_TRIED 10000u
#define EMPTY_NOTEBOOK \
	"{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"

/* ---- free names ----------------------------------------------------------------------------- */

static bool is_taken(const struct json_value *all, const char *path)
{
	const struct json_value *files = json_read_member(all, "files");

	for (size_t i = 0; i < json_read_count(files); i++)
		if (strcmp(json_get_str(json_read_at(files, i), "path"), path) == 0)
			return true;
	return false;
}

/* Finds a free name: "Untitled.ipynb", "Untitled1.ipynb", …; `between` precedes the number. */
static int find_name(struct request *request, const struct json_value *all, const char *folder,
		     const char *stem, const char *between, const char *suffix, unsigned first,
		     char ret[CONTENTS_PATH_SIZE])
{
	const char *slash = folder[0] != '\0' ? "/" : "";

	for (unsigned i = first; i < NAMES_TRIED; i++) {
		int len;

		if (i == 0)
			len = snprintf(ret, CONTENTS_PATH_SIZE, "%s%s%s%s", folder, slash, stem,
				       suffix);
		else
			len = snprintf(ret, CONTENTS_PATH_SIZE, "%s%s%s%s%u%s", folder, slash, stem,
				       between, i, suffix);
		if (len >= (int)CONTENTS_PATH_SIZE)
			break;
		if (!is_taken(all, ret))
			return 0;
	}
	answer_refuse_simple(request, 409, "conflict", "there is no name left for it", NULL);
	return -1;
}

/* ---- new files ------------------------------------------------------------------------------ */

static void finish_write(struct request *request, const char *session, const char *path,
			 enum call_status status, const struct call *call, unsigned code)
{
	if (status == CALL_FAILED)
		bytes_refuse(request, call->failure, path);
	if (status == CALL_OK)
		contents_answer(request, session, path, code);
}

static void make_folder(struct request *request, const char *session, const char *path)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status =
		call_make(request, API_FILE_MKDIR,
			  &(struct api_file_mkdir_in){ .session = session, .path = path }, NULL,
			  &call);

	finish_write(request, session, path, status, &call, 201);
}

static void make_file(struct request *request, const char *session, const char *path,
		      const char *text)
{
	cleanup_buf struct buf bytes = BUF_INIT(4096);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (buf_adds(&bytes, text, &err) == 0)
		finish_write(request, session, path,
			     bytes_write(request, session, path, &bytes, true, &call), &call, 201);
}

static void copy(struct request *request, const char *session, const struct json_value *all,
		 const char *folder, const char *from)
{
	cleanup_buf struct buf bytes = BUF_INIT(CONTENTS_MAX);
	cleanup_call struct call call = CALL_INIT;
	const char *slash = strrchr(from, '/'), *name = slash != NULL ? slash + 1 : from;
	const char *dot = strrchr(name, '.');
	char stem[CONTENTS_PATH_SIZE], path[CONTENTS_PATH_SIZE];
	struct api_download file;

	(void)snprintf(stem, sizeof(stem), "%.*s-Copy",
		       (int)(dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name)),
		       name);
	if (find_name(request, all, folder, stem, "", dot != NULL && dot > name ? dot : "", 1,
		      path) < 0 ||
	    bytes_read(request, session, from, &bytes, &file) < 0)
		return;
	finish_write(request, session, path,
		     bytes_write(request, session, path, &bytes, true, &call), &call, 201);
}

void change_make(struct request *request, const char *folder)
{
	cleanup_json struct json_value *body = NULL, *all = NULL;
	char session[ID_SIZE], path[CONTENTS_PATH_SIZE], suffix[64];
	const char *type, *from, *ext;

	if (server_take_object(request, SERVER_BODY_MAX, &body) < 0 ||
	    home_open(request, session) < 0 ||
	    contents_list(request, session, folder, &all) < 0)
		return;
	type = json_get_str(body, "type");
	ext = json_get_str(body, "ext");
	from = json_get_str(body, "copy_from");
	(void)snprintf(suffix, sizeof(suffix), "%.60s", ext[0] != '\0' ? ext : ".txt");
	if (from[0] != '\0') {
		copy(request, session, all, folder, from + (from[0] == '/'));
	} else if (strcmp(type, "directory") == 0) {
		if (find_name(request, all, folder, "Untitled Folder", " ", "", 0, path) == 0)
			make_folder(request, session, path);
	} else if (strcmp(type, "notebook") == 0 || strcmp(ext, ".ipynb") == 0) {
		if (find_name(request, all, folder, "Untitled", "", ".ipynb", 0, path) == 0)
			make_file(request, session, path, EMPTY_NOTEBOOK);
	} else if (strchr(suffix, '/') == NULL) {
		if (find_name(request, all, folder, "untitled", "", suffix, 0, path) == 0)
			make_file(request, session, path, "");
	} else {
		answer_refuse_simple(request, 400, "invalid", "ext is not an ending of a name",
				     NULL);
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Appends the bytes of a model's content. Negative: answered with an error. */
static int take_content(struct request *request, const struct json_value *model, struct buf *ret)
{
	const struct json_value *content = json_read_member(model, "content");
	const char *format = json_get_str(model, "format"), *text;
	struct err err;
	size_t len = 0;

	text = json_read_text(content, &len);
	if (strcmp(json_get_str(model, "type"), "notebook") == 0 ||
	    (strcmp(format, "json") == 0 && text == NULL)) {
		if (json_read_kind(content) == JSON_KIND_OBJECT &&
		    json_read_dump(content, ret, &err) == 0 && buf_addc(ret, '\n', &err) == 0)
			return 0;
	} else if (strcmp(format, "base64") == 0) {
		if (text != NULL && base64_decode(text, len, ret, &err) == 0)
			return 0;
	} else if (text != NULL && buf_add(ret, text, len, &err) == 0) {
		return 0;
	}
	answer_refuse_simple(request, 400, "invalid",
			     "the content is missing, too large, or not of its format", NULL);
	return -1;
}

/* Reads the existing file first if the model is a later chunk, which must be appended. Negative:
 * answered with an error, or the client is gone. */
static int put_before(struct request *request, const char *session, const char *path,
		      const struct json_value *model, struct buf *ret)
{
	struct api_download file;
	int64_t chunk = 1;

	(void)json_read_int(json_read_member(model, "chunk"), &chunk);
	return chunk == 1 ? 0 : bytes_read(request, session, path, ret, &file);
}

void change_write(struct request *request, const char *path)
{
	cleanup_buf struct buf bytes = BUF_INIT(CONTENTS_MAX);
	cleanup_json struct json_value *model = NULL;
	cleanup_call struct call call = CALL_INIT;
	char session[ID_SIZE];
	enum call_status status;
	bool is_new = true;

	if (server_take_object(request, BODY_MAX, &model) < 0 || home_open(request, session) < 0)
		return;
	if (strcmp(json_get_str(model, "type"), "directory") == 0) {
		make_folder(request, session, path);
		return;
	}
	if (put_before(request, session, path, model, &bytes) < 0 ||
	    take_content(request, model, &bytes) < 0)
		return;
	status = bytes_write(request, session, path, &bytes, true, &call);
	if (status == CALL_FAILED && (call.failure->error == API_ERR_PRECONDITION ||
				      call.failure->error == API_ERR_EXISTS)) {
		is_new = false;
		status = bytes_write(request, session, path, &bytes, false, &call);
	}
	finish_write(request, session, path, status, &call, is_new ? 201 : 200);
}

/* ---- moving, removing ----------------------------------------------------------------------- */

void change_move(struct request *request, const char *path)
{
	cleanup_json struct json_value *body = NULL;
	cleanup_call struct call call = CALL_INIT;
	char session[ID_SIZE], message[512];
	const char *to;
	enum call_status status;

	if (server_take_object(request, SERVER_BODY_MAX, &body) < 0 ||
	    home_open(request, session) < 0)
		return;
	to = json_get_str(body, "path");
	to += strspn(to, "/");
	if (to[0] == '\0') {
		answer_refuse_simple(request, 400, "invalid", "Missing field in JSON data: path",
				     NULL);
		return;
	}
	if (strcmp(to, path) == 0) {
		contents_answer(request, session, path, 200);
		return;
	}
	status = call_make(request, API_FILE_MOVE,
			   &(struct api_file_move_in){ .session = session, .from = path, .to = to },
			   NULL, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_EXISTS) {
		(void)snprintf(message, sizeof(message), "File already exists: %.400s", to);
		answer_refuse_simple(request, 409, "conflict", message, NULL);
	} else if (status == CALL_FAILED) {
		bytes_refuse(request, call.failure, path);
	} else if (status == CALL_OK) {
		contents_answer(request, session, to, 200);
	}
}

void change_remove(struct request *request, const char *path)
{
	cleanup_call struct call call = CALL_INIT;
	char session[ID_SIZE];
	enum call_status status;

	if (server_take_nothing(request) < 0 || home_open(request, session) < 0)
		return;
	status = call_make(request, API_FILE_DELETE,
			   &(struct api_file_delete_in){ .session = session,
							 .path = path,
							 .has_recursive = true,
							 .recursive = true },
			   NULL, &call);
	if (status == CALL_FAILED)
		bytes_refuse(request, call.failure, path);
	if (status == CALL_OK)
		server_answer_nothing(request);
}
