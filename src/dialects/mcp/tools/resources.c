/*
 * resources.c - files of sessions, artifacts, figures and whole outputs, by URI.
 *
 *   reckon://files/SESSION/PATH   reckon://artifacts/ID
 *   reckon://figures/SESSION/EXECUTION/NUMBER   reckon://outputs/HANDLE
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    URIs of any client; files that hostile programs wrote.
 * Never:    sends a file longer than RESOURCE_MAX.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "dialects/mcp/mcp.h"

#define RESOURCE_MAX ((size_t)8 * 1024 * 1024)
#define RECORD_MAX ((size_t)512 * 1024 * 1024)
#define LISTED_MAX 200u
#define URI_MAX 4400

/* ---- list ------------------------------------------------------------------------------------- */

void mcp_write_file_uri(const char *session, const char *path, struct buf *uri)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/";
	struct err ignored;

	(void)buf_addf(uri, &ignored, "reckon://files/%s/", session);
	for (; *path != '\0'; path++)
		if (strchr(plain, *path) != NULL)
			(void)buf_addc(uri, *path, &ignored);
		else
			(void)buf_addf(uri, &ignored, "%%%02X", (unsigned char)*path);
}

static void write_file(struct json_writer *json, const char *session, const struct json_value *file)
{
	cleanup_buf struct buf uri = BUF_INIT(3 * URI_MAX);
	const char *path = rpc_text(file, "path", 4095), *mime = rpc_text(file, "mime", 120);
	int64_t size;

	if (path == NULL)
		return;
	mcp_write_file_uri(session, path, &uri);
	json_write_object_begin(json);
	json_write_member_string(json, "uri", buf_text(&uri));
	json_write_member_string(json, "name", path);
	if (mime != NULL)
		json_write_member_string(json, "mimeType", mime);
	if (json_read_int(json_read_member(file, "size"), &size))
		json_write_member_uint(json, "size", (uint64_t)size);
	json_write_object_end(json);
}

/* Lists a session's files from the cursor `from` on; skips a session that cannot be read. 1: there
 * are more, and *ret_next is where the next page begins. */
static int write_files(struct mcp *mcp, const char *session, const char *from,
		       struct json_writer *json, struct buf *ret_next)
{
	cleanup_call struct call call = CALL_INIT;
	struct json_value *document = NULL;
	const struct json_value *files;
	struct api_file_list_out out;
	const char *next;
	struct err ignored;
	int more = 0;
	const enum call_status status =
		call_make(mcp->request, API_FILE_LIST,
			  &(struct api_file_list_in){ .session = session, .cursor = from,
						      .has_limit = true, .limit = LISTED_MAX },
			  &out, &call);

	if (status != CALL_OK ||
	    json_read_parse(out.files.data, out.files.len, MCP_OUT_MAX, &document, &ignored) < 0)
		return status == CALL_GONE ? -1 : 0;
	files = json_read_member(document, "files");
	for (size_t i = 0; i < json_read_count(files); i++)
		write_file(json, session, json_read_at(files, i));
	next = json_read_text(json_read_member(document, "next"), NULL);
	if (next != NULL && buf_addf(ret_next, &ignored, "%s/%s", session, next) == 0)
		more = 1;
	json_read_free(document);
	return more;
}

/* Where the page begins: after a session, or within its files. */
struct cursor {
	char session[ID_SIZE];
	const char *file; /* NULL: after all of them */
};

static bool read_cursor(const struct json_value *params, struct cursor *ret)
{
	const char *text = rpc_text(params, "cursor", URI_MAX - 1);
	const size_t len = text != NULL ? strcspn(text, "/") : 0;

	*ret = (struct cursor){ .session = "" };
	if (len >= sizeof(ret->session) ||
	    (text == NULL && json_read_kind(json_read_member(params, "cursor")) != JSON_KIND_NULL))
		return false;
	(void)snprintf(ret->session, sizeof(ret->session), "%.*s", (int)len, text != NULL ? text : "");
	if (text != NULL && text[len] == '/' && text[len + 1] != '\0')
		ret->file = text + len + 1;
	return true;
}

/* Lists sessions, up to one with more files than a page: the next page continues within it. */
static int write_sessions(struct mcp *mcp, const struct cursor *cursor,
			  const struct api_sessions *page, struct json_writer *json,
			  struct buf *ret_next)
{
	const struct api_session *at = page->sessions.items;
	struct err ignored;
	int more = cursor->file != NULL
			   ? write_files(mcp, cursor->session, cursor->file, json, ret_next)
			   : 0;

