/*
 * run.c - run_code: runs a cell, follows it, and shows its record.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    code of a model; events and records of hostile programs, as JSON of libreckon.
 * Never:    continues for a modern client that has left, or answers a client that has cancelled.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

#define RECORD_MAX ((size_t)512 * 1024 * 1024)
#define LONG_S 60
#define FILES_MAX 20u
#define URI_SIZE 160

/* ---- while it runs ---------------------------------------------------------------------------- */

/* Reports a piece of output as progress. */
static int show_progress(struct tool *tool, const struct api_event *event)
{
	struct json_value *data = NULL;
	struct err ignored;
	const char *text;
	size_t len = 0;
	int code = 0;

	if (tool->mcp->rpc.token[0] == '\0' || strcmp(event->name, "stream") != 0 ||
	    json_read_parse(event->data.data, event->data.len, RECORD_MAX, &data, &ignored) < 0)
		return 0;
	text = json_read_text(json_read_member(data, "text"), &len);
	/* The stream's first event must come before all others. */
	if (text != NULL && tool->mcp->accepts_stream)
		code = mcp_begin_stream(tool->mcp);
	tool->mcp->cursor.after = event->id;
	tool->mcp->cursor.progress++;
	if (text != NULL && code == 0)
		code = mcp_progress(tool->mcp, 0, text, len);
	json_read_free(data);
	return code;
}

/* Makes a slow call. Sends a head and comments meanwhile, if the client accepts a stream. */
static enum call_status make_slowly(struct tool *tool, enum api_id id, const void *in, void *ret,
				    struct call *call)
{
	struct mcp *mcp = tool->mcp;
	enum call_status status = call_ask(mcp->request, id, in, call);

	while (status == CALL_OK || status == CALL_WAITS) {
		status = call_take(mcp->request,
				   !mcp->accepts_stream ? 0
				   : mcp->has_begun	? MCP_BEAT_MS
							: MCP_FIRST_MS,
				   ret, call);
		if (status == CALL_WAITS &&
		    (mcp_begin_stream(mcp) < 0 || sse_beat(mcp->request) < 0))
			return CALL_GONE;
		if (status != CALL_WAITS)
			break;
	}
	return status;
}

/* Follows the execution until its end. 1: there is a record; *ret has it if the last event did. */
static int follow(struct tool *tool, const struct running *running, struct json_value **ret,
		  int *ret_code)
{
	struct api_execution_events_in in = { .session = running->session,
					      .execution = running->execution,
					      .has_goes_on = true,
					      .goes_on = true,
					      .has_after = tool->mcp->is_resumed,
					      .after = tool->mcp->cursor.after };
	cleanup_call struct call call = CALL_INIT;
	struct api_events events = { 0 };
	struct err ignored;

	do {
		const enum call_status status =
			make_slowly(tool, API_EXECUTION_EVENTS, &in, &events, &call);
		const struct api_event *event = events.events.items;

		if (status != CALL_OK) {
			*ret_code = status == CALL_FAILED ? tool_failure(tool, call.failure) : -1;
			return 0;
		}
		for (size_t i = 0; i < events.events.count; i++, event++) {
			in.has_after = true;
			in.after = event->id;
			if (show_progress(tool, event) < 0) {
				*ret_code = -1;
				return 0;
			}
			if (strcmp(event->name, "done") == 0)
				(void)json_read_parse(event->data.data, event->data.len, RECORD_MAX,
						      ret, &ignored);
		}
		if (events.failure != NULL) {
			*ret_code = tool_failure(tool, events.failure);
			return 0;
		}
	} while (!events.is_last);
	return 1;
}

/* ---- the result
 * ------------------------------------------------------------------------------- */

static void write_strings(struct json_writer *json, const char *name, const struct buf *lines)
{
	const char *line = buf_text(lines);

	json_write_key(json, name);
	json_write_array_begin(json);
	while (*line != '\0') {
		const size_t len = strcspn(line, "\n");

		json_write_text(json, line, len);
		line += len + 1;
	}
	json_write_array_end(json);
}

