/*
 * containers.c - sessions as containers: create, show and end them; their files.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids and paths that any client may have invented; reckond checks whose session it is.
 * Never:    lets a browser show a box's file as a page of ours.
 *
 * A file's id contains its path in the workspace: "cfile_p" and hexadecimal digits. The id of a
 * file that an answer cites names an artifact, which outlives the session.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/openai/files/containers.h"
#include "dialects/stored.h"

#define MINUTE_MS 60000u

/* ---- a container ---------------------------------------------------------------------------- */

static void answer_container(struct request *request, const struct api_session *session)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	json_write_init(&json, &body);
	container_write(&json, session);
	openai_answer_json(request, &json);
}

/* ---- creating, showing, listing, ending ----------------------------------------------------- */

static int take_limits(const struct json_value *body, struct api_session_create_in *in,
		       struct api_limits *limits, struct err *err)
{
	const char *size = json_read_text(json_read_member(body, "memory_limit"), NULL);
	const char *policy = json_read_text(
		json_read_member(json_read_member(body, "network_policy"), "type"), NULL);
	int64_t minutes = 20;

	(void)json_read_int(json_read_member(json_read_member(body, "expires_after"), "minutes"),
			    &minutes);
	if (minutes < 1 || minutes > 60 * 24 * 30)
		return err_set(err, ERR_INVALID, "expires_after.minutes: from 1 to 43200");
	in->has_idle_timeout_ms = true;
	in->idle_timeout_ms = (uint64_t)minutes * MINUTE_MS;
	if (policy != NULL && strcmp(policy, "disabled") != 0)
		return err_set(err, ERR_INVALID, "network_policy: a container has no network here");
	if (size == NULL)
		return 0;
	limits->has_memory_bytes = true;
	in->limits = limits;
	return order_memory(size, &limits->memory_bytes, err);
}

static int write_metadata(const char *name, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, CONTAINER_NAME_KEY, name);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static void create(struct request *request, const struct json_value *body)
{
	const char *name = json_read_text(json_read_member(body, "name"), NULL);
	cleanup_buf struct buf metadata = BUF_INIT(16384), file_lines = BUF_INIT(64 * 1024);
	cleanup_call struct call call = CALL_INIT;
	struct api_limits limits = { 0 };
	struct api_session_create_in in = { 0 };
	struct api_session session;
	struct err err;

	if (name == NULL)
		(void)err_set(&err, ERR_INVALID, "name: it is missing");
	if (name == NULL ||
	    files_count(json_read_member(body, "file_ids"), "file_ids", &err) < 0 ||
	    take_limits(body, &in, &limits, &err) < 0 ||
	    write_metadata(name, &metadata, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	in.metadata = (struct api_bytes){ metadata.data, metadata.len };
	if (call_or_refuse(request, API_SESSION_CREATE, &in, &session, &call) == 0 &&
	    files_import(request, json_read_member(body, "file_ids"), session.id, &file_lines) == 0)
		answer_container(request, &session);
}

static void create_from_body(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_BODY_MAX);
	struct json_value *document = NULL;
	struct err err;

	if (openai_body(request, &body) < 0)
		return;
	if (json_read_parse(buf_text(&body), body.len, OPENAI_BODY_MAX, &document, &err) < 0)
		answer_refuse_invalid(request, &err);
	else
		create(request, document);
	json_read_free(document);
}

static void show(const struct container *container)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (call_or_refuse(container->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = container->session }, &session,
			   &call) == 0)
		answer_container(container->request, &session);
}

static void answer_deleted(struct request *request, const char *id, const char *object)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", object);
	json_write_member_bool(&json, "deleted", true);
	json_write_object_end(&json);
	openai_answer_json(request, &json);
}

static void delete(const struct container *container)
{
	cleanup_call struct call call = CALL_INIT;

	if (call_or_refuse(container->request, API_SESSION_DELETE,
			   &(struct api_session_delete_in){ .session = container->session }, NULL,
			   &call) == 0)
		answer_deleted(container->request, container->id, "container.deleted");
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Opens a file of the workspace, or an artifact that an answer cited. */
static int open_file(const struct container *container, const char *id, char *path, size_t size,
		     struct api_download *ret, struct call *call)
{
	char artifact[ID_SIZE + 16];

	if (container_path_of_id(id, path, size))
		return call_or_refuse(container->request, API_FILE_GET,
				      &(struct api_file_get_in){ .session = container->session,
								 .path = path }, ret, call);
	if (name_read_artifact(OPENAI_CONTAINER_FILE, id, artifact, sizeof(artifact), path, size))
		return call_or_refuse(container->request, API_ARTIFACT_GET,
				      &(struct api_artifact_get_in){ .artifact = artifact }, ret,
				      call);
	answer_refuse_simple(container->request, 404, "not_found", "there is no such file", NULL);
	return -1;
}

static void show_file(const struct container *container, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	struct json_writer json;
	char path[NAME_SIZE];

	if (open_file(container, id, path, sizeof(path), &file, &call) < 0)
		return;
	json_write_init(&json, &body);
	container_write_file(container, &json, id, path, file.size,
		   file.has_modified_ms ? file.modified_ms / 1000 : 0, "assistant");
	openai_answer_json(container->request, &json);
}

static void send_file(const struct container *container, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	char path[NAME_SIZE], headers[400];

	if (open_file(container, id, path, sizeof(path), &file, &call) < 0)
		return;
	(void)snprintf(headers, sizeof(headers),
		       "x-request-id: %s\r\nContent-Disposition: attachment\r\n"
		       "Content-Security-Policy: sandbox; default-src 'none'\r\n",
		       request_id(container->request));
	if (answer_begin(container->request, 200, "application/octet-stream", file.size, headers) ==
		    0 &&
	    answer_file(container->request, call.reply.fd, 0, file.size) == 0)
		answer_end(container->request);
}

static void answer_added(const struct container *container, const struct api_file_put *put)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;
	char id[NAME_SIZE];

	if (!container_id_of_path(put->path, id)) {
		answer_refuse_simple(container->request, 400, "invalid", "its name is too long",
				     NULL);
		return;
	}
	json_write_init(&json, &body);
	container_write_file(container, &json, id, put->path, put->size, clock_wall_ms() / 1000,
			     "user");
	openai_answer_json(container->request, &json);
}

