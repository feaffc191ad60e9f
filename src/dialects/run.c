/*
 * run.c - follows a model's run for the dialects of model APIs.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    events of a run: JSON from reckond that contains text of a model.
 * Never:    lets a run continue without a reader.
 */
#include "dialects/run.h"

#include <stdio.h>
#include <string.h>

#define EVENT_BYTES_MAX ((size_t)64 * 1024 * 1024)

void run_done(struct run *run)
{
	json_read_free(run->document);
	run->document = NULL;
	call_done(&run->call);
}

static void copy_id(char ret[ID_SIZE], const char *id)
{
	(void)snprintf(ret, ID_SIZE, "%s", id != NULL ? id : "");
}

static void end_with_client(struct request *request, struct api_run_create_in *in)
{
	in->has_stream = in->stream = true;
	in->on_disconnect = API_RUN_CREATE_IN_ON_DISCONNECT_CANCEL;
	in->has_disconnect_grace_ms = true;
	in->disconnect_grace_ms = 0;
	request_end_at_eof(request);
}

void run_follow(struct run *run, struct request *request, const char *id)
{
	run->request = request;
	if (id != run->id)
		copy_id(run->id, id);
	run->in = (struct api_run_events_in){ .id = run->id };
	events_open(&run->reader, request, API_RUN_EVENTS, &run->in);
}

int run_begin(struct run *run, struct request *request, struct api_run_create_in *in)
{
	struct api_run_create_out out;

	run->request = request;
	in->has_followed = in->followed = true;
	if (!in->background)
		end_with_client(request, in);
	if (call_or_refuse(request, API_RUN_CREATE, in, &out, &run->call) < 0)
		return -1;
	if (out.run == NULL) {
		answer_refuse_simple(request, 500, "internal", "the run could not be followed",
				     NULL);
		return -1;
	}
	copy_id(run->id, out.run->id);
	copy_id(run->session, out.run->session);
	run->at_once = out.run->tenant_runs;
	run->at_once_max = out.run->tenant_runs_max;
	if (!in->background)
		upstream_cancel_when_gone(request, run->call.frame);
	run_follow(run, request, run->id);
	return 0;
}

/* Whether the run still runs, or ended normally meanwhile: then its end is reported now. */
static bool can_resume(const struct api_run_show_out *out, const char *session)
{
	static const char *const broken[] = { "interrupted", "session_lost", "failed" };
	struct json_value *answer = NULL;
	const char *own, *stop;
	struct err err;
	bool can;

	if (out->run != NULL)
		return out->run->session != NULL && strcmp(out->run->session, session) == 0;
	if (json_read_parse(out->answer.data, out->answer.len, EVENT_BYTES_MAX, &answer, &err) < 0)
		return false;
	own = json_read_text(json_read_member(answer, "session"), NULL);
	stop = json_read_text(json_read_member(answer, "stop"), NULL);
	can = own != NULL && stop != NULL && strcmp(own, session) == 0;
	for (size_t i = 0; can && i < sizeof(broken) / sizeof(broken[0]); i++)
		can = strcmp(broken[i], stop) != 0;
	json_read_free(answer);
	return can;
}

enum call_status run_resume(struct run *run, struct request *request, const char *id,
			    const char *session, uint64_t after)
{
	struct api_run_show_out out;
	struct next_event next;
	enum call_status status;

	run->request = request;
	request_end_at_eof(request);
	status = call_make(request, API_RUN_SHOW, &(struct api_run_show_in){ .id = id }, &out,
			   &run->call);
	if (status != CALL_OK)
		return status;
	if (!can_resume(&out, session))
		return CALL_FAILED;
	copy_id(run->id, id);
	copy_id(run->session, session);
	run->in = (struct api_run_events_in){ .id = run->id, .has_after = true, .after = after };
	events_open(&run->reader, request, API_RUN_EVENTS, &run->in);
	/* Attach the reader before answering anything: from now on the run has one. */
	if (events_next(&run->reader, EVENTS_POLL, &run->call, &next) == EVENT_GONE)
		return CALL_GONE;
	upstream_cancel_when_gone(request, run->call.frame);
	return CALL_OK;
}

