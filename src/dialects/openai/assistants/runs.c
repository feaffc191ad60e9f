/*
 * runs.c - runs of threads: start, show, list and cancel them, and take the application's results.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies and ids of any client.
 * Never:    starts a run in a thread that has an active run.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/response.h"
#include "dialects/openai/assistants/threads.h"

#define POLL_MS 200u /* polling interval for the SDK */

static bool goes_on(const struct json_value *object)
{
	const char *status = json_get_text(object, "status");

	return status != NULL &&
	       (strcmp(status, "queued") == 0 || strcmp(status, "in_progress") == 0 ||
		strcmp(status, "cancelling") == 0);
}

static bool waits(const struct json_value *object)
{
	const char *status = json_get_text(object, "status");

	return status != NULL && strcmp(status, "requires_action") == 0;
}

static void answer_run(struct request *request, const struct buf *run)
{
	char headers[200];

	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\nopenai-poll-after-ms: %u\r\n",
		       request_id(request), POLL_MS);
	answer_text(request, 200, OPENAI_JSON, run, headers);
}

static void answer_value(struct request *request, const struct json_value *value)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct err err;

	if (json_read_dump(json_read_member(value, "object"), &body, &err) == 0)
		answer_run(request, &body);
	else
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static bool has_ended(struct request *request, const char *part)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_run_show_out out;

	/* A run that no longer exists has ended, too. */
	return call_make(request, API_RUN_SHOW, &(struct api_run_show_in){ .id = part }, &out,
			 &call) != CALL_OK ||
	       out.run == NULL || out.run->status == API_RUN_STATUS_ENDED;
}

/* For a run stored as running: 1: it still runs; 0: it has ended, and that is now stored. */
static int settle(struct request *request, const struct json_value *value)
{
	struct thread_run run = { 0 };
	struct err err;
	int rc;

	if (thread_run_open(&run, request, value, &err) < 0) {
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
		return -1;
	}
	rc = !has_ended(request, run.part) ? 1 : thread_follow(&run);
	thread_run_done(&run);
	return rc;
}

/* Finds the run in its current state. */
static int find(struct request *request, const char *thread, const char *id,
		struct json_value **ret)
{
	const char *in;
	int rc;

	if (object_find(request, &thread_run_kind, id, ret) < 0)
		return -1;
	in = json_get_text(json_read_member(*ret, "object"), "thread_id");
	if (in == NULL || strcmp(in, thread) != 0) {
		answer_refuse_simple(request, 404, "not_found",
				     "there is no such run in the thread", NULL);
		return -1;
	}
	if (!goes_on(json_read_member(*ret, "object")))
		return 0;
	rc = settle(request, *ret);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	json_read_free(*ret);
	*ret = NULL;
	return object_find(request, &thread_run_kind, id, ret);
}

int thread_settle(struct request *request, const struct json_value *thread, char ret[NAME_SIZE])
{
	const char *id = json_get_text(thread, "active");
	struct json_value *value = NULL;
	int rc = 0;

	ret[0] = '\0';
	if (id == NULL)
		return 0;
	(void)snprintf(ret, NAME_SIZE, "%s", id);
	rc = object_look(request, &thread_run_kind, id, &value);
	if (rc == 1 && goes_on(json_read_member(value, "object")))
		rc = settle(request, value);
	else if (rc == 1)
		rc = waits(json_read_member(value, "object")) ? 1 : 0;
	json_read_free(value);
	return rc;
}

/* ---- starting ------------------------------------------------------------------------------- */

static void write_truncation(const struct thread_order *order, struct json_writer *json)
{
	uint64_t last;

	(void)thread_truncation(order, &last);
	json_write_key(json, "truncation_strategy");
	json_write_object_begin(json);
	json_write_member_string(json, "type", last > 0 ? "last_messages" : "auto");
	json_write_key(json, "last_messages");
	if (last > 0)
		json_write_uint(json, last);
	else
		json_write_null(json);
	json_write_object_end(json);
}

