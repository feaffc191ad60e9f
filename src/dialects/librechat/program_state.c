/*
 * program_state.c - stores a program's state between two rounds of tool calls, in a document.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    tokens of any client, documents of the key's tenant.
 * Never:    lets one token begin two rounds: a round updates the document only if it is unchanged.
 *
 * A token is the execution's id and the number of the round: ex_….2.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/librechat/programmatic.h"

#define COLLECTION "librechat-programs"
#define RETENTION_MS (2u * 3600u * 1000u)
#define VALUE_MAX ((size_t)1 << 20)
#define METADATA_MAX 1024u

/* ---- writing -------------------------------------------------------------------------------- */

static void write_input(struct json_writer *json, const struct librechat_input *input)
{
	json_write_object_begin(json);
	json_write_member_string(json, "session", input->file.session);
	json_write_member_string(json, "id", input->file.id);
	json_write_member_string(json, "name", input->file.name);
	json_write_member_string(json, "artifact", input->artifact);
	json_write_member_uint(json, "flags", input->file.flags);
	json_write_object_end(json);
}

static int write_value(const struct librechat_program *program, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf tools = BUF_INIT(VALUE_MAX);
	struct json_writer json;

	if (json_read_dump(program->tools, &tools, err) < 0)
		return (int)err->code;
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "session", program->exec.code.program.session);
	json_write_member_uint(&json, "round", program->round);
	json_write_member_uint(&json, "after", program->after);
	json_write_key(&json, "tools");
	json_write_raw(&json, buf_text(&tools), tools.len);
	json_write_key(&json, "inputs");
	json_write_array_begin(&json);
	for (size_t i = 0; i < program->exec.count; i++)
		write_input(&json, &program->exec.inputs[i]);
	json_write_array_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Writes the id by which a client can cancel a request that waits. */