/* Handles {"file_id": …}: copies a file of the tenant. */
static void add_stored(const struct container *container)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_BODY_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct json_value *document = NULL;
	struct api_file_put put;
	char file[ID_SIZE] = "-";
	const char *id;
	struct err err;

	if (openai_body(container->request, &body) < 0)
		return;
	if (json_read_parse(buf_text(&body), body.len, OPENAI_BODY_MAX, &document, &err) < 0) {
		answer_refuse_invalid(container->request, &err);
		return;
	}
	id = json_read_text(json_read_member(document, "file_id"), NULL);
	if (id != NULL)
		(void)name_swap(id, OPENAI_FILE, "file_", file, sizeof(file));
	if (call_or_refuse(container->request, API_STORED_COPY,
			   &(struct api_stored_copy_in){ .session = container->session,
							 .file = file }, &put, &call) == 0)
		answer_added(container, &put);
	json_read_free(document);
}

static void add_file(const struct container *container)
{
	const char *type = http_header(request_head(container->request), "content-type");
	cleanup_stored_form struct stored_form form = STORED_FORM_INIT;
	cleanup_call struct call call = CALL_INIT;
	struct api_file_put put;

	if (type == NULL || strncmp(type, "multipart/form-data", 19) != 0)
		add_stored(container);
	else if (stored_form_read(container->request, &form) == 0 &&
		 stored_form_put(container->request, &form, container->session, &put, &call) == 0)
		answer_added(container, &put);
}

static void delete_file(const struct container *container, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	char path[NAME_SIZE];

	if (!container_path_of_id(id, path, sizeof(path)))
		answer_refuse_simple(container->request, 404, "not_found",
				     "there is no such file in the container", NULL);
	else if (call_or_refuse(container->request, API_FILE_DELETE,
				&(struct api_file_delete_in){ .session = container->session,
							      .path = path }, NULL, &call) == 0)
		answer_deleted(container->request, id, "container.file.deleted");
}

/* ---- routes --------------------------------------------------------------------------------- */

static void nothing(struct request *request)
{
	answer_refuse_simple(request, 404, "not_found", "there is nothing at this path", NULL);
}

/* Handles "", "/FILE" or "/FILE/content". */
static void handle_files(const struct container *container, const char *rest)
{
	const enum http_verb verb = request_head(container->request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, rest[0] == '/' ? rest + 1 : "");
	if (rest[0] == '\0' && verb == HTTP_VERB_GET)
		container_list_files(container);
	else if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		add_file(container);
	else if (len > 0 && rest[1 + len] == '\0' && verb == HTTP_VERB_GET)
		show_file(container, id);
	else if (len > 0 && rest[1 + len] == '\0' && verb == HTTP_VERB_DELETE)
		delete_file(container, id);
	else if (len > 0 && strcmp(rest + 1 + len, "/content") == 0 && verb == HTTP_VERB_GET)
		send_file(container, id);
	else
		nothing(container->request);
}

void containers_handle(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	const char *behind = rest[0] == '/' ? rest + 1 + len : rest;
	struct container container = { .request = request };

	(void)snprintf(container.id, sizeof(container.id), "%.*s", (int)len,
		       rest[0] == '/' ? rest + 1 : "");
	if (!name_swap(container.id, OPENAI_CONTAINER, "se_", container.session,
		       sizeof(container.session)))
		(void)snprintf(container.session, sizeof(container.session), "-");
	if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		create_from_body(request);
	else if (rest[0] == '\0' && verb == HTTP_VERB_GET)
		containers_list(request);
	else if (len > 0 && behind[0] == '\0' && verb == HTTP_VERB_GET)
		show(&container);
	else if (len > 0 && behind[0] == '\0' && verb == HTTP_VERB_DELETE)
		delete(&container);
	else if (len > 0 && strncmp(behind, "/files", 6) == 0)
		handle_files(&container, behind + 6);
	else
		nothing(request);
}