static int write_begun(const struct thread_order *order, const char *id, struct buf *ret,
		       struct err *err)
{
	static const char *const keys[] = { "model",
					    "instructions",
					    "tools",
					    "temperature",
					    "top_p",
					    "metadata",
					    "tool_choice",
					    "response_format",
					    "max_prompt_tokens",
					    "max_completion_tokens" };
	bool is_parallel = true;
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", "thread.run");
	json_write_member_uint(&json, "created_at", clock_wall_ms() / 1000);
	json_write_member_string(&json, "thread_id", order->id);
	json_write_member_string(&json, "assistant_id", order->assistant_id);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const bool is_own = strcmp(keys[i], "metadata") == 0;
		const struct json_value *value = is_own ? json_read_member(order->body, keys[i])
							: thread_option(order, keys[i]);

		json_write_key(&json, keys[i]);
		if (json_read_kind(value) != JSON_KIND_NULL)
			object_write_value(&json, value);
		else if (is_own)
			json_write_raw(&json, "{}", 2);
		else if (strcmp(keys[i], "instructions") == 0)
			json_write_string(&json, "");
		else if (strcmp(keys[i], "tool_choice") == 0)
			json_write_string(&json, "auto");
		else
			json_write_null(&json);
	}
	(void)json_read_bool(thread_option(order, "parallel_tool_calls"), &is_parallel);
	json_write_member_bool(&json, "parallel_tool_calls", is_parallel);
	write_truncation(order, &json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Writes an object without a status, with `status` added. */
static int write_as(const struct json_value *object, const char *status, uint64_t started_s,
		    struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	thread_write_run(&json, object,
			 &(struct thread_state){ .status = status, .started_s = started_s });
	return json_write_finish(&json, err);
}

static int store_going(struct request *request, const char *id, const char *thread,
		       const struct buf *shown, const char *part, uint64_t count)
{
	char more[NAME_SIZE + 64], patch[NAME_SIZE + 32];

	(void)snprintf(more, sizeof(more), ",\"part\":\"%s\",\"count\":%llu", part,
		       (unsigned long long)count);
	(void)snprintf(patch, sizeof(patch), "{\"active\":\"%s\"}", id);
	if (object_put(request, &thread_run_kind, id, thread, shown, more) < 0)
		return -1;
	(void)object_remember(request, &thread_kind, thread, patch);
	return 0;
}

/* Streams it: first the `before` events, then everything that follows. */
static void stream(struct request *request, const char *id, const struct buf *created,
		   const struct json_value *thread, const struct buf *step)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *value = NULL;
	struct thread_run run = { 0 };
	char headers[160];
	struct err err;

	if (object_find(request, &thread_run_kind, id, &value) < 0)
		return;
	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\n", request_id(request));
	if (thread_run_open(&run, request, value, &err) < 0 ||
	    (thread != NULL && json_read_dump(thread, &shown, &err) < 0)) {
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
		json_read_free(value);
		return;
	}
	run.is_stream = true;
	if (sse_begin(request, headers) == 0 &&
	    (thread == NULL || thread_send(&run, "thread.created", &shown) == 0) &&
	    (step == NULL || thread_send(&run, "thread.run.step.completed", step) == 0) &&
	    (step != NULL || thread_send(&run, "thread.run.created", created) == 0) &&
	    thread_send(&run, "thread.run.queued", created) == 0) {
		buf_clear(&shown);
		if (json_read_dump(run.object, &shown, &err) == 0 &&
		    thread_send(&run, "thread.run.in_progress", &shown) == 0 &&
		    thread_follow(&run) == 0 && thread_send_end(&run) == 0)
			answer_end(request);
	}
	thread_run_done(&run);
	json_read_free(value);
}