static void add_files(struct tool *tool, const struct running *running,
		      const struct json_value *record, struct json_writer *json)
{
	const struct json_value *files = json_read_member(record, "files");
	const size_t count = json_read_count(files);

	json_write_key(json, "files");
	json_write_array_begin(json);
	for (size_t i = 0; i < count && i < FILES_MAX; i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *path = rpc_text(file, "path", 4095);
		const char *artifact = rpc_text(file, "artifact", 40);
		const char *change = rpc_text(file, "change", 16);
		char uri[URI_SIZE];
		int64_t size = 0;

		if (path == NULL || change == NULL)
			continue;
		(void)json_read_int(json_read_member(file, "size"), &size);
		json_write_object_begin(json);
		json_write_member_string(json, "path", path);
		json_write_member_string(json, "change", change);
		json_write_member_uint(json, "size", (uint64_t)size);
		if (artifact != NULL) {
			(void)snprintf(uri, sizeof(uri), "reckon://artifacts/%s", artifact);
			json_write_member_string(json, "uri", uri);
			tool_add_link(tool, uri, path, rpc_text(file, "mime", 120), true,
				      (uint64_t)size);
		}
		json_write_object_end(json);
	}
	json_write_array_end(json);
	(void)running;
}

static const char *new_line(const struct tool *tool)
{
	return tool->text.len > 0 && tool->text.data[tool->text.len - 1] != '\n' ? "\n" : "";
}

static void note_outputs(const struct json_value *record, struct buf *outputs)
{
	static const char *const streams[] = { "stdout", "stderr" };
	const struct json_value *cut = json_read_member(record, "truncated");
	const struct json_value *left = json_read_member(record, "text_left_out");
	struct err ignored;
	const char *handle;

	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		if ((handle = rpc_text(json_read_member(cut, streams[i]), "handle", 40)) != NULL)
			(void)buf_addf(outputs, &ignored, "%s\n", handle);
	for (size_t i = 0; i < json_read_count(left) && outputs->len < 1024; i++)
		if ((handle = rpc_text(json_read_at(left, i), "handle", 40)) != NULL &&
		    strstr(buf_text(outputs), handle) == NULL)
			(void)buf_addf(outputs, &ignored, "%s\n", handle);
}

/* If the text is shortened but no stream was cut, names the handle with which a model reads it all
 * from the record. */
static void note_whole(struct tool *tool, const struct running *running,
		       const struct json_value *record, struct buf *outputs)
{
	const struct json_value *cut = json_read_member(record, "truncated");
	struct err ignored;

	if (json_read_count(json_read_member(record, "text_left_out")) == 0 ||
	    json_read_kind(json_read_member(cut, "stdout")) == JSON_KIND_OBJECT ||
	    json_read_kind(json_read_member(cut, "stderr")) == JSON_KIND_OBJECT)
		return;
	(void)buf_addf(outputs, &ignored, "%s/%s\n", running->session, running->execution);
	tool_say(tool, "%s[all of it: output, handle %s/%s]\n", new_line(tool), running->session,
		 running->execution);
}

