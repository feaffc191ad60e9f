/*
 * write.c - writes runs of threads, their steps and messages as JSON. Only side effect: reads the
 * clock.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    records of hostile programs, text of a model.
 * Never:    waits.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/openai/assistants/threads.h"

static void write_time(struct json_writer *json, const char *key, uint64_t at_s)
{
	if (at_s > 0)
		json_write_member_uint(json, key, at_s);
	else
		json_write_member_string(json, key, NULL);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void write_functions_called(struct json_writer *json, const struct json_value *calls)
{
	json_write_key(json, "required_action");
	if (json_read_count(calls) == 0) {
		json_write_null(json);
		return;
	}
	json_write_object_begin(json);
	json_write_member_string(json, "type", "submit_tool_outputs");
	json_write_key(json, "submit_tool_outputs");
	json_write_object_begin(json);
	json_write_key(json, "tool_calls");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(calls); i++) {
		const struct json_value *call = json_read_at(calls, i);
		const struct json_value *given = json_read_member(call, "arguments");
		cleanup_buf struct buf arguments = BUF_INIT(OPENAI_OUT_MAX);
		size_t len;
		const char *text = json_read_text(given, &len);
		struct err full;

		(void)(text != NULL ? buf_add(&arguments, text, len, &full)
				    : json_read_dump(given, &arguments, &full));
		json_write_object_begin(json);
		json_write_member_string(json, "id", json_get_text(call, "id"));
		json_write_member_string(json, "type", "function");
		json_write_key(json, "function");
		json_write_object_begin(json);
		json_write_member_string(json, "name", json_get_text(call, "name"));
		json_write_member_text(json, "arguments", buf_text(&arguments), arguments.len);
		json_write_object_end(json);
		json_write_object_end(json);
	}
	json_write_array_end(json);
	json_write_object_end(json);
	json_write_object_end(json);
}

static void write_usage(struct json_writer *json, const struct json_value *usage)
{
	const uint64_t in = json_get_count(usage, "input_tokens"),
		       out = json_get_count(usage, "output_tokens");

	json_write_key(json, "usage");
	if (usage == NULL) {
		json_write_null(json);
		return;
	}
	json_write_object_begin(json);
	json_write_member_uint(json, "prompt_tokens", in);
	json_write_member_uint(json, "completion_tokens", out);
	json_write_member_uint(json, "total_tokens", in + out);
	json_write_object_end(json);
}

static void write_why(struct json_writer *json, const struct thread_state *state)
{
	json_write_key(json, "last_error");
	if (state->why != NULL) {
		json_write_object_begin(json);
		json_write_member_string(json, "code", "server_error");
		json_write_member_string(json, "message", state->why);
		json_write_object_end(json);
	} else {
		json_write_null(json);
	}
	json_write_key(json, "incomplete_details");
	if (state->reason != NULL) {
		json_write_object_begin(json);
		json_write_member_string(json, "reason", state->reason);
		json_write_object_end(json);
	} else {
		json_write_null(json);
	}
}

static bool is_state(const char *key)
{
	static const char *const keys[] = { "status",	    "started_at",   "completed_at",
					    "cancelled_at", "failed_at",    "required_action",
					    "usage",	    "last_error",   "incomplete_details",
					    "expires_at" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

void thread_write_run(struct json_writer *json, const struct json_value *object,
		      const struct thread_state *state)
{
	const struct json_value *value;
	const char *key;
	int64_t started = (int64_t)state->started_s;

	if (started == 0)
		(void)json_read_int(json_read_member(object, "started_at"), &started);
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(object, i, &key, &value); i++)
		if (!is_state(key))
			object_write_member(json, key, value);
	json_write_member_string(json, "status", state->status);
	write_time(json, "started_at", (uint64_t)started);
	write_time(json, "completed_at", state->completed_s);
	write_time(json, "cancelled_at", state->cancelled_s);
	write_time(json, "failed_at", state->failed_s);
	json_write_member_string(json, "expires_at", NULL);
	write_functions_called(json, state->calls);
	write_usage(json, state->usage);
	write_why(json, state);
	json_write_object_end(json);
}

/* ---- steps ---------------------------------------------------------------------------------- */

