/*
 * events.c - converts a run's events into steps and messages of its thread, stores and streams
 * them.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    events of a run, with text of a model.
 * Never:    fails a run because a step cannot be stored.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/openai/assistants/threads.h"

int thread_run_open(struct thread_run *run, struct request *request,
		    const struct json_value *value, struct err *err)
{
	const struct json_value *object = json_read_member(value, "object");
	const char *id = json_get_text(object, "id"), *thread = json_get_text(object, "thread_id");
	const char *assistant = json_get_text(object, "assistant_id"),
		   *part = json_get_text(value, "part");
	int64_t count = 0;

	if (id == NULL || thread == NULL || assistant == NULL || part == NULL)
		return err_set(err, ERR_NOT_FOUND, "this run is not as it was stored");
	run->request = request;
	run->object = object;
	(void)snprintf(run->id, sizeof(run->id), "%s", id);
	(void)snprintf(run->thread, sizeof(run->thread), "%s", thread);
	(void)snprintf(run->assistant, sizeof(run->assistant), "%s", assistant);
	(void)snprintf(run->part, sizeof(run->part), "%s", part);
	(void)json_read_int(json_read_member(value, "count"), &count);
	run->count = count > 0 ? (uint64_t)count : 0;
	run->run = RUN_INIT;
	run->text = BUF_INIT(OPENAI_OUT_MAX);
	run->code = BUF_INIT(OPENAI_OUT_MAX);
	run->pictures = BUF_INIT(256 * 1024);
	run->shown = BUF_INIT(OBJECT_MAX);
	return 0;
}

void thread_run_done(struct thread_run *run)
{
	buf_done(&run->text);
	buf_done(&run->code);
	buf_done(&run->pictures);
	buf_done(&run->shown);
	cites_done(&run->cites);
	run_done(&run->run);
}

/* ---- sending and storing -------------------------------------------------------------------- */

int thread_send(const struct thread_run *run, const char *event, const struct buf *data)
{
	return run->is_stream
		       ? sse_event(run->request, 0, event, buf_text(data), data->len)
		       : 0;
}

int thread_send_end(const struct thread_run *run)
{
	return run->is_stream ? sse_event(run->request, 0, "done", "[DONE]", 6) : 0;
}

static int give_up(const struct thread_run *run)
{
	answer_break_off(run->request);
	return -1;
}

static int send_step(const struct thread_run *run, const char *type, const char *status,
		     const struct buf *details, const char *const *events)
{
	cleanup_buf struct buf step = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &step);
	thread_write_step(&json, run, type, status, details);
	if (json_write_finish(&json, &err) < 0)
		return give_up(run);
	if (strcmp(status, "completed") == 0 || run->is_stream)
		(void)object_store(run->request, &thread_step_kind, run->step, run->id, &step,
				   NULL);
	for (; *events != NULL; events++)
		if (thread_send(run, *events, &step) < 0)
			return -1;
	return 0;
}

static const char *const begins[] = { "thread.run.step.created", "thread.run.step.in_progress",
				      NULL };
static const char *const completes[] = { "thread.run.step.completed", NULL };

static void next_ids(struct thread_run *run)
{
	char of[NAME_SIZE];

	if (!name_swap(run->id, "run_", "", of, sizeof(of)))
		of[0] = '\0';
	(void)snprintf(run->step, sizeof(run->step), "step_%.40s%03u", of, (unsigned)run->count);
	(void)snprintf(run->message, sizeof(run->message), "msg_%.40s%03u", of,
		       (unsigned)run->count);
	(void)snprintf(run->call, sizeof(run->call), "call_%.40s%03u", of, (unsigned)run->count);
	run->count++;
	run->begun_s = clock_wall_ms() / 1000;
}

/* ---- messages ------------------------------------------------------------------------------- */

static int write_creation(const struct thread_run *run, struct buf *ret, struct err *err)
{
	return buf_addf(ret, err, "{\"type\":\"message_creation\",\"message_creation\":"
			"{\"message_id\":\"%s\"}}", run->message);
}

static int send_message(const struct thread_run *run, bool is_whole, const char *const *events)
{
	cleanup_buf struct buf message = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &message);
	thread_write_message(&json, run, is_whole);
	if (json_write_finish(&json, &err) < 0)
		return give_up(run);
	if (is_whole)
		(void)object_store(run->request, &thread_message_kind, run->message, run->thread,
				   &message, NULL);
	for (; *events != NULL; events++)
		if (thread_send(run, *events, &message) < 0)
			return -1;
	return 0;
}

