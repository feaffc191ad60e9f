/*
 * native.c - the native API: each row of the field table is a route, and most routes need no other
 * code.
 *
 * Runs in:  reckon-front-native.
 * Reads:    heads and bodies of any client; results of reckond.
 * Never:    passes on a field that it did not check against the table.
 */
#include "dialects/native/native.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/check.h"
#include "api/json_in.h"
#include "api/route.h"
#include "base/cleanup.h"
#include "dialects/native/openapi.h"
#include "dialects/refuse.h"

#define KEY_SIZE 129
#define BODY_BEFORE_KEY (64u * 1024u) /* a longer body is read only after the key was checked */

extern const struct dialect dialect_native;

/* ---- arguments ------------------------------------------------------------------------------ */

/* Takes the fields that are headers; api_check() checks them like the others. */
static void take_headers(const struct http *http, const struct api_type *type, void *ret)
{
	char name[64];

	for (size_t i = 0; i < type->count; i++) {
		const struct api_field *field = &type->fields[i];
		size_t at = 0;

		if (field->place != API_HEADER)
			continue;
		for (; field->name[at] != '\0' && at + 1 < sizeof(name); at++)
			name[at] = (char)tolower((unsigned char)field->name[at]);
		name[at] = '\0';
		*(const char **)api_to(field, ret) = http_header(http, name);
	}
}

static const char *id_at(const void *in, uint16_t offset)
{
	return offset != API_NO_OFFSET ? *(const char *const *)((const char *)in + offset) : NULL;
}

/* Takes everything but the body, and checks it once the body is there. */
static int take_head(const struct native *native, struct err *err)
{
	const struct api_call *call = native->call;
	const struct http *http = request_head(native->request);
	char route[128];

	if (api_take_path(call, http->path, native->arena, native->in, err) < 0)
		return (int)err->code;
	(void)snprintf(route, sizeof(route), "%s%s", call->path[0] == '/' ? "" : "/reckon/v1/",
		       call->path);
	request_note(native->request, route, id_at(native->in, call->session_offset),
		     id_at(native->in, call->execution_offset));
	take_headers(http, call->takes, native->in);
	return api_take_query(call->takes, http->query, native->arena, native->in, err);
}

static bool is_media(const char *type, const char *want)
{
	const size_t len = strlen(want);

	return strncasecmp(type, want, len) == 0 &&
	       (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

/* A body must be JSON; an empty body may have any type. */
static bool may_be_json(const struct http *http)
{
	const char *type = http_header(http, "content-type");

	return type == NULL || (http->length == 0 && !http->is_chunked) ||
	       is_media(type, "application/json") ||
	       is_media(type, "application/x-www-form-urlencoded");
}

void native_refuse_invalid(struct request *request, const struct err *err)
{
	answer_refuse_simple(request, 400, "invalid", err->text,
			     err->remedy[0] != '\0' ? err->remedy
						    : "see GET /reckon/v1/openapi.json");
}

/* Only a valid key: a stranger, who is refused here, does not learn what would be correct. */
static bool has_access(const struct native *native)
{
	return native->call->scope == API_SCOPE_NONE || call_check_key(native->request) == 0;
}

static void refuse_invalid(const struct native *native, const struct err *err)
{
	if (has_access(native))
		native_refuse_invalid(native->request, err);
}

static int take_body(const struct native *native)
{
	cleanup_buf struct buf body = BUF_INIT(API_JSON_MAX);
	struct request *request = native->request;
	const struct http *http = request_head(request);
	struct err err;

	if (!may_be_json(http)) {
		if (has_access(native))
			answer_refuse_simple(request, 415, "unsupported_media_type",
					     "the body must be JSON",
					     "send Content-Type: application/json");
		return -1;
	}
	if (http->length > API_JSON_MAX) {
		if (has_access(native))
			answer_refuse_simple(
				request, 413, "body_too_large", "the body is longer than 8 MiB",
				"put large data into files: PUT /reckon/v1/sessions/ID/files/PATH");
		return -1;
	}
	if (http->is_chunked || http->length > BODY_BEFORE_KEY ||
	    http_header(http, "content-encoding") != NULL) {
		cleanup_call struct call call = CALL_INIT;

		if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL,
				   &call) < 0)
			return -1;
	}
	if (request_body(request, API_JSON_MAX, &body) < 0)
		return -1;
	if (api_take_body(native->call->takes, buf_text(&body), body.len, native->arena, native->in,
			  &err) == 0)
		return 0;
	refuse_invalid(native, &err);
	return -1;
}

static int drop_body(struct request *request)
{
	cleanup_buf struct buf none = BUF_INIT(0);

	return request_body(request, 0, &none);
}

/* ---- a call that needs only its row --------------------------------------------------------- */

static void make(const struct native *native, struct call *call)
{
	struct request *request = native->request;
	const struct api_call *row = native->call;
	void *out = arena_new(native->arena, 1, row->gives->size);

	if (call_or_refuse(request, native->id, native->in, out, call) < 0)
		return;
	if (native->id == API_USAGE) {
		const struct api_usage_in *in = native->in;

		if (in->format == API_USAGE_IN_FORMAT_CSV || native_wants(request, "text/csv")) {
			native_usage_csv(request, out);
			return;
		}
	}
	native_answer(native, out, call);
}