void thread_write_step(struct json_writer *json, const struct thread_run *run, const char *type,
		       const char *status, const struct buf *details)
{
	const bool is_whole = strcmp(status, "completed") == 0;

	json_write_object_begin(json);
	json_write_member_string(json, "id", run->step);
	json_write_member_string(json, "object", "thread.run.step");
	json_write_member_uint(json, "created_at", run->begun_s);
	json_write_member_string(json, "run_id", run->id);
	json_write_member_string(json, "assistant_id", run->assistant);
	json_write_member_string(json, "thread_id", run->thread);
	json_write_member_string(json, "type", type);
	json_write_member_string(json, "status", status);
	json_write_member_string(json, "cancelled_at", NULL);
	write_time(json, "completed_at", is_whole ? clock_wall_ms() / 1000 : 0);
	json_write_member_string(json, "expired_at", NULL);
	json_write_member_string(json, "failed_at", NULL);
	json_write_member_string(json, "last_error", NULL);
	json_write_key(json, "step_details");
	json_write_raw(json, buf_text(details), details->len);
	json_write_member_string(json, "usage", NULL);
	json_write_key(json, "metadata");
	json_write_raw(json, "{}", 2);
	json_write_object_end(json);
}

bool thread_picture_id(const char *session, const char *execution, size_t index, char *ret,
		       size_t size)
{
	char where[NAME_SIZE], what[NAME_SIZE];
	int len;

	if (execution == NULL || !name_swap(session, "se_", "", where, sizeof(where)) ||
	    !name_swap(execution, "ex_", "", what, sizeof(what)))
		return false;
	len = snprintf(ret, size, OPENAI_PICTURE "%.40s_%.40s_%zu", where, what, index);
	return len > 0 && (size_t)len < size;
}

static void write_picture(struct json_writer *json, const char *id)
{
	json_write_key(json, "image");
	json_write_object_begin(json);
	json_write_member_string(json, "file_id", id);
	json_write_object_end(json);
}

