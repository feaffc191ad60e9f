/*
 * rpc.c - Connect: unary calls, and streams of envelopes. Messages are JSON, as all SDKs send.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    heads and bodies from clients.
 * Never:    accepts another media type than the method's, or users other than `user` and `root`,
 *           which are both uid 1000 in a box.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/e2b/envd/envd.h"

#define STREAM_JSON "application/connect+json"
#define FILESYSTEM E2B_RPC_FILESYSTEM
#define PROCESS "process.Process"
#define ANSWER_MAX ((size_t)48 << 20)
#define USER_MAX 64u
#define PING_S 90u
#define PING_S_MAX 300u

/* ---- errors --------------------------------------------------------------------------------- */

static const char *code_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *code;
	} known[] = {
		{ 400, "invalid_argument" }, { 401, "unauthenticated" },
		{ 403, "permission_denied" }, { 404, "not_found" },
		{ 408, "deadline_exceeded" }, { 409, "already_exists" },
		{ 410, "not_found" }, { 412, "failed_precondition" },
		{ 413, "invalid_argument" }, { 415, "invalid_argument" },
		{ 429, "resource_exhausted" }, { 501, "unimplemented" },
		{ 503, "unavailable" }, { 504, "deadline_exceeded" },
		{ 507, "resource_exhausted" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return known[i].code;
	return "internal";
}

/* The HTTP status of a unary call's error. */
static unsigned status_of(unsigned status)
{
	switch (status) {
	case 408:
		return 504;
	case 410:
		return 404;
	case 412:
	case 413:
	case 415:
		return 400;
	case 507:
		return 429;
	default:
		return status;
	}
}

static void write_error(struct json_writer *json, const char *code, const char *message)
{
	json_write_object_begin(json);
	json_write_member_string(json, "code", code);
	json_write_member_string(json, "message", message);
	json_write_object_end(json);
}

bool e2b_is_rpc(const struct http *http)
{
	return strncmp(http->path, "/" FILESYSTEM "/", strlen(FILESYSTEM) + 2) == 0 ||
	       strncmp(http->path, "/" PROCESS "/", strlen(PROCESS) + 2) == 0;
}

static bool is_stream(const struct http *http)
{
	static const char *const streams[] = { "/" FILESYSTEM "/WatchDir", "/" PROCESS "/Start",
					       "/" PROCESS "/Connect", "/" PROCESS "/StreamInput" };

	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		if (strcmp(http->path, streams[i]) == 0)
			return true;
	return false;
}

void e2b_rpc_refuse(struct request *request, unsigned status, const char *message)
{
	const struct e2b e2b = { .request = request };
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;
	struct err err;

	if (is_stream(request_head(request))) {
		if (e2b_rpc_begin(&e2b) == 0)
			e2b_rpc_end(&e2b, code_of(status), message);
		return;
	}
	json_write_init(&json, &body);
	write_error(&json, code_of(status), message);
	if (json_write_finish(&json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status_of(status), E2B_JSON, &body, E2B_CORS);
}

/* ---- messages ------------------------------------------------------------------------------- */

static bool is_media(const char *type, const char *want)
{
	const size_t len = strlen(want);

	return type != NULL && strncasecmp(type, want, len) == 0 &&
	       (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

/* Requires exactly one uncompressed envelope. Negative: answered with an error. */
static int unwrap(const struct e2b *e2b, const struct buf *body, struct envelope *ret)
{
	struct err err;
	size_t used = 0;
	const int code = envelope_read(buf_text(body), body->len, E2B_RPC_MAX, ret, &used, &err);

	if (code < 0)
		e2b_rpc_refuse(e2b->request, err.code == ERR_LIMIT ? 429 : 400, err.text);
	else if (code == 0)
		e2b_rpc_refuse(e2b->request, 400, "the message is not whole");
	else if ((ret->flags & ENVELOPE_COMPRESSED) != 0)
		e2b_rpc_refuse(e2b->request, 501, "compressed messages are not taken");
	else if (ret->flags != 0 || used != body->len)
		e2b_rpc_refuse(e2b->request, 400, "there must be one message");
	else
		return 0;
	return -1;
}

bool e2b_rpc_check(const struct e2b *e2b)
{
	const struct http *http = request_head(e2b->request);
	const bool streams = is_stream(http);

	if (is_media(http_header(http, "content-type"), streams ? STREAM_JSON : E2B_JSON))
		return true;
	answer_refuse_simple(
		e2b->request, 415, "unsupported_media_type",
		streams ? "the body must be " STREAM_JSON : "the body must be " E2B_JSON, NULL);
	return false;
}

bool e2b_rpc_user(const struct e2b *e2b)
{
	const char *value = http_header(request_head(e2b->request), "authorization");
	cleanup_buf struct buf name = BUF_INIT(4096);
	char message[128];
	struct err ignored;
	size_t len;

	if (value == NULL || strncasecmp(value, "basic ", 6) != 0)
		return true;
	value += 6;
	if (base64_decode(value, strlen(value), &name, &ignored) < 0)
		(void)buf_adds(&name, "?", &ignored);
	len = strcspn(buf_text(&name), ":");
	if (len == 0 || (len == 4 && (memcmp(name.data, "user", 4) == 0 ||
				      memcmp(name.data, "root", 4) == 0)))
		return true;
	(void)snprintf(message, sizeof(message), "invalid username: '%.*s'",
		       (int)(len < USER_MAX ? len : USER_MAX), buf_text(&name));
	e2b_rpc_refuse(e2b->request, 401, message);
	return false;
}

struct json_value *e2b_rpc_take(const struct e2b *e2b)
{
	const bool streams = is_stream(request_head(e2b->request));
	cleanup_buf struct buf body = BUF_INIT(E2B_RPC_MAX + ENVELOPE_HEAD);
	struct envelope message;
	struct json_value *ret = NULL;
	struct err err;

	if (!e2b_rpc_check(e2b))
		return NULL;
	if (!e2b_may_read(e2b) ||
	    request_body(e2b->request, E2B_RPC_MAX + ENVELOPE_HEAD, &body) < 0)
		return NULL;
	message = (struct envelope){ 0, buf_text(&body), body.len };
	if (streams && unwrap(e2b, &body, &message) < 0)
		return NULL;
	if (message.len == 0)
		message = (struct envelope){ 0, "{}", 2 };
	if (json_read_parse(message.data, message.len, E2B_RPC_MAX, &ret, &err) < 0) {
		e2b_rpc_refuse(e2b->request, 400, err.text);
		return NULL;
	}
	return ret;
}

const char *e2b_rpc_text(const struct json_value *message, const char *member)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(message, member), &len);

	return text != NULL && strlen(text) == len ? text : "";
}

void e2b_rpc_answer(const struct e2b *e2b, struct json_writer *json)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		e2b_rpc_refuse(e2b->request, 500, err.text);
	else
		e2b_answer(e2b, 200, json->out, NULL);
}

void e2b_rpc_empty(const struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(8);
	struct err err;

	if (buf_adds(&body, "{}", &err) == 0)
		e2b_answer(e2b, 200, &body, NULL);
}

/* ---- streams -------------------------------------------------------------------------------- */

static uint64_t number_of(const struct e2b *e2b, const char *header, uint64_t otherwise)
{
	const char *text = http_header(request_head(e2b->request), header);

	if (text == NULL || text[0] == '\0' || strlen(text) > 15 ||
	    strspn(text, "0123456789") != strlen(text))
		return otherwise;
	return strtoull(text, NULL, 10);
}

uint64_t e2b_rpc_ping_ms(const struct e2b *e2b)
{
	const uint64_t ping = number_of(e2b, "keepalive-ping-interval", PING_S);

	return (ping < 1 ? 1 : ping > PING_S_MAX ? PING_S_MAX : ping) * 1000;
}

uint64_t e2b_rpc_timeout_ms(const struct e2b *e2b)
{
	return number_of(e2b, "connect-timeout-ms", 0);
}

int e2b_rpc_begin(const struct e2b *e2b)
{
	return stream_begin(e2b->request, STREAM_JSON, E2B_CORS);
}

/* Appends head and text to one buffer, so that a single write sends the whole message. */
static int wrap(unsigned flags, const char *text, size_t len, struct buf *ret)
{
	char head[ENVELOPE_HEAD];
	struct err err;

	envelope_head(flags, (uint32_t)len, head);
	return buf_add(ret, head, sizeof(head), &err) < 0 || buf_add(ret, text, len, &err) < 0
		       ? -1
		       : 0;
}

int e2b_rpc_send(const struct e2b *e2b, struct json_writer *json)
{
	cleanup_buf struct buf whole = BUF_INIT(ANSWER_MAX + ENVELOPE_HEAD);
	struct err err;

	if (json_write_finish(json, &err) < 0 ||
	    wrap(0, json->out->data, json->out->len, &whole) < 0) {
		answer_break_off(e2b->request);
		return -1;
	}
	return answer_write(e2b->request, whole.data, whole.len);
}

int e2b_rpc_beat(const struct e2b *e2b, const char *message)
{
	cleanup_buf struct buf whole = BUF_INIT(1024);

	if (wrap(0, message, strlen(message), &whole) < 0) {
		answer_break_off(e2b->request);
		return -1;
	}
	return stream_beat(e2b->request, whole.data, whole.len);
}

void e2b_rpc_end(const struct e2b *e2b, const char *code, const char *message)
{
	cleanup_buf struct buf text = BUF_INIT(16384), whole = BUF_INIT(16384 + ENVELOPE_HEAD);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	if (code != NULL) {
		json_write_key(&json, "error");
		write_error(&json, code, message);
	}
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0 ||
	    wrap(ENVELOPE_END, text.data, text.len, &whole) < 0)
		answer_break_off(e2b->request);
	else if (answer_write(e2b->request, whole.data, whole.len) == 0)
		answer_end(e2b->request);
}