static int show(struct tool *tool, const struct running *running, const struct json_value *record)
{
	cleanup_buf struct buf figures = BUF_INIT(8192), outputs = BUF_INIT(8192);
	const char *status = rpc_text(record, "status", 32);
	struct json_writer json;
	struct err err;
	size_t len = 0;
	const char *text = json_read_text(json_read_member(record, "text"), &len);

	if (text == NULL || status == NULL)
		return tool_fail(tool, "the record could not be read", NULL);
	tool->is_error = strcmp(status, "ok") != 0;
	if (len > 0)
		(void)buf_add(&tool->text, text, len, &err);
	else
		tool_say(tool, "[no output]\n");
	if (tool_add_figures(tool, running, record, &figures) < 0)
		return -1;
	note_outputs(record, &outputs);
	note_whole(tool, running, record, &outputs);
	if (json_read_count(json_read_member(record, "files")) > FILES_MAX)
		tool_say(tool, "%s[%zu more files changed: list them with files]\n", new_line(tool),
			 json_read_count(json_read_member(record, "files")) - FILES_MAX);
	if (tool->mcp->name == NULL || json_read_member(tool->args, "session") != NULL)
		tool_say(tool, "%s[session %s]\n", new_line(tool), running->session);
	json_write_init(&json, &tool->structured);
	json_write_object_begin(&json);
	json_write_member_string(&json, "session", running->session);
	json_write_member_string(&json, "execution", running->execution);
	json_write_member_string(&json, "status", status);
	/* Some clients show a model only this object. */
	json_write_member_text(&json, "text", buf_text(&tool->text), tool->text.len);
	write_strings(&json, "figures", &figures);
	write_strings(&json, "outputs", &outputs);
	add_files(tool, running, record, &json);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? tool_fail(tool, err.text, NULL) : 0;
}