/* Writes a cell's outputs; in a delta each has an index. */
static void write_outputs(struct json_writer *json, const struct thread_run *run,
			  const struct json_value *record, bool is_delta)
{
	const struct json_value *results = json_read_member(record, "results");
	const char *execution = json_get_text(record, "id");
	cleanup_buf struct buf logs = BUF_INIT(OPENAI_OUT_MAX);
	char id[NAME_SIZE];
	unsigned index = 0;

	outputs_logs(record, &logs);
	json_write_key(json, "outputs");
	json_write_array_begin(json);
	if (logs.len > 0) {
		json_write_object_begin(json);
		if (is_delta)
			json_write_member_uint(json, "index", index++);
		json_write_member_string(json, "type", "logs");
		json_write_member_text(json, "logs", logs.data, logs.len);
		json_write_object_end(json);
	}
	for (size_t i = 0; i < json_read_count(results); i++) {
		if (!outputs_has_picture(json_read_at(results, i)) ||
		    !thread_picture_id(run->run.session, execution, i, id, sizeof(id)))
			continue;
		json_write_object_begin(json);
		if (is_delta)
			json_write_member_uint(json, "index", index++);
		json_write_member_string(json, "type", "image");
		write_picture(json, id);
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

void thread_write_cell(struct json_writer *json, const struct thread_run *run,
		       const struct json_value *record)
{
	json_write_object_begin(json);
	json_write_member_string(json, "id", run->call);
	json_write_member_string(json, "type", "code_interpreter");
	json_write_key(json, "code_interpreter");
	json_write_object_begin(json);
	json_write_member_text(json, "input", buf_text(&run->code), run->code.len);
	write_outputs(json, run, record, false);
	json_write_object_end(json);
	json_write_object_end(json);
}

void thread_write_cell_delta(struct json_writer *json, const struct thread_run *run,
			     const struct json_value *record)
{
	const bool is_first = record == NULL && run->code.len == 0;

	json_write_object_begin(json);
	json_write_member_uint(json, "index", 0);
	if (is_first)
		json_write_member_string(json, "id", run->call);
	json_write_member_string(json, "type", "code_interpreter");
	json_write_key(json, "code_interpreter");
	json_write_object_begin(json);
	if (record != NULL)
		write_outputs(json, run, record, true);
	else
		json_write_member_text(json, "input", buf_text(&run->code), run->code.len);
	if (is_first) {
		json_write_key(json, "outputs");
		json_write_raw(json, "[]", 2);
	}
	json_write_object_end(json);
	json_write_object_end(json);
}

static const char *output_of(const struct json_value *outputs, const char *id)
{
	for (size_t i = 0; id != NULL && i < json_read_count(outputs); i++) {
		const struct json_value *output = json_read_at(outputs, i);
		const char *of = json_get_text(output, "tool_call_id");

		if (of != NULL && strcmp(of, id) == 0)
			return json_get_text(output, "output");
	}
	return NULL;
}

void thread_write_functions(struct json_writer *json, const struct json_value *calls,
			    const struct json_value *outputs)
{
	json_write_object_begin(json);
	json_write_member_string(json, "type", "tool_calls");
	json_write_key(json, "tool_calls");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(calls); i++) {
		const struct json_value *call = json_read_at(calls, i);
		const struct json_value *function = json_read_member(call, "function");

		json_write_object_begin(json);
		json_write_member_string(json, "id", json_get_text(call, "id"));
		json_write_member_string(json, "type", "function");
		json_write_key(json, "function");
		json_write_object_begin(json);
		json_write_member_string(json, "name", json_get_text(function, "name"));
		json_write_member_string(json, "arguments", json_get_text(function, "arguments"));
		json_write_member_string(json, "output",
					 output_of(outputs, json_get_text(call, "id")));
		json_write_object_end(json);
		json_write_object_end(json);
	}
	json_write_array_end(json);
	json_write_object_end(json);
}

/* ---- messages ------------------------------------------------------------------------------- */

void thread_write_annotations(struct json_writer *json, const struct thread_run *run,
			      bool is_delta)
{
	const char *text = buf_text(&run->text), *at = text;
	struct cite cite;
	char id[NAME_SIZE];
	unsigned index = 0;

	json_write_key(json, "annotations");
	json_write_array_begin(json);
	while (cites_next(&run->cites, text, &at, &cite)) {
		if (!name_of_artifact(OPENAI_FILE_OF, cite.file->artifact, cite.file->path, id,
				      sizeof(id)))
			continue;
		json_write_object_begin(json);
		if (is_delta)
			json_write_member_uint(json, "index", index++);
		json_write_member_string(json, "type", "file_path");
		json_write_member_text(json, "text", cite.text, cite.len);
		json_write_member_uint(json, "start_index", cite.start);
		json_write_member_uint(json, "end_index", cite.end);
		json_write_key(json, "file_path");
		json_write_object_begin(json);
		json_write_member_string(json, "file_id", id);
		json_write_object_end(json);
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

static void write_pictures(struct json_writer *json, const struct thread_run *run)
{
	for (const char *at = buf_text(&run->pictures); *at != '\0';) {
		const size_t len = strcspn(at, "\n");
		char id[NAME_SIZE];

		(void)snprintf(id, sizeof(id), "%.*s", (int)len, at);
		json_write_object_begin(json);
		json_write_member_string(json, "type", "image_file");
		json_write_key(json, "image_file");
		json_write_object_begin(json);
		json_write_member_string(json, "file_id", id);
		json_write_member_string(json, "detail", "auto");
		json_write_object_end(json);
		json_write_object_end(json);
		at += len + (at[len] == '\n');
	}
}

static void write_content(struct json_writer *json, const struct thread_run *run)
{
	write_pictures(json, run);
	if (run->text.len == 0)
		return;
	json_write_object_begin(json);
	json_write_member_string(json, "type", "text");
	json_write_key(json, "text");
	json_write_object_begin(json);
	json_write_member_text(json, "value", run->text.data, run->text.len);
	thread_write_annotations(json, run, false);
	json_write_object_end(json);
	json_write_object_end(json);
}

void thread_write_message(struct json_writer *json, const struct thread_run *run, bool is_whole)
{
	json_write_object_begin(json);
	json_write_member_string(json, "id", run->message);
	json_write_member_string(json, "object", "thread.message");
	json_write_member_uint(json, "created_at", run->begun_s);
	json_write_member_string(json, "thread_id", run->thread);
	json_write_member_string(json, "status", is_whole ? "completed" : "in_progress");
	json_write_member_string(json, "incomplete_details", NULL);
	write_time(json, "completed_at", is_whole ? clock_wall_ms() / 1000 : 0);
	json_write_member_string(json, "incomplete_at", NULL);
	json_write_member_string(json, "role", "assistant");
	json_write_key(json, "content");
	json_write_array_begin(json);
	if (is_whole)
		write_content(json, run);
	json_write_array_end(json);
	json_write_member_string(json, "assistant_id", run->assistant);
	json_write_member_string(json, "run_id", run->id);
	json_write_key(json, "attachments");
	json_write_raw(json, "[]", 2);
	json_write_key(json, "metadata");
	json_write_raw(json, "{}", 2);
	json_write_object_end(json);
}
