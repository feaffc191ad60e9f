/*
 * begin.c - calls that start something and may stream its events: executions, processes, runs.
 *
 * Runs in:  reckon-front-native.
 * Reads:    checked calls; results of reckond.
 * Never:    lets an execution continue without its client if the request forbids that.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "dialects/native/native.h"

/* Events can also be requested by a header. */
static bool wants_events(const struct native *native, bool stream, bool background)
{
	return stream || (!background && native_wants(native->request, "text/event-stream"));
}

/* `first`: an event to send before all others, or NULL. */
static void follow_execution(const struct native *native, const struct api_execution *begun,
			     uint64_t frame, const struct buf *first)
{
	char headers[256];

	upstream_cancel_when_gone(native->request, frame);
	request_note(native->request, NULL, begun->session, begun->id);
	(void)snprintf(headers, sizeof(headers),
		       "Reckon-Execution: %s\r\nLocation: /reckon/v1/sessions/%s/executions/%s\r\n",
		       begun->id, begun->session, begun->id);
	native_follow(native->request, API_EXECUTION_EVENTS,
		      &(struct api_execution_events_in){ .session = begun->session,
							 .execution = begun->id },
		      &(struct native_stream){ headers, "execution", first });
}

static void execute(const struct native *native, struct call *call)
{
	struct request *request = native->request;
	struct api_execute_in *in = native->in;
	struct api_execute_out out;

	in->has_stream = in->stream = wants_events(native, in->stream, in->background);
	if (in->on_disconnect == API_EXECUTE_IN_ON_DISCONNECT_CANCEL)
		request_end_at_eof(request);
	if (call_or_refuse(request, native->id, in, &out, call) < 0)
		return;
	if (in->stream && out.execution != NULL)
		follow_execution(native, out.execution, call->frame, NULL);
	else
		native_answer(native, &out, call);
}

/* Announces the execution: otherwise the client could not know whose events follow. */
static int tell_begun(const struct api_execution *begun, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "event", "execution");
	json_write_member_string(&json, "id", begun->id);
	json_write_member_string(&json, "session", begun->session);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static void execute_once(const struct native *native, struct call *call)
{
	cleanup_buf struct buf first = BUF_INIT(1024);
	struct api_execute_once_in *in = native->in;
	struct api_execute_once_out out;
	struct err err;

	in->has_stream = in->stream = wants_events(native, in->stream, false);
	/* Without an idempotency key no other request can get its record or learn of its
	 * session. */
	if (in->idempotency_key == NULL)
		request_end_at_eof(native->request);
	if (call_or_refuse(native->request, native->id, in, &out, call) < 0)
		return;
	if (out.execution == NULL)
		native_answer(native, &out, call);
	else if (tell_begun(out.execution, &first, &err) < 0)
		answer_refuse_simple(native->request, 500, "internal", err.text, NULL);
	else
		follow_execution(native, out.execution, call->frame, &first);
}

static void process_create(const struct native *native, struct call *call)
{
	struct request *request = native->request;
	struct api_process_create_in *in = native->in;
	struct api_process out;
	char headers[256];

	in->has_stream = in->stream = wants_events(native, in->stream, false);
	if (call_or_refuse(request, native->id, in, &out, call) < 0)
		return;
	if (!in->stream) {
		native_answer(native, &out, call);
		return;
	}
	(void)snprintf(headers, sizeof(headers),
		       "Reckon-Process: %s\r\nLocation: /reckon/v1/sessions/%s/processes/%s\r\n",
		       out.id, in->session, out.id);
	native_follow(request, API_PROCESS_EVENTS,
		      &(struct api_process_events_in){ .session = in->session, .process = out.id },
		      &(struct native_stream){ .headers = headers });
}

static void run_create(const struct native *native, struct call *call)
{
	struct request *request = native->request;
	struct api_run_create_in *in = native->in;
	struct api_run_create_out out;
	char headers[160];

	in->has_stream = in->stream = wants_events(native, in->stream, in->background);
	in->has_followed = in->followed = in->stream;
	/* A model should not cost money when no client may be waiting. */
	if (!in->background && in->on_disconnect != API_RUN_CREATE_IN_ON_DISCONNECT_CONTINUE)
		request_end_at_eof(request);
	if (call_or_refuse(request, native->id, in, &out, call) < 0)
		return;
	if (!in->stream || out.run == NULL) {
		native_answer(native, &out, call);
		return;
	}
	upstream_cancel_when_gone(request, call->frame);
	(void)snprintf(headers, sizeof(headers),
		       "Reckon-Run: %s\r\nLocation: /reckon/v1/agent/%s\r\n", out.run->id,
		       out.run->id);
	native_follow(request, API_RUN_EVENTS, &(struct api_run_events_in){ .id = out.run->id },
		      &(struct native_stream){ .headers = headers });
}

bool native_begin(const struct native *native, struct call *call)
{
	static void (*const begins[API_CALL_COUNT])(const struct native *, struct call *) = {
		[API_EXECUTE] = execute,
		[API_EXECUTE_ONCE] = execute_once,
		[API_PROCESS_CREATE] = process_create,
		[API_RUN_CREATE] = run_create,
	};

	if (begins[native->id] == NULL)
		return false;
	begins[native->id](native, call);
	return true;
}