static void begin_delta(const struct thread_run *run, struct json_writer *json, struct buf *out,
			unsigned index, const char *type)
{
	json_write_init(json, out);
	json_write_object_begin(json);
	json_write_member_string(json, "id", run->message);
	json_write_member_string(json, "object", "thread.message.delta");
	json_write_key(json, "delta");
	json_write_object_begin(json);
	json_write_key(json, "content");
	json_write_array_begin(json);
	json_write_object_begin(json);
	json_write_member_uint(json, "index", index);
	json_write_member_string(json, "type", type);
	json_write_key(json, type);
	json_write_object_begin(json);
}

static int end_delta(const struct thread_run *run, struct json_writer *json)
{
	struct err err;

	json_write_object_end(json);
	json_write_object_end(json);
	json_write_array_end(json);
	json_write_object_end(json);
	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		return give_up(run);
	return thread_send(run, "thread.message.delta", json->out);
}

static int send_pictures(const struct thread_run *run)
{
	unsigned index = 0;

	for (const char *at = buf_text(&run->pictures); run->is_stream && *at != '\0'; index++) {
		cleanup_buf struct buf out = BUF_INIT(8192);
		const size_t len = strcspn(at, "\n");
		struct json_writer json;

		begin_delta(run, &json, &out, index, "image_file");
		json_write_member_text(&json, "file_id", at, len);
		json_write_member_string(&json, "detail", "auto");
		if (end_delta(run, &json) < 0)
			return -1;
		at += len + (at[len] == '\n');
	}
	return 0;
}

static int open_message(struct thread_run *run)
{
	static const char *const events[] = { "thread.message.created",
					      "thread.message.in_progress", NULL };
	cleanup_buf struct buf details = BUF_INIT(4096);
	struct err err;

	next_ids(run);
	run->is_open = true;
	if (write_creation(run, &details, &err) < 0)
		return give_up(run);
	if (send_step(run, "message_creation", "in_progress", &details, begins) < 0 ||
	    send_message(run, false, events) < 0)
		return -1;
	return send_pictures(run);
}

static int add_text(struct thread_run *run, const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	const bool is_first = run->text.len == 0;
	struct json_writer json;
	struct err err;

	if (!run->is_open && open_message(run) < 0)
		return -1;
	if (buf_add(&run->text, text, len, &err) < 0)
		return give_up(run);
	if (!run->is_stream)
		return 0;
	begin_delta(run, &json, &out, run->picture_count, "text");
	json_write_member_text(&json, "value", text, len);
	if (is_first) {
		json_write_key(&json, "annotations");
		json_write_raw(&json, "[]", 2);
	}
	return end_delta(run, &json);
}

static int close_message(struct thread_run *run)
{
	static const char *const events[] = { "thread.message.completed", NULL };
	cleanup_buf struct buf details = BUF_INIT(4096), out = BUF_INIT(OPENAI_OUT_MAX);
	const char *at = buf_text(&run->text);
	struct json_writer json;
	struct cite cite;
	struct err err;

	if (!run->is_open)
		return 0;
	if (run->is_stream && cites_next(&run->cites, at, &at, &cite)) {
		begin_delta(run, &json, &out, run->picture_count, "text");
		thread_write_annotations(&json, run, true);
		if (end_delta(run, &json) < 0)
			return -1;
	}
	if (write_creation(run, &details, &err) < 0)
		return give_up(run);
	if (send_message(run, true, events) < 0 ||
	    send_step(run, "message_creation", "completed", &details, completes) < 0)
		return -1;
	run->is_open = false;
	buf_clear(&run->text);
	buf_clear(&run->pictures);
	run->picture_count = 0;
	return 0;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static int write_calls(const struct thread_run *run, const struct json_value *record,
		       struct buf *ret)
{
	struct json_writer json;
	struct err err;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "tool_calls");
	json_write_key(&json, "tool_calls");
	json_write_array_begin(&json);
	thread_write_cell(&json, run, record);
	json_write_array_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, &err);
}

/* Sends {"index": 0, …} with what is new: the code, or the outputs. */
static int send_cell_delta(const struct thread_run *run, const struct json_value *record)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	struct err err;

	if (!run->is_stream)
		return 0;
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", run->step);
	json_write_member_string(&json, "object", "thread.run.step.delta");
	json_write_key(&json, "delta");
	json_write_object_begin(&json);
	json_write_key(&json, "step_details");
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "tool_calls");
	json_write_key(&json, "tool_calls");
	json_write_array_begin(&json);
	thread_write_cell_delta(&json, run, record);
	json_write_array_end(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return give_up(run);
	return thread_send(run, "thread.run.step.delta", &out);
}