static void answer_begun(struct request *request, const struct thread_order *order, const char *id,
			 const struct json_value *created)
{
	cleanup_buf struct buf begun = BUF_INIT(OBJECT_MAX), queued = BUF_INIT(OBJECT_MAX);
	cleanup_buf struct buf going = BUF_INIT(OBJECT_MAX);
	struct json_value *object = NULL;
	bool is_stream = false;
	struct err err;

	(void)json_read_bool(json_read_member(order->body, "stream"), &is_stream);
	if (write_begun(order, id, &begun, &err) < 0 ||
	    json_read_parse(buf_text(&begun), begun.len, OBJECT_MAX, &object, &err) < 0 ||
	    write_as(object, "queued", 0, &queued, &err) < 0 ||
	    write_as(object, "in_progress", clock_wall_ms() / 1000, &going, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (store_going(request, id, order->id, &going, id, 0) == 0) {
		if (is_stream)
			stream(request, id, &queued, created, NULL);
		else
			answer_run(request, &queued);
	}
	json_read_free(object);
}

static int add_messages(struct request *request, const struct thread_order *order)
{
	const struct json_value *messages = json_read_member(order->body, "additional_messages");

	for (size_t i = 0; i < json_read_count(messages); i++) {
		cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);

		if (thread_message_add(request, order->id, json_read_at(messages, i), &shown) < 0)
			return -1;
	}
	return 0;
}

void thread_runs_create(struct request *request, const char *thread, const struct json_value *body,
			const struct json_value *created)
{
	const char *assistant_id = json_get_text(body, "assistant_id");
	struct json_value *document = NULL, *assistant = NULL;
	struct thread_order order = { .body = body, .id = thread, .assistant_id = assistant_id };
	char going[NAME_SIZE], id[ID_SIZE], message[NAME_SIZE * 2 + 64];
	struct err err;
	int now = -1;

	if (assistant_id == NULL)
		answer_refuse_simple(request, 400, "invalid", "assistant_id: it is missing", NULL);
	else if (assistant_check_tools(body, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (object_find(request, &thread_kind, thread, &document) == 0 &&
		 object_find(request, &assistant_kind, assistant_id, &assistant) == 0)
		now = thread_settle(request, document, going);
	if (now == 1) {
		(void)snprintf(message, sizeof(message), "Thread %s already has an active run %s.",
			       thread, going);
		answer_refuse_simple(request, 400, "invalid", message, NULL);
	}
	order.document = document;
	order.thread = json_read_member(document, "object");
	order.assistant = json_read_member(assistant, "object");
	if (now == 0 && add_messages(request, &order) == 0 &&
	    thread_begin(request, &order, id) == 0)
		answer_begun(request, &order, id, created);
	json_read_free(document);
	json_read_free(assistant);
}

/* ---- the application's results -------------------------------------------------------------- */

#define RESULTS_MAX 16u

static const struct json_value *calls_of(const struct json_value *object)
{
	return json_read_member(json_read_member(json_read_member(object, "required_action"),
						 "submit_tool_outputs"),
				"tool_calls");
}

static int take_results(const struct json_value *outputs, struct api_run_result *results,
			size_t *ret_count, struct err *err)
{
	*ret_count = json_read_count(outputs);
	if (*ret_count == 0 || *ret_count > RESULTS_MAX)
		return err_set(err, ERR_INVALID, "tool_outputs: from 1 to %u", RESULTS_MAX);
	for (size_t i = 0; i < *ret_count; i++) {
		const struct json_value *output = json_read_at(outputs, i);
		size_t len = 0;
		const char *text = json_read_text(json_read_member(output, "output"), &len);

		results[i] = (struct api_run_result){ .id = json_get_text(output, "tool_call_id") };
		if (results[i].id == NULL)
			return err_set(err, ERR_INVALID, "tool_outputs: tool_call_id is missing");
		results[i].text = (struct api_bytes){ text != NULL ? text : "", len };
	}
	return 0;
}

static bool are_all_there(const struct json_value *calls, const struct api_run_result *results,
			  size_t count)
{
	for (size_t i = 0; i < json_read_count(calls); i++) {
		const char *id = json_get_text(json_read_at(calls, i), "id");
		bool found = false;

		for (size_t k = 0; id != NULL && k < count; k++)
			found |= strcmp(results[k].id, id) == 0;
		if (!found)
			return false;
	}
	return json_read_count(calls) == count;
}

/* Ends the step that waited for the results. */
static int end_step(struct request *request, const struct json_value *value,
		    const struct json_value *outputs, struct buf *ret)
{
	cleanup_buf struct buf details = BUF_INIT(OPENAI_OUT_MAX);
	struct thread_run run = { 0 };
	struct json_writer json;
	struct err err;
	int rc;

	if (thread_run_open(&run, request, value, &err) < 0)
		return -1;
	run.begun_s = clock_wall_ms() / 1000;
	(void)snprintf(run.step, sizeof(run.step), "%s",
		       json_get_text(value, "step") != NULL ? json_get_text(value, "step") : "-");
	json_write_init(&json, &details);
	thread_write_functions(&json, calls_of(run.object), outputs);
	rc = json_write_finish(&json, &err);
	json_write_init(&json, ret);
	if (rc == 0) {
		thread_write_step(&json, &run, "tool_calls", "completed", &details);
		rc = json_write_finish(&json, &err);
	}
	if (rc == 0)
		rc = object_store(request, &thread_step_kind, run.step, run.id, ret, NULL);
	thread_run_done(&run);
	return rc;
}

static void go_on(struct request *request, const struct json_value *value,
		  const struct json_value *body, struct api_run_create_in *in)
{
	const struct json_value *object = json_read_member(value, "object");
	const char *id = json_get_text(object, "id"), *thread = json_get_text(object, "thread_id");
	cleanup_buf struct buf step = BUF_INIT(OPENAI_OUT_MAX), queued = BUF_INIT(OBJECT_MAX);
	cleanup_buf struct buf going = BUF_INIT(OBJECT_MAX);
	struct run run = RUN_INIT;
	bool is_stream = false;
	int64_t count = 0;
	struct err err;

	(void)json_read_int(json_read_member(value, "count"), &count);
	(void)json_read_bool(json_read_member(body, "stream"), &is_stream);
	if (write_as(object, "queued", 0, &queued, &err) < 0 ||
	    write_as(object, "in_progress", 0, &going, &err) < 0) {
		answer_refuse_invalid(request, &err);
	} else if (run_begin(&run, request, in) == 0) {
		(void)end_step(request, value, json_read_member(body, "tool_outputs"), &step);
		if (store_going(request, id, thread, &going, run.id, (uint64_t)count) == 0) {
			if (is_stream)
				stream(request, id, &queued, NULL, &step);
			else
				answer_run(request, &queued);
		}
	}
	run_done(&run);
}

static void submit(struct request *request, const struct json_value *value)
{
	const struct json_value *object = json_read_member(value, "object");
	struct api_run_result results[RESULTS_MAX];
	struct json_value *body = NULL;
	struct api_run_create_in in = { .continues = json_get_text(value, "part"),
					.has_keep_conversation = true,
					.keep_conversation = true,
					.has_background = true,
					.background = true };
	size_t count;
	struct err err;

	if (object_body(request, &body) < 0)
		return;
	if (!waits(object))
		answer_refuse_simple(request, 400, "invalid",
				     "this run does not wait for tool outputs", NULL);
	else if (take_results(json_read_member(body, "tool_outputs"), results, &count, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (!are_all_there(calls_of(object), results, count))
		answer_refuse_simple(request, 400, "invalid", "tool_outputs: one for each call of "
				     "required_action is needed", NULL);
	else {
		in.results = (struct api_list){ results, count };
		go_on(request, value, body, &in);
	}
	json_read_free(body);
}

/* ---- cancelling ----------------------------------------------------------------------------- */

/* Cancels a run that waits for the application: nothing has to be stopped. */
static void end_waiting(struct request *request, const struct json_value *value)
{
	const struct json_value *object = json_read_member(value, "object");
	const char *part = json_get_text(value, "part");
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	char more[NAME_SIZE + 32];
	struct json_writer json;
	struct err err;

	(void)snprintf(more, sizeof(more), ",\"part\":\"%s\"", part != NULL ? part : "-");
	json_write_init(&json, &shown);
	thread_write_run(&json, object,
			 &(struct thread_state){ .status = "cancelled",
						 .cancelled_s = clock_wall_ms() / 1000 });
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (object_put(request, &thread_run_kind, json_get_text(object, "id"),
			    json_get_text(object, "thread_id"), &shown, more) == 0)
		answer_run(request, &shown);
}

static void cancel(struct request *request, const char *thread, const struct json_value *value)
{
	const struct json_value *object = json_read_member(value, "object");
	const char *part = json_get_text(value, "part"), *id = json_get_text(object, "id");
	const char *status = json_get_text(object, "status");
	struct json_value *ended = NULL;
	char message[120];

	if (waits(object)) {
		end_waiting(request, value);
	} else if (!goes_on(object) || part == NULL || id == NULL) {
		(void)snprintf(message, sizeof(message), "Cannot cancel run with status '%.40s'.",
			       status != NULL ? status : "");
		answer_refuse_simple(request, 400, "invalid", message, NULL);
	} else if (replay_stop(request, part) == 0 && find(request, thread, id, &ended) == 0) {
		answer_value(request, ended);
	}
	json_read_free(ended);
}

/* ---- routes --------------------------------------------------------------------------------- */

static void change(struct request *request, const struct json_value *value)
{
	struct json_value *body = NULL;
	cleanup_buf struct buf patch = BUF_INIT(OBJECT_MAX);
	const char *id = json_get_text(json_read_member(value, "object"), "id");
	struct json_writer json;
	struct err err;

	if (object_body(request, &body) < 0)
		return;
	json_write_init(&json, &patch);
	json_write_object_begin(&json);
	json_write_key(&json, "object");
	json_write_object_begin(&json);
	object_write_member(&json, "metadata", json_read_member(body, "metadata"));
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (id != NULL &&
		 object_remember(request, &thread_run_kind, id, buf_text(&patch)) == 0)
		object_show(request, &thread_run_kind, id);
	else
		answer_refuse_simple(request, 500, "internal", "it could not be changed", NULL);
	json_read_free(body);
}

static void handle_one(struct request *request, const char *thread, const char *id,
		       const char *behind)
{
	const enum http_verb verb = request_head(request)->verb;
	struct json_value *value = NULL;

	if (find(request, thread, id, &value) < 0) {
		json_read_free(value);
		return;
	}
	if (behind[0] == '\0' && verb == HTTP_VERB_GET)
		answer_value(request, value);
	else if (behind[0] == '\0' && verb == HTTP_VERB_POST)
		change(request, value);
	else if (strcmp(behind, "/cancel") == 0 && verb == HTTP_VERB_POST)
		cancel(request, thread, value);
	else if (strcmp(behind, "/submit_tool_outputs") == 0 && verb == HTTP_VERB_POST)
		submit(request, value);
	else if (strcmp(behind, "/steps") == 0 && verb == HTTP_VERB_GET)
		object_list(request, &thread_step_kind, id, NULL, NULL);
	else if (strncmp(behind, "/steps/", 7) == 0 && verb == HTTP_VERB_GET)
		object_show(request, &thread_step_kind, behind + 7);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
	json_read_free(value);
}

void thread_runs_handle(struct request *request, const char *thread, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	struct json_value *body = NULL;
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, len > 0 ? rest + 1 : "");
	if (rest[0] == '\0' && verb == HTTP_VERB_POST) {
		if (object_body(request, &body) == 0)
			thread_runs_create(request, thread, body, NULL);
	} else if (rest[0] == '\0' && verb == HTTP_VERB_GET) {
		object_list(request, &thread_run_kind, thread, NULL, NULL);
	} else if (len > 0) {
		handle_one(request, thread, id, rest + 1 + len);
	} else {
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
	}
	json_read_free(body);
}
