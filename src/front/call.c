/*
 * call.c - what the field table knows: a request as a typed call, and its answer as HTTP.
 *
 * Runs in:  reckon-front.
 * Reads:    heads and bodies of anybody; images of reckond.
 * Never:    passes on what it did not check: the table says what that is.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/calls.h"
#include "api/check.h"
#include "api/image.h"
#include "api/json_in.h"
#include "api/json_out.h"
#include "api/route.h"
#include "base/cleanup.h"
#include "front/front.h"

#define FRAME_MAX ((size_t)API_JSON_MAX + 64 * 1024)
#define BODY_MAX ((size_t)64 * 1024 * 1024)

/* Of each field that stands in one; checked like any other. */
static void take_headers(const struct conn *conn, const struct api_type *type, void *ret)
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
		*(const char **)api_to(field, ret) = http_header(&conn->http, name);
	}
}

/* ---- what HTTP adds to some of them ---------------------------------------------------------- */

/* Events may be asked for by a header, too; and whoever waits may be worth waiting for, or not. */
static void before_execute(struct conn *conn, void *of)
{
	const char *accept = http_header(&conn->http, "accept");
	struct api_execute_in *in = of;

	if (!in->stream && !in->background && accept != NULL &&
	    strcasecmp(accept, "text/event-stream") == 0)
		in->has_stream = in->stream = true;
	conn->wants_events = in->stream;
	conn->ends_at_eof = in->on_disconnect == API_EXECUTE_IN_ON_DISCONNECT_CANCEL;
}

static bool after_execute(struct conn *conn, const void *of)
{
	const struct api_execute_out *out = of;

	if (!conn->wants_events || out->execution == NULL)
		return false;
	stream_begin(conn, out->execution->id);
	return true;
}

/* Without a key nobody else can have its record, or knows of its session. */
static void before_once(struct conn *conn, void *of)
{
	const struct api_execute_once_in *in = of;

	conn->ends_at_eof = in->idempotency_key == NULL;
}

static void before_usage(struct conn *conn, void *of)
{
	const char *accept = http_header(&conn->http, "accept");
	const struct api_usage_in *in = of;

	conn->wants_csv = in->format == API_USAGE_IN_FORMAT_CSV ||
			  (accept != NULL && strcasecmp(accept, "text/csv") == 0);
}

/* RFC 4180. Ids and days hold nothing that would have to be quoted. */
static int write_csv(const struct api_list *days, struct buf *ret, struct err *err)
{
	const struct api_usage_day *day = days->items;

	if (buf_adds(ret, "tenant,day,sessions,executions,wall_s,cpu_s,memory_mib_s,bytes_in,"
			  "bytes_out,disk_bytes\r\n", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < days->count; i++, day++)
		if (buf_addf(ret, err,
			     "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ".%03u,%" PRIu64
			     ".%03u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n",
			     day->tenant, day->day, day->sessions, day->executions,
			     day->wall_ms / 1000, (unsigned)(day->wall_ms % 1000),
			     day->cpu_ms / 1000, (unsigned)(day->cpu_ms % 1000),
			     day->memory_mib_s, day->bytes_in, day->bytes_out,
			     day->disk_bytes) < 0)
			return (int)err->code;
	return 0;
}

static bool after_usage(struct conn *conn, const void *of)
{
	cleanup_buf struct buf text = BUF_INIT(BODY_MAX);
	const struct api_usage *out = of;
	struct err err;

	if (!conn->wants_csv)
		return false;
	if (write_csv(&out->usage, &text, &err) < 0) {
		reply_err(conn, 500, &err);
		return true;
	}
	reply_head(conn, 200, "text/csv; charset=utf-8", text.len,
		   "Content-Disposition: attachment; filename=\"usage.csv\"\r\n");
	conn_write(conn, text.data, text.len);
	conn_finish(conn);
	return true;
}

static const struct {
	void (*before)(struct conn *conn, void *in);
	bool (*after)(struct conn *conn, const void *out); /* whether that was the answer */
} extras[API_CALL_COUNT] = {
	[API_EXECUTE] = { before_execute, after_execute },
	[API_EXECUTE_ONCE] = { before_once, NULL },
	[API_USAGE] = { before_usage, after_usage },
};

/* ---- there and back ------------------------------------------------------------------------- */

static int take_in(struct conn *conn, struct arena *arena, void *ret, struct err *err)
{
	const struct api_call *call = conn->target.call;

	api_take_path(call, conn->http.path, arena, ret);
	if (call->session_offset != API_NO_OFFSET)
		(void)snprintf(conn->target.session, sizeof(conn->target.session), "%s",
			       *(const char *const *)((const char *)ret + call->session_offset));
	take_headers(conn, call->takes, ret);
	if (api_take_query(call->takes, conn->http.query, arena, ret, err) < 0)
		return (int)err->code;
	if (request_takes_json(conn) &&
	    api_take_body(call->takes, buf_text(&conn->body), conn->body.len, arena, ret, err) < 0)
		return (int)err->code;
	return api_check(call->takes, ret, err);
}

static int write_caller(const struct conn *conn, struct buf *payload, struct err *err)
{
	const struct log_context *about = &conn->trail.about;
	struct api_caller caller = { 0 };
	char key[FRONT_KEY_MAX + 1], trace[sizeof(about->trace) + sizeof(about->span)];

	build_key_text(conn, key);
	if (key[0] != '\0' && conn->target.call->scope != API_SCOPE_NONE)
		caller.key = key;
	if (about->request[0] != '\0')
		caller.request = about->request;
	(void)snprintf(trace, sizeof(trace), "%s%s", about->trace, about->span);
	if (about->trace[0] != '\0')
		caller.trace = trace;
	return api_image_write(&api_type_caller, &caller, payload, err);
}

void call_ask(struct conn *conn)
{
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);
	cleanup_arena struct arena arena = { 0 };
	const struct api_call *call = conn->target.call;
	void *in = arena_new(&arena, 1, call->takes->size);
	const size_t number = (size_t)(call - api_calls);
	struct err err;

	if (take_in(conn, &arena, in, &err) < 0) {
		reply_err(conn, 400, &err);
		return;
	}
	if (extras[number].before != NULL)
		extras[number].before(conn, in);
	buf_done(&conn->body);
	conn->body = BUF_INIT(API_JSON_MAX);
	if (write_caller(conn, &payload, &err) < 0 ||
	    api_image_write(call->takes, in, &payload, &err) < 0) {
		reply_err(conn, 500, &err);
		return;
	}
	conn->state = CONN_WAIT;
	loop_timer_clear(conn->timer);
	upstream_call(conn, (uint16_t)number, &payload);
	if (conn->wants_events)
		conn->holds = conn->waiting;
}

void call_answer(struct conn *conn, const char *image, size_t len)
{
	const struct api_call *call = conn->target.call;
	cleanup_buf struct buf body = BUF_INIT(BODY_MAX);
	cleanup_arena struct arena arena = { 0 };
	struct api_bytes rest = { image, len };
	void *out = arena_new(&arena, 1, call->gives->size);
	const size_t number = (size_t)(call - api_calls);
	struct err err;

	if (api_image_read(call->gives, &rest, &arena, out, &err) < 0) {
		reply_err(conn, 500, &err);
		return;
	}
	if (extras[number].after != NULL && extras[number].after(conn, out))
		return;
	if (api_write_body(call, out, &body, &err) < 0)
		reply_err(conn, 500, &err);
	else
		reply_text(conn, api_status(call, out), call->media != NULL ? call->media : MEDIA_JSON,
			   &body);
}