static int write_metadata(struct request *request, struct buf *ret, struct err *err)
{
	const char *id = http_header(request_head(request), LIBRECHAT_REQUEST_HEADER);
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "request", id != NULL && strlen(id) <= 128 ? id : "");
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int program_keep(struct request *request, struct librechat_program *program)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX), metadata = BUF_INIT(METADATA_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_document document;
	struct err err;
	enum call_status status;

	if (write_value(program, &value, &err) < 0 ||
	    write_metadata(request, &metadata, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid_request", err.text, NULL);
		return -1;
	}
	status = call_make(request, API_DOCUMENT_PUT,
			   &(struct api_document_put_in){
				   .collection = COLLECTION,
				   .id = program->execution,
				   .value = { value.data, value.len },
				   .metadata = { metadata.data, metadata.len },
				   .has_expires_in_ms = true,
				   .expires_in_ms = RETENTION_MS,
				   .if_match = program->etag[0] != '\0' ? program->etag : NULL },
			   &document, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_PRECONDITION)
		answer_refuse_simple(request, 409, "conflict",
				     "another request goes on with this token", NULL);
	else if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	if (status != CALL_OK)
		return -1;
	(void)snprintf(program->etag, sizeof(program->etag), "%s", document.etag);
	return 0;
}

void program_forget(struct request *request, const struct librechat_program *program)
{
	cleanup_call struct call call = CALL_INIT;

	if (call_make(request, API_DOCUMENT_DELETE,
		      &(struct api_document_delete_in){ .collection = COLLECTION,
							.id = program->execution },
		      NULL, &call) != CALL_GONE)
		(void)call_make(request, API_SESSION_DELETE,
				&(struct api_session_delete_in){
					.session = program->exec.code.program.session },
				NULL, &call);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void take_input(const struct json_value *value, struct librechat_input *ret)
{
	int64_t flags = 0;

	(void)snprintf(ret->file.session, sizeof(ret->file.session), "%s",
		       json_get_str(value, "session"));
	(void)snprintf(ret->file.id, sizeof(ret->file.id), "%s", json_get_str(value, "id"));
	(void)snprintf(ret->file.name, sizeof(ret->file.name), "%s", json_get_str(value, "name"));
	(void)snprintf(ret->artifact, sizeof(ret->artifact), "%s", json_get_str(value, "artifact"));
	(void)json_read_int(json_read_member(value, "flags"), &flags);
	ret->file.flags = (unsigned)flags;
}

static void take_value(const struct json_value *value, struct librechat_program *ret)
{
	const struct json_value *inputs = json_read_member(value, "inputs");
	const size_t count = json_read_count(inputs);
	int64_t round = 0, after = 0;

	(void)json_read_int(json_read_member(value, "round"), &round);
	(void)json_read_int(json_read_member(value, "after"), &after);
	ret->round = (uint64_t)round;
	ret->after = (uint64_t)after;
	ret->tools = json_read_member(value, "tools");
	(void)snprintf(ret->exec.code.program.session, sizeof(ret->exec.code.program.session), "%s",
		       json_get_str(value, "session"));
	ret->exec.inputs = mem_new0(count + 1, sizeof(*ret->exec.inputs));
	for (; ret->exec.count < count; ret->exec.count++)
		take_input(json_read_at(inputs, ret->exec.count),
			   &ret->exec.inputs[ret->exec.count]);
}

void program_token(const struct librechat_program *program, char ret[LIBRECHAT_TOKEN_SIZE])
{
	(void)snprintf(ret, LIBRECHAT_TOKEN_SIZE, "%s.%" PRIu64, program->execution,
		       program->round);
}

bool program_token_read(const char *token, char ret_execution[OURS_SIZE], uint64_t *ret_round)
{
	const char *dot = strchr(token, '.');
	const size_t len = dot != NULL ? (size_t)(dot - token) : 0;
	const size_t digits = dot != NULL ? strspn(dot + 1, "0123456789") : 0;

	if (len < 4 || len >= OURS_SIZE || strncmp(token, "ex_", 3) != 0 || digits == 0 ||
	    digits > 9 || dot[1 + digits] != '\0' ||
	    strspn(token + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != len - 3)
		return false;
	(void)snprintf(ret_execution, OURS_SIZE, "%.*s", (int)len, token);
	*ret_round = strtoull(dot + 1, NULL, 10);
	return true;
}

static int refuse_token(struct request *request, unsigned status, const char *message)
{
	answer_refuse_simple(request, status, "invalid_continuation_token", message, NULL);
	return -1;
}

int program_find(struct request *request, const char *token, struct librechat_program *ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_document document;
	enum call_status status;
	uint64_t round;
	struct err err;

	if (!program_token_read(token, ret->execution, &round))
		return refuse_token(request, 400, "continuation_token is none");
	status = call_make(request, API_DOCUMENT_GET,
			   &(struct api_document_get_in){ .collection = COLLECTION,
							  .id = ret->execution },
			   &document, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		return refuse_token(request, 404, "no program waits with this token");
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	if (status != CALL_OK)
		return -1;
	if (json_read_parse(document.value.data, document.value.len, VALUE_MAX, &ret->value, &err) <
	    0)
		return refuse_token(request, 404, "nothing is known of this program");
	(void)snprintf(ret->etag, sizeof(ret->etag), "%s", document.etag);
	take_value(ret->value, ret);
	if (round != ret->round)
		return refuse_token(request, 409, "this round is over");
	ret->round++;
	return 0;
}

/* ---- cancelling ----------------------------------------------------------------------------- */

/* 1: the request waits for a program, which `ret` names; 0: for none. */
static int find_by_request(struct request *request, const char *id, struct librechat_program *ret)
{
	cleanup_buf struct buf filter = BUF_INIT(METADATA_MAX);
	cleanup_call struct call call = CALL_INIT;
	const struct api_document *found;
	struct api_documents page;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &filter);
	json_write_object_begin(&json);
	json_write_member_string(&json, "request", id);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return 0;
	if (call_or_refuse(request, API_DOCUMENT_LIST,
			   &(struct api_document_list_in){ .collection = COLLECTION,
							   .metadata = buf_text(&filter),
							   .has_values = true,
							   .values = true },
			   &page, &call) < 0)
		return -1;
	if (page.documents.count == 0)
		return 0;
	found = page.documents.items;
	if (json_read_parse(found->value.data, found->value.len, VALUE_MAX, &ret->value, &err) < 0)
		return 0;
	(void)snprintf(ret->execution, sizeof(ret->execution), "%s", found->id);
	take_value(ret->value, ret);
	return 1;
}

int program_find_request(struct request *request, const char *id, struct librechat_program *ret)
{
	return id[0] != '\0' && strlen(id) <= 128 ? find_by_request(request, id, ret) : 0;
}
