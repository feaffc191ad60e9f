/*
 * files.c - files that code left: an id names an artifact and what it was called.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    ids that anybody made up; reckond judges whose artifact it is.
 * Never:    takes files: documents come within messages.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/anthropic/anthropic.h"

static int open_file(struct request *request, const char *id, char name[NAME_FILE_MAX + 1],
		     struct api_download *ret, struct call *call)
{
	char artifact[ID_SIZE + 16];

	if (!name_read_artifact(ANTHROPIC_FILE, id, artifact, sizeof(artifact), name,
				NAME_FILE_MAX + 1)) {
		answer_refuse_simple(request, 404, "not_found", "there is no such file", NULL);
		return -1;
	}
	return call_or_refuse(request, API_ARTIFACT_GET,
			      &(struct api_artifact_get_in){ .artifact = artifact }, ret, call);
}

void files_show(struct request *request, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	cleanup_call struct call call = CALL_INIT;
	char name[NAME_FILE_MAX + 1], at[CLOCK_RFC3339_SIZE];
	struct api_download file;
	struct json_writer json;
	struct err err;

	if (open_file(request, id, name, &file, &call) < 0)
		return;
	clock_rfc3339(file.has_modified_ms ? file.modified_ms : 0, at);
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", "file");
	json_write_member_string(&json, "filename", name);
	json_write_member_string(&json, "mime_type",
				 file.mime != NULL ? file.mime : "application/octet-stream");
	json_write_member_uint(&json, "size_bytes", file.size);
	json_write_member_string(&json, "created_at", at);
	json_write_member_bool(&json, "downloadable", true);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		anthropic_answer(request, &body);
}

void files_content(struct request *request, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	char name[NAME_FILE_MAX + 1], headers[400];
	struct api_download file;

	if (open_file(request, id, name, &file, &call) < 0)
		return;
	/* What a box wrote is never shown as if it were ours. */
	(void)snprintf(headers, sizeof(headers),
		       "request-id: %s\r\nContent-Disposition: attachment\r\n"
		       "Content-Security-Policy: sandbox; default-src 'none'\r\n", request_id(request));
	if (answer_begin(request, 200, "application/octet-stream", file.size, headers) == 0 &&
	    answer_file(request, call.reply.fd, 0, file.size) == 0)
		answer_end(request);
}

void files_list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(128);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call) <
	    0)
		return;
	if (buf_adds(&body, "{\"data\":[],\"next_page\":null,\"has_more\":false,\"first_id\":null,"
			    "\"last_id\":null}", &err) == 0)
		anthropic_answer(request, &body);
}