/* Fetches the whole record, which did not come with the events. */
static int fetch_and_show(struct tool *tool, const struct running *running)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_execution_show_out out;
	struct json_value *record = NULL;
	struct err err;
	int code = 0;

	if (!tool_make(tool, API_EXECUTION_SHOW,
		       &(struct api_execution_show_in){ .session = running->session,
							.execution = running->execution },
		       &out, &call, &code))
		return code;
	if (out.record.len == 0)
		return tool_fail(tool, "the code ended without a record",
				 out.execution != NULL ? out.execution->why : NULL);
	if (json_read_parse(out.record.data, out.record.len, RECORD_MAX, &record, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	code = show(tool, running, record);
	json_read_free(record);
	return code;
}

static void name_execution(struct running *running, const char *session, const char *execution)
{
	(void)snprintf(running->session, sizeof(running->session), "%s", session);
	(void)snprintf(running->execution, sizeof(running->execution), "%s", execution);
}

int tool_run_wait(struct tool *tool, const char *session, const char *execution)
{
	struct running running = { 0 };
	struct json_value *done = NULL;
	int code = 0;

	name_execution(&running, session, execution);
	if (follow(tool, &running, &done, &code))
		code = 1;
	json_read_free(done);
	return code;
}

int tool_run_show(struct tool *tool, const char *session, const char *execution)
{
	struct running running = { 0 };

	name_execution(&running, session, execution);
	return fetch_and_show(tool, &running);
}

/* ---- the call --------------------------------------------------------------------------------- */

static int begin(struct tool *tool, struct running *running, const struct api_execute_in *in,
		 int *ret_code)
{
	cleanup_call struct call call = CALL_INIT, cancel = CALL_INIT;
	struct api_execute_out out;

	if (!tool_make(tool, API_EXECUTE, in, &out, &call, ret_code))
		return 0;
	if (out.execution == NULL) {
		*ret_code = tool_fail(tool, "the code did not begin", NULL);
		return 0;
	}
	if (tool->in_background) {
		mcp_task_begun(tool, out.execution);
		*ret_code = -1;
		return 0;
	}
	if (tool->mcp->rpc.is_modern)
		upstream_cancel_when_gone(tool->mcp->request, call.frame);
	(void)snprintf(running->execution, sizeof(running->execution), "%s", out.execution->id);
	request_note(tool->mcp->request, NULL, running->session, running->execution);
	if (mcp_resumable(tool->mcp, running->session, running->execution, false) < 0) {
		*ret_code = -1;
		return 0;
	}
	/* It was cancelled before its id was known. */
	if (running->is_cancelled &&
	    call_make(tool->mcp->request, API_EXECUTION_CANCEL,
		      &(struct api_execution_cancel_in){ .session = running->session,
							 .execution = running->execution },
		      NULL, &cancel) == CALL_GONE) {
		*ret_code = -1;
		return 0;
	}
	return 1;
}

int tool_run_again(struct tool *tool, struct running *running)
{
	struct json_value *done = NULL;
	const struct json_value *record;
	int code = 0;

	if (!follow(tool, running, &done, &code)) {
		json_read_free(done);
		return code;
	}
	record = json_read_member(done, "record");
	tool->is_cancelled = running->is_cancelled;
	if (tool->is_cancelled)
		code = 0;
	else if (record != NULL && json_read_member(record, "streamed") == NULL)
		code = show(tool, running, record);
	else
		code = fetch_and_show(tool, running);
	json_read_free(done);
	return code;
}

static int run(struct tool *tool, struct running *running, const struct api_execute_in *in)
{
	int code = 0;

	return begin(tool, running, in, &code) ? tool_run_again(tool, running) : code;
}

/*
 * Runs without events: they serve progress, and the id for notifications/cancelled. A modern client
 * that wants no progress cancels by closing the connection.
 */
static int run_unwatched(struct tool *tool, struct running *running, struct api_execute_in *in)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_execute_out out;
	struct json_value *record = NULL;
	const char *id;
	struct err err;
	enum call_status status;
	int code;

	in->has_stream = in->stream = false;
	status = make_slowly(tool, API_EXECUTE, in, &out, &call);
	if (status != CALL_OK)
		return status == CALL_FAILED ? tool_failure(tool, call.failure) : -1;
	if (out.record.len == 0)
		return tool_fail(tool, "the code ended without a record", NULL);
	if (json_read_parse(out.record.data, out.record.len, RECORD_MAX, &record, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	id = rpc_text(record, "id", ID_SIZE - 1);
	(void)snprintf(running->execution, sizeof(running->execution), "%s", id != NULL ? id : "");
	request_note(tool->mcp->request, NULL, running->session, running->execution);
	code = show(tool, running, record);
	json_read_free(record);
	return code;
}

int tool_run(struct tool *tool)
{
	struct running running = { 0 };
	double timeout_s = 0, max_text = (double)mcp_text_budget(tool);
	const char *language, *code_text;
	struct api_execute_in in = { .has_stream = true, .stream = true };
	size_t len = 0;
	int code = 0;

	code_text = json_read_text(json_read_member(tool->args, "code"), &len);
	if (code_text == NULL)
		return tool_fail(tool, "the argument code is missing",
				 "pass source code as a string");
	if (!tool_text(tool, "language", 63, &language) ||
	    !tool_number(tool, "timeout_s", 0.001, 86400, &timeout_s) ||
	    !tool_number(tool, "max_text", MCP_TEXT_MIN, MCP_TEXT_MAX, &max_text))
		return 0;
	if (tool->mcp->rpc.is_modern)
		request_end_at_eof(tool->mcp->request);
	running_add(&running, tool->mcp);
	if (tool_find_session(tool, true, running.session, &code)) {
		in.session = running.session;
		in.code = (struct api_bytes){ code_text, len };
		in.language = language;
		in.has_timeout_ms = timeout_s > 0;
		in.timeout_ms = (uint64_t)(timeout_s * 1000);
		in.has_max_text = true;
		in.max_text = (uint64_t)max_text;
		/* If the server may choose, code that may take long becomes a task. */
		tool->in_background |= (tool->mcp->capabilities & RPC_HAS_TASKS) != 0 &&
				       tool->mcp->rpc.is_modern && timeout_s > LONG_S;
		in.on_disconnect = tool->mcp->rpc.is_modern && !tool->in_background
					   ? API_EXECUTE_IN_ON_DISCONNECT_CANCEL
					   : API_EXECUTE_IN_ON_DISCONNECT_CONTINUE;
		code = tool->mcp->rpc.is_modern && tool->mcp->rpc.token[0] == '\0' &&
				       !tool->in_background
			       ? run_unwatched(tool, &running, &in)
			       : run(tool, &running, &in);
	}
	running_remove(&running);
	return code;
}