static int begin_cell(struct thread_run *run, const struct run_event *event)
{
	static const char nothing[] = "{\"type\":\"tool_calls\",\"tool_calls\":[]}";
	cleanup_buf struct buf details = BUF_INIT(OPENAI_OUT_MAX);
	struct err err;

	if (close_message(run) < 0)
		return -1;
	next_ids(run);
	buf_clear(&run->code);
	if (buf_adds(&details, nothing, &err) < 0)
		return give_up(run);
	if (send_step(run, "tool_calls", "in_progress", &details, begins) < 0 ||
	    send_cell_delta(run, NULL) < 0)
		return -1;
	if (buf_add(&run->code, event->text, event->len, &err) < 0)
		return give_up(run);
	return event->len > 0 ? send_cell_delta(run, NULL) : 0;
}

static void take_pictures(struct thread_run *run, const struct json_value *record)
{
	const struct json_value *results = json_read_member(record, "results");
	char id[NAME_SIZE];
	struct err full;

	for (size_t i = 0; i < json_read_count(results); i++)
		if (outputs_has_picture(json_read_at(results, i)) &&
		    thread_picture_id(run->run.session, json_get_text(record, "id"), i, id,
				      sizeof(id)) &&
		    buf_addf(&run->pictures, &full, "%s\n", id) == 0)
			run->picture_count++;
}

static int end_cell(struct thread_run *run, const struct json_value *record)
{
	cleanup_buf struct buf details = BUF_INIT(OPENAI_OUT_MAX);

	cites_add(&run->cites, record);
	take_pictures(run, record);
	if (write_calls(run, record, &details) < 0)
		return give_up(run);
	if (record != NULL && send_cell_delta(run, record) < 0)
		return -1;
	return send_step(run, "tool_calls", "completed", &details, completes);
}

/* ---- the end -------------------------------------------------------------------------------- */

static const struct {
	const char *stop, *status, *event, *reason;
} stops[] = {
	{ "answer", "completed", "thread.run.completed", NULL },
	{ "max_steps", "completed", "thread.run.completed", NULL },
	{ "stuck", "completed", "thread.run.completed", NULL },
	{ "tool_calls", "requires_action", "thread.run.requires_action", NULL },
	{ "interrupted", "cancelled", "thread.run.cancelled", NULL },
	{ "length", "incomplete", "thread.run.incomplete", "max_completion_tokens" },
	{ "max_tokens", "incomplete", "thread.run.incomplete", "max_completion_tokens" },
	{ "budget", "incomplete", "thread.run.incomplete", "max_completion_tokens" },
	{ "max_time", "incomplete", "thread.run.incomplete", "max_completion_tokens" },
	{ "", "failed", "thread.run.failed", NULL },
};

static size_t stop_of(const struct json_value *answer)
{
	const char *stop = json_get_text(answer, "stop");
	size_t i = 0;

	while (i < ARRAY_LEN(stops) - 1 && (stop == NULL || strcmp(stops[i].stop, stop) != 0))
		i++;
	return i;
}

/* For events that are lost: takes what the answer contains of them. */
static int take_answer(struct thread_run *run, const struct json_value *answer)
{
	const struct json_value *steps = json_read_member(answer, "steps");
	size_t len;
	const char *text;

	if (json_get_text(answer, "session") != NULL)
		(void)snprintf(run->run.session, sizeof(run->run.session), "%s",
			       json_get_text(answer, "session"));
	for (size_t i = 0; i < json_read_count(steps); i++) {
		const struct json_value *step = json_read_at(steps, i);
		const struct json_value *record = json_read_member(step, "record");
		struct run_event event = { .kind = RUN_CELL };

		event.text = json_read_text(json_read_member(step, "code"), &event.len);
		if (event.text != NULL &&
		    (begin_cell(run, &event) < 0 ||
		     end_cell(run, json_read_kind(record) == JSON_KIND_OBJECT ? record : NULL) < 0))
			return -1;
	}
	text = json_read_text(json_read_member(answer, "answer"), &len);
	return text != NULL && len > 0 ? add_text(run, text, len) : 0;
}