	for (size_t i = 0; i < page->sessions.count && more == 0; i++)
		if (strcmp(at[i].status, "live") == 0)
			more = write_files(mcp, at[i].id, NULL, json, ret_next);
	if (more == 0 && page->next != NULL)
		(void)buf_adds(ret_next, page->next, &ignored);
	return more < 0 ? -1 : 0;
}

/* Lists the default session's files, or those of every live session; a page is ten sessions, or ends
 * after LISTED_MAX files of one. */
void mcp_resources_list(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX), fixtures = BUF_INIT(MCP_OUT_MAX);
	cleanup_buf struct buf next = BUF_INIT(URI_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct cursor cursor;
	struct api_sessions page;
	struct json_writer json;
	enum call_status status;

	if (!read_cursor(mcp->rpc.params, &cursor)) {
		mcp_error(mcp, RPC_INVALID_PARAMS, "params.cursor is none of ours", NULL);
		return;
	}
	status = call_make(mcp->request, API_SESSION_LIST,
			   &(struct api_session_list_in){
				   .name = mcp->name,
				   .before = cursor.session[0] != '\0' ? cursor.session : NULL,
				   .has_limit = true, .limit = 10 },
			   &page, &call);
	if (status == CALL_GONE)
		return;
	if (status != CALL_OK && !mcp->has_fixtures) {
		mcp_error(mcp, RPC_INVALID_PARAMS, call.failure->message, NULL);
		return;
	}
	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, "resources");
	json_write_array_begin(&json);
	if (mcp->has_fixtures) {
		fixtures_add("resources", &fixtures);
		json_write_raw(&json, buf_text(&fixtures), fixtures.len);
	}
	if (status == CALL_OK && write_sessions(mcp, &cursor, &page, &json, &next) < 0)
		return;
	json_write_array_end(&json);
	if (next.len > 0)
		json_write_member_string(&json, "nextCursor", next.data);
	mcp_write_caching(mcp, &json);
	mcp_result_end(mcp, &out, &json);
}

/* ---- read ------------------------------------------------------------------------------------- */

static void no_resource(struct mcp *mcp, const char *uri, const char *message)
{
	cleanup_buf struct buf data = BUF_INIT(3 * URI_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &data);
	json_write_object_begin(&json);
	json_write_member_string(&json, "uri", uri);
	json_write_object_end(&json);
	mcp_error(mcp, mcp->rpc.is_modern ? RPC_INVALID_PARAMS : RPC_NO_RESOURCE, message,
		  json_write_finish(&json, &err) == 0 ? buf_text(&data) : NULL);
}

static void answer_begin_contents(struct mcp *mcp, const char *uri, const char *mime,
				  struct buf *out, struct json_writer *json)
{
	mcp_result_begin(mcp, out, json);
	mcp_write_caching(mcp, json);
	json_write_key(json, "contents");
	json_write_array_begin(json);
	json_write_object_begin(json);
	json_write_member_string(json, "uri", uri);
	if (mime != NULL)
		json_write_member_string(json, "mimeType", mime);
}

static void answer_end_contents(struct mcp *mcp, struct buf *out, struct json_writer *json)
{
	json_write_object_end(json);
	json_write_array_end(json);
	mcp_result_end(mcp, out, json);
}

static void answer_file_of(struct mcp *mcp, const char *uri, const struct api_download *file,
			   int fd)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX), bytes = BUF_INIT(RESOURCE_MAX);
	struct json_writer json;
	struct err err;
	char *space;
	ssize_t n;

	if (file->size > RESOURCE_MAX ||
	    buf_reserve(&bytes, (size_t)file->size, &space, &err) < 0) {
		no_resource(mcp, uri,
			    "it is longer than 8 MiB: read a part with the tools files or "
			    "output");
		return;
	}
	n = pread(fd, space, (size_t)file->size, 0);
	answer_begin_contents(mcp, uri, file->mime, &out, &json);
	if (n >= 0 && utf8_is_valid(space, (size_t)n) && memchr(space, '\0', (size_t)n) == NULL) {
		json_write_member_text(&json, "text", space, (size_t)n);
	} else {
		json_write_key(&json, "blob");
		json_write_base64(&json, space, n > 0 ? (size_t)n : 0);
	}
	answer_end_contents(mcp, &out, &json);
}

static void read_descriptor(struct mcp *mcp, const char *uri, enum api_id id, const void *in)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	const enum call_status status = call_make(mcp->request, id, in, &file, &call);

	if (status == CALL_FAILED)
		no_resource(mcp, uri, call.failure->message);
	else if (status == CALL_OK && call.reply.fd < 0)
		no_resource(mcp, uri, "there is nothing to read");
	else if (status == CALL_OK)
		answer_file_of(mcp, uri, &file, call.reply.fd);
}