static void answer_document(struct request *request)
{
	if (answer_begin(request, 200, NATIVE_JSON, openapi_json_len, NULL) == 0 &&
	    answer_write(request, openapi_json, openapi_json_len) == 0)
		answer_end(request);
}

static void answer_call(const struct native *native)
{
	cleanup_call struct call call = CALL_INIT;

	if (native->call->is_local)
		answer_document(native->request);
	else if (native->call->gives_events)
		native_events(native);
	else if (native->call->gives_descriptor)
		native_download(native);
	else if (!native_begin(native, &call))
		make(native, &call);
}

/* ---- a request ------------------------------------------------------------------------------ */

static void refuse_verb(struct request *request, unsigned verbs)
{
	static const struct {
		enum http_verb verb;
		const char *name;
	} names[] = { { HTTP_VERB_GET, "GET" },	  { HTTP_VERB_HEAD, "HEAD" },
		      { HTTP_VERB_POST, "POST" }, { HTTP_VERB_PUT, "PUT" },
		      { HTTP_VERB_PATCH, "PATCH" }, { HTTP_VERB_DELETE, "DELETE" } };
	char allow[96] = "Allow";
	const char *between = ": ";
	size_t used = strlen(allow);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if ((verbs & names[i].verb) != 0) {
			used += (size_t)snprintf(allow + used, sizeof(allow) - used, "%s%s",
						 between, names[i].name);
			between = ", ";
		}
	(void)snprintf(allow + used, sizeof(allow) - used, "\r\n");
	answer_refuse(request, &(struct refusal){
				       .status = 405,
				       .code = "method_not_allowed",
				       .message = "this method does nothing here",
				       .remedy = "the Allow header names what does",
				       .headers = allow,
			       });
}

/* A throttled address may use only keys that were good a moment ago. */
static bool may_ask(const struct native *native)
{
	char key[KEY_SIZE];

	request_key(native->request, key, sizeof(key));
	if (native->call->scope == API_SCOPE_NONE || key[0] == '\0' ||
	    request_may_present(native->request, key))
		return true;
	answer_refuse_simple(native->request, 429, "too_many_attempts",
			     "too many unknown keys came from this address",
			     "use a key that is known, or wait");
	return false;
}

static void before(const struct native *native)
{
	if (native->id == API_LINK_GET && request_head(native->request)->verb == HTTP_VERB_HEAD) {
		struct api_link_get_in *in = native->in;

		in->has_head_only = in->head_only = true;
	}
}

static void serve(const struct native *native)
{
	struct request *request = native->request;
	const struct http *http = request_head(request);
	const char *expect = http_header(http, "expect");
	const bool has_body =
		(http->verb & (HTTP_VERB_POST | HTTP_VERB_PATCH | HTTP_VERB_PUT)) != 0;
	struct err err;

	if (!may_ask(native))
		return;
	if (take_head(native, &err) < 0) {
		refuse_invalid(native, &err);
		return;
	}
	if (expect != NULL && strcasecmp(expect, "100-continue") != 0) {
		answer_refuse_simple(request, 417, "invalid", "an expectation that is not known",
				     NULL);
		return;
	}
	if (native->call->commits == 0 &&
	    (has_body ? take_body(native) : drop_body(request)) < 0)
		return;
	if (api_check(native->call->takes, native->in, &err) < 0) {
		refuse_invalid(native, &err);
		return;
	}
	before(native);
	if (native->call->commits != 0)
		native_upload(native);
	else
		answer_call(native);
}

/* Whether a foreign page opens a WebSocket: browsers allow that, CORS does not cover it. */
static bool is_foreign_socket(struct request *request)
{
	if (!websocket_is_requested(request) || request_origin_is_allowed(request))
		return false;
	answer_refuse_simple(request, 403, "forbidden", "this page may not connect",
			     "connect from a page of this daemon's host");
	return true;
}

static void handle(struct request *request)
{
	const struct http *http = request_head(request);
	cleanup_arena struct arena arena = { 0 };
	unsigned verbs;
	const struct api_call *call = api_route(http->verb, http->path, &verbs);
	char message[160];

	if (is_foreign_socket(request))
		return;
	if (call == NULL && verbs != 0) {
		refuse_verb(request, verbs);
		return;
	}
	if (call == NULL) {
		(void)snprintf(message, sizeof(message), "there is nothing at %.100s", http->path);
		answer_refuse_simple(request, 404, "not_found", message,
				     "see GET /reckon/v1/openapi.json");
		return;
	}
	serve(&(struct native){
		.request = request,
		.call = call,
		.id = (enum api_id)(call - api_calls),
		.arena = &arena,
		.in = arena_new(&arena, 1, call->takes->size),
	});
}

static const struct key_place keys[] = {
	{ KEY_BEARER, NULL },
	{ KEY_PROTOCOL, "reckon.key." }, /* a page cannot set other headers of a WebSocket */
	{ KEY_NONE, NULL },
};

const struct dialect dialect_native = {
	.name = "native",
	.keys = keys,
	.handle = handle,
	.refuse = refuse_as_reckon,
};