/* The calls of the application's tools are a step that waits for their results. */
static int begin_functions(struct thread_run *run)
{
	cleanup_buf struct buf details = BUF_INIT(OPENAI_OUT_MAX), step = BUF_INIT(OPENAI_OUT_MAX);
	struct json_value *shown = NULL;
	const struct json_value *calls;
	struct json_writer json;
	struct err err;
	int rc = -1;

	if (json_read_parse(buf_text(&run->shown), run->shown.len, OPENAI_OUT_MAX, &shown, &err) <
	    0)
		return give_up(run);
	calls = json_read_member(
		json_read_member(json_read_member(shown, "required_action"), "submit_tool_outputs"),
		"tool_calls");
	next_ids(run);
	json_write_init(&json, &details);
	thread_write_functions(&json, calls, NULL);
	if (json_write_finish(&json, &err) == 0) {
		json_write_init(&json, &step);
		thread_write_step(&json, run, "tool_calls", "in_progress", &details);
		if (json_write_finish(&json, &err) == 0)
			rc = object_store(run->request, &thread_step_kind, run->step, run->id,
					  &step, NULL);
	}
	json_read_free(shown);
	if (rc < 0)
		return give_up(run);
	return thread_send(run, begins[0], &step) < 0 || thread_send(run, begins[1], &step) < 0 ? -1
											       : 0;
}

static int store_run(struct thread_run *run)
{
	char more[NAME_SIZE + 128];

	(void)snprintf(more, sizeof(more), ",\"part\":\"%s\",\"count\":%llu,\"step\":\"%s\"",
		       run->part, (unsigned long long)run->count, run->step);
	return object_store(run->request, &thread_run_kind, run->id, run->thread, &run->shown,
			    more);
}

static int finish(struct thread_run *run, const struct json_value *answer, const char *failure)
{
	const size_t i = failure != NULL ? ARRAY_LEN(stops) - 1 : stop_of(answer);
	const char *status = stops[i].status, *why = failure;
	const uint64_t now = clock_wall_ms() / 1000;
	struct thread_state state = {
		.status = status,
		.reason = stops[i].reason,
		.usage = json_read_member(answer, "usage"),
		.completed_s = strcmp(status, "completed") == 0 ? now : 0,
		.cancelled_s = strcmp(status, "cancelled") == 0 ? now : 0,
		.failed_s = strcmp(status, "failed") == 0 ? now : 0,
		.calls = json_read_member(answer, "calls"),
	};
	const bool waits = strcmp(status, "requires_action") == 0;
	struct json_writer json;
	struct err err;

	upstream_cancel_when_gone(run->request, 0);
	if (run->run.is_partial && !run->is_open && run->code.len == 0 &&
	    take_answer(run, answer) < 0)
		return -1;
	if (run->pictures.len > 0 && !run->is_open && open_message(run) < 0)
		return -1;
	if (close_message(run) < 0)
		return -1;
	if (state.failed_s > 0 && why == NULL)
		why = json_get_text(answer, "message");
	state.why = state.failed_s > 0 ? (why != NULL ? why : "the model gave no answer") : NULL;
	json_write_init(&json, &run->shown);
	thread_write_run(&json, run->object, &state);
	if (json_write_finish(&json, &err) < 0)
		return give_up(run);
	if (waits && begin_functions(run) < 0)
		return -1;
	/* Store it before the client reads of it: the client may continue at once. */
	(void)store_run(run);
	return thread_send(run, stops[i].event, &run->shown);
}

int thread_follow(struct thread_run *run)
{
	struct run_event event;
	int rc = 0;

	run_follow(&run->run, run->request, run->part);
	while (rc == 0 && run_next(&run->run, &event) != RUN_GONE) {
		switch (event.kind) {
		case RUN_QUIET:
			rc = run->is_stream ? sse_beat(run->request) : 0;
			break;
		case RUN_TEXT:
			rc = event.len > 0 ? add_text(run, event.text, event.len) : 0;
			break;
		case RUN_TURN:
		case RUN_DISCARD:
			rc = close_message(run);
			break;
		case RUN_CELL:
			rc = begin_cell(run, &event);
			break;
		case RUN_RECORD:
			rc = end_cell(run, event.json);
			break;
		case RUN_DONE:
			return finish(run, event.json, NULL);
		case RUN_FAILED:
			return finish(run, NULL,
				      event.failure->message != NULL ? event.failure->message
								     : "it could not be begun");
		case RUN_GONE:
		case RUN_THOUGHT:
		case RUN_SEALED:
		case RUN_TOOL: /* the run has no tools for code */
		case RUN_CODE:
			break;
		}
	}
	return -1;
}