static void answer_figure(struct mcp *mcp, const char *uri, const struct json_value *record,
			  size_t number)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	const struct json_value *results = json_read_member(record, "results"), *value;
	const struct json_value *data = json_read_member(json_read_at(results, number), "data");
	struct json_writer json;
	const char *mime;

	for (size_t k = 0; json_read_member_at(data, k, &mime, &value); k++) {
		size_t len;
		const char *text = json_read_text(value, &len);

		if (text == NULL || !mcp_is_image(mime))
			continue;
		answer_begin_contents(mcp, uri, mime, &out, &json);
		json_write_member_text(&json, "blob", text, len);
		answer_end_contents(mcp, &out, &json);
		return;
	}
	no_resource(mcp, uri, "there is no such figure");
}

static void read_figure(struct mcp *mcp, const char *uri, const char *session,
			const char *execution, size_t number)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_execution_show_out shown;
	struct json_value *record = NULL;
	struct err err;
	const enum call_status status =
		call_make(mcp->request, API_EXECUTION_SHOW,
			  &(struct api_execution_show_in){ .session = session,
							   .execution = execution },
			  &shown, &call);

	if (status == CALL_GONE)
		return;
	if (status == CALL_FAILED || shown.record.len == 0 ||
	    json_read_parse(shown.record.data, shown.record.len, RECORD_MAX, &record, &err) < 0) {
		no_resource(mcp, uri, "there is no such figure");
		return;
	}
	answer_figure(mcp, uri, record, number);
	json_read_free(record);
}

/* reckon://figures/SESSION/EXECUTION/NUMBER */
static bool split_figure(const char *uri, char session[ID_SIZE], char execution[ID_SIZE],
			 size_t *ret_number)
{
	static const char prefix[] = "reckon://figures/";
	const char *first, *second;
	char *end;

	if (strncmp(uri, prefix, sizeof(prefix) - 1) != 0)
		return false;
	uri += sizeof(prefix) - 1;
	first = strchr(uri, '/');
	second = first != NULL ? strchr(first + 1, '/') : NULL;
	if (second == NULL || first == uri || first - uri >= ID_SIZE || second == first + 1 ||
	    second - first > ID_SIZE || second[1] < '0' || second[1] > '9' || strlen(second) > 5)
		return false;
	(void)snprintf(session, ID_SIZE, "%.*s", (int)(first - uri), uri);
	(void)snprintf(execution, ID_SIZE, "%.*s", (int)(second - first - 1), first + 1);
	*ret_number = strtoul(second + 1, &end, 10);
	return *end == '\0';
}

void mcp_resources_read(struct mcp *mcp)
{
	const char *uri = rpc_text(mcp->rpc.params, "uri", URI_MAX - 1);
	char path[URI_MAX], session[ID_SIZE], execution[ID_SIZE];
	const char *slash;
	size_t number;

	if (uri == NULL) {
		mcp_error(mcp, RPC_INVALID_PARAMS, "params.uri is missing, or too long", NULL);
	} else if (mcp->has_fixtures && fixtures_read(mcp, uri)) {
		return;
	} else if (strncmp(uri, "reckon://files/", 15) == 0 &&
		   (slash = strchr(uri + 15, '/')) != NULL && slash - (uri + 15) < ID_SIZE &&
		   http_decode(slash + 1, strlen(slash + 1), path, sizeof(path))) {
		(void)snprintf(session, sizeof(session), "%.*s", (int)(slash - (uri + 15)),
			       uri + 15);
		read_descriptor(mcp, uri, API_FILE_GET,
				&(struct api_file_get_in){ .session = session, .path = path });
	} else if (strncmp(uri, "reckon://artifacts/", 19) == 0 && strlen(uri + 19) <= 40) {
		read_descriptor(mcp, uri, API_ARTIFACT_GET,
				&(struct api_artifact_get_in){ .artifact = uri + 19 });
	} else if (strncmp(uri, "reckon://outputs/", 17) == 0 && strlen(uri + 17) <= 40) {
		read_descriptor(mcp, uri, API_OUTPUT_GET,
				&(struct api_output_get_in){ .handle = uri + 17 });
	} else if (split_figure(uri, session, execution, &number)) {
		read_figure(mcp, uri, session, execution, number);
	} else {
		no_resource(mcp, uri, "there is no such resource");
	}
}
