/*
 * call.c - typed calls of the field table, as a handler makes them.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    images of reckond.
 * Never:    passes on a struct that api_check() did not check.
 */
#include "dialects/call.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/check.h"
#include "api/image.h"
#include "api/json_out.h"
#include "base/cleanup.h"
#include "wire/front.h"

#define FRAME_MAX ((size_t)64 * 1024 * 1024)
#define TRACE_SIZE 49

void call_done(struct call *call)
{
	if (call->apart != NULL)
		(void)munmap(call->apart, (size_t)call->apart_len);
	call->apart = NULL;
	call->apart_len = 0;
	arena_done(&call->arena);
	upstream_reply_done(&call->reply);
	call->failure = NULL;
}

static int write_caller(const struct request *request, const char *key, struct buf *payload,
			struct err *err)
{
	struct api_caller caller = { 0 };
	char trace[TRACE_SIZE];

	if (key[0] != '\0')
		caller.key = key;
	if (request_id(request)[0] != '\0')
		caller.request = request_id(request);
	request_trace(request, trace, sizeof(trace));
	if (trace[0] != '\0')
		caller.trace = trace;
	return api_image_write(&api_type_caller, &caller, payload, err);
}

/* Fails as if reckond had returned the failure. */
static enum call_status fail(struct call *call, enum api_error error, const char *text)
{
	struct api_failure *failure = arena_new(&call->arena, 1, sizeof(*failure));

	failure->error = error;
	failure->message = arena_text(&call->arena, text, strlen(text));
	call->failure = failure;
	return CALL_FAILED;
}

enum call_status call_ask(struct request *request, enum api_id id, const void *in,
			  struct call *call)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	const struct api_call *row = &api_calls[id];
	char key[FRONT_KEY_MAX + 1] = "";
	struct err err;

	call_done(call);
	call->id = id;
	if (row->scope != API_SCOPE_NONE)
		request_key(request, key, sizeof(key));
	if (api_check(row->takes, in, &err) < 0)
		return fail(call, API_ERR_INVALID, err.text);
	if (write_caller(request, key, &payload, &err) < 0 ||
	    api_image_write(row->takes, in, &payload, &err) < 0)
		return fail(call, API_ERR_INTERNAL, err.text);
	call->frame = upstream_ask(request, (uint16_t)id, &payload);
	return call->frame != 0 ? CALL_OK : CALL_GONE;
}

/* Records whether reckond knew the key: any reply but "unknown key" proves that it did. */
static void learn_key(struct request *request, const struct call *call)
{
	const bool is_wrong =
		call->failure != NULL && call->failure->error == API_ERR_UNAUTHORIZED;
	char key[FRONT_KEY_MAX + 1];

	if (api_calls[call->id].scope == API_SCOPE_NONE)
		return;
	request_key(request, key, sizeof(key));
	if (key[0] != '\0')
		request_learn_key(request, key, !is_wrong);
}

/* The JSON came as a sealed file, and the image holds null: maps the file in its place. */
static int show_apart(const struct api_type *gives, struct call *call, void *out, struct err *err)
{
	struct stat stat;

	for (size_t i = 0; i < gives->count; i++) {
		const struct api_field *field = &gives->fields[i];

		if (field->place != API_WHOLE || field->kind != API_JSON ||
		    !api_is_given(field, out))
			continue;
		if (fstat(call->reply.fd, &stat) < 0 || stat.st_size <= 0)
			return err_sys(err, "an answer's file");
		call->apart = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE,
				   call->reply.fd, 0);
		if (call->apart == MAP_FAILED) {
			call->apart = NULL;
			return err_sys(err, "map an answer's file");
		}
		call->apart_len = (uint64_t)stat.st_size;
		*(struct api_bytes *)api_to(field, out) =
			(struct api_bytes){ call->apart, (size_t)stat.st_size };
		return 0;
	}
	return 0;
}

enum call_status call_take(struct request *request, uint64_t wait_ms, void *out,
			   struct call *call)
{
	const struct api_type *gives = api_calls[call->id].gives;
	struct api_bytes rest;
	struct err err;
	const int code = upstream_take(request, call->frame, wait_ms, &call->reply);
	const bool has_failed = call->reply.type != FRONT_REPLY;

	if (code <= 0)
		return code < 0 ? CALL_GONE : CALL_WAITS;
	rest = (struct api_bytes){ buf_text(&call->reply.payload), call->reply.payload.len };
	if (has_failed) {
		struct api_failure *failure = arena_new(&call->arena, 1, sizeof(*failure));

		if (api_image_read(&api_type_failure, &rest, &call->arena, failure, &err) < 0)
			return fail(call, API_ERR_INTERNAL, err.text);
		call->failure = failure;
	} else {
		void *to = out != NULL ? out : arena_new(&call->arena, 1, gives->size);

		memset(to, 0, gives->size);
		if (api_image_read(gives, &rest, &call->arena, to, &err) < 0)
			return fail(call, API_ERR_INTERNAL, err.text);
		if (!api_calls[call->id].gives_descriptor && call->reply.fd >= 0 &&
		    show_apart(gives, call, to, &err) < 0)
			return fail(call, API_ERR_INTERNAL, err.text);
	}
	learn_key(request, call);
	return has_failed ? CALL_FAILED : CALL_OK;
}

enum call_status call_make(struct request *request, enum api_id id, const void *in, void *out,
			   struct call *call)
{
	const enum call_status status = call_ask(request, id, in, call);

	return status == CALL_OK ? call_take(request, 0, out, call) : status;
}

int call_or_refuse(struct request *request, enum api_id id, const void *in, void *out,
		   struct call *call)
{
	const enum call_status status = call_make(request, id, in, out, call);

	if (status == CALL_FAILED)
		call_refuse(request, call->failure);
	return status == CALL_OK ? 0 : -1;
}

void call_refuse(struct request *request, const struct api_failure *failure)
{
	const struct api_error_row *row = api_error_of(failure);

	answer_refuse(request, &(struct refusal){
				       .status = row->status,
				       .code = row->name,
				       .message = failure->message,
				       .cause = failure->cause,
				       .remedy = failure->remedy,
				       .retry_s = (unsigned)failure->retry_s,
				       .more = failure,
			       });
}

/* A throttled address may use only keys that were good a moment ago. */
int call_check_key(struct request *request)
{
	cleanup_call struct call call = CALL_INIT;
	char key[FRONT_KEY_MAX + 1];

	request_key(request, key, sizeof(key));
	if (key[0] != '\0' && !request_may_present(request, key)) {
		answer_refuse_simple(request, 429, "too_many_attempts",
				     "too many unknown keys came from this address",
				     "use a key that is known, or wait");
		return -1;
	}
	return call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call);
}

int call_json_body(struct request *request, size_t max, struct json_value **ret)
{
	cleanup_buf struct buf body = BUF_INIT(max);
	struct json_value *document;
	struct err err;

	if (call_check_key(request) < 0 || request_body(request, max, &body) < 0)
		return -1;
	if (json_read_parse(buf_text(&body), body.len, max, &document, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", err.text, "send a JSON object");
		return -1;
	}
	if (json_read_kind(document) != JSON_KIND_OBJECT) {
		json_read_free(document);
		answer_refuse_simple(request, 400, "invalid", "the body is not a JSON object",
				     "send a JSON object");
		return -1;
	}
	*ret = document;
	return 0;
}

int call_delete_document(struct request *request, const char *collection, const char *id)
{
	cleanup_call struct call call = CALL_INIT;

	return call_make(request, API_DOCUMENT_DELETE,
			 &(struct api_document_delete_in){ .collection = collection, .id = id },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}