void run_leave(struct run *run)
{
	upstream_cancel_now(run->request);
}

static const struct {
	const char *name;
	enum run_event_kind kind;
} kinds[] = {
	{ "text", RUN_TEXT },	 { "thought", RUN_THOUGHT }, { "code", RUN_CODE },
	{ "discard", RUN_DISCARD }, { "turn", RUN_TURN },    { "cell", RUN_CELL },
	{ "record", RUN_RECORD }, { "done", RUN_DONE },	     { "tool_call", RUN_TOOL },
	{ "sealed", RUN_SEALED },
};

static const struct json_value *member_of(const struct json_value *json, enum run_event_kind kind)
{
	const char *name = kind == RUN_DONE   ? "answer"
			   : kind == RUN_CELL ? "command"
			   : kind == RUN_TOOL ? "arguments"
			   : kind == RUN_TURN ? "usage"
			   : kind == RUN_SEALED ? "sealed"
					      : "record";
	const struct json_value *member = json_read_member(json, name);

	return json_read_kind(member) == JSON_KIND_OBJECT ? member : NULL;
}

/* False: no dialect uses this event. */
static bool take(struct run *run, const struct api_event *event, struct run_event *ret)
{
	int64_t call = 0, wait = 0;
	struct err err;
	size_t i = 0;

	while (i < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].name, event->name) != 0)
		i++;
	if (i == sizeof(kinds) / sizeof(kinds[0]) && strcmp(event->name, "run") != 0)
		return false;
	json_read_free(run->document);
	run->document = NULL;
	if (json_read_parse(event->data.data, event->data.len, EVENT_BYTES_MAX, &run->document,
			    &err) < 0)
		return false;
	if (strcmp(event->name, "run") == 0) {
		copy_id(run->session,
			json_read_text(json_read_member(run->document, "session"), NULL));
		return false;
	}
	*ret = (struct run_event){ .kind = kinds[i].kind, .number = event->id };
	ret->text = json_read_text(json_read_member(run->document,
						    ret->kind == RUN_CELL   ? "code"
						    : ret->kind == RUN_TOOL ? "name"
									    : "text"),
				   &ret->len);
	ret->id = json_read_text(json_read_member(run->document, "id"), NULL);
	if (json_read_int(json_read_member(run->document, "wait_s"), &wait) && wait > 0)
		ret->wait_s = (uint64_t)wait;
	ret->execution = json_read_text(json_read_member(run->document, "execution"), NULL);
	if (json_read_int(json_read_member(run->document, "call"), &call) && call > 0)
		ret->call = (uint64_t)call;
	if (ret->kind == RUN_RECORD || ret->kind == RUN_DONE || ret->kind == RUN_TOOL ||
	    ret->kind == RUN_TURN || ret->kind == RUN_SEALED || ret->kind == RUN_CELL)
		ret->json = member_of(run->document, ret->kind);
	if (ret->text == NULL)
		ret->text = "";
	return true;
}

enum run_event_kind run_next(struct run *run, struct run_event *ret)
{
	struct next_event next;

	*ret = (struct run_event){ .text = "" };
	for (;;)
		switch (events_next(&run->reader, run->quiet_ms, &run->call, &next)) {
		case EVENT_GONE:
		case EVENT_END: /* the run's last event comes first */
			return ret->kind = RUN_GONE;
		case EVENT_QUIET:
			return ret->kind = RUN_QUIET;
		case EVENT_GAP:
			run->is_partial = true;
			break;
		case EVENT_FAILED:
			ret->failure = next.failure;
			return ret->kind = RUN_FAILED;
		case EVENT_NEXT:
			run->is_partial |= !run->has_begun && strcmp(next.event.name, "run") != 0;
			run->has_begun = true;
			if (take(run, &next.event, ret))
				return ret->kind;
			break;
		}
}
