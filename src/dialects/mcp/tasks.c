/*
 * tasks.c - calls that a client does not wait for: an execution begins, and tasks/… report on it.
 * In the version 2025-11-25 tools/call has `task`; a modern client has the extension, and gets a
 * task if the code may take long.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    ids of any client; records of hostile programs, as JSON of libreckon.
 * Never:    stores a task: it is an execution of the daemon, and its id is the execution's handle.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/task.h"

#define RECORD_MAX ((size_t)512 * 1024 * 1024)
#define PAGE 50u

/* 1: it exists; 0: it does not; -1: the client is gone. `id` may be NULL. */
static int look_up(struct mcp *mcp, const char *id, struct task *ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_execution_show_out out;
	struct json_value *record = NULL;
	enum call_status status = CALL_FAILED;
	struct err err;
	int end = 0;

	if (id != NULL &&
	    sscanf(id, "%31[^/]/%31[^/]%n", ret->session, ret->execution, &end) == 2 &&
	    id[end] == '\0')
		status = call_make(mcp->request, API_EXECUTION_SHOW,
				   &(struct api_execution_show_in){ .session = ret->session,
								    .execution = ret->execution },
				   &out, &call);
	if (status == CALL_GONE)
		return -1;
	if (status == CALL_OK && out.execution != NULL) {
		task_take_execution(ret, out.execution);
		return 1;
	}
	if (status == CALL_OK &&
	    json_read_parse(out.record.data, out.record.len, RECORD_MAX, &record, &err) == 0) {
		task_take_record(mcp, ret, record);
		json_read_free(record);
		return 1;
	}
	return 0;
}

/* 1: it exists; 0: it does not, and an error was sent; -1: the client is gone. */
static int find(struct mcp *mcp, struct task *ret)
{
	static const char required[] =
		"{\"requiredCapabilities\":{\"extensions\":{\"" RPC_TASKS "\":{}}}}";
	int found;

	if (mcp->rpc.is_modern && (mcp->capabilities & RPC_HAS_TASKS) == 0) {
		mcp_error(mcp, RPC_MISSING_CAPABILITY, "the client has not declared tasks",
			  required);
		return 0;
	}
	found = look_up(mcp, rpc_text(mcp->rpc.params, "taskId", (size_t)2 * ID_SIZE), ret);
	if (found == 0)
		mcp_error(mcp, RPC_INVALID_PARAMS, "there is no such task", NULL);
	return found;
}

static void answer_task(struct mcp *mcp, const struct task *task)
{
	cleanup_buf struct buf out = BUF_INIT(16384);
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	task_write(mcp, &json, task);
	mcp_result_end(mcp, &out, &json);
}

/* Writes an ended task with its result. Negative: the client is gone. */
static int write_ended(struct mcp *mcp, struct json_writer *json, const struct task *task)
{
	static const char error[] =
		"{\"code\":-32603,\"message\":\"the code ended without a record\"}";
	struct tool tool = TOOL_INIT(mcp);
	int code = 0;

	task_write(mcp, json, task);
	if (strcmp(task->status, "failed") == 0) {
		json_write_key(json, "error");
		json_write_raw(json, error, sizeof(error) - 1);
	} else if (strcmp(task->status, "completed") == 0) {
		code = tool_run_show(&tool, task->session, task->execution);
		json_write_key(json, "result");
		json_write_object_begin(json);
		json_write_member_string(json, "resultType", "complete");
		if (code >= 0 && tool_write(&tool, json) < 0)
			json_write_member_bool(json, "isError", true);
		json_write_object_end(json);
	}
	tool_done(&tool);
	return code;
}

static void answer_ended(struct mcp *mcp, const struct task *task)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	if (write_ended(mcp, &json, task) >= 0)
		mcp_result_end(mcp, &out, &json);
}

/* ---- notifications ---------------------------------------------------------------------------- */

int mcp_task_watch(struct mcp *mcp, const char *id, struct task_watch *ret)
{
	struct task task = { 0 };
	const int found = look_up(mcp, id, &task);

	*ret = (struct task_watch){ .is_over = false };
	if (found > 0)
		(void)snprintf(ret->id, sizeof(ret->id), "%s/%s", task.session, task.execution);
	return found;
}

int mcp_task_tell(struct mcp *mcp, struct task_watch *watch)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	struct task task = { 0 };
	struct json_writer json;
	struct err err;

	if (watch->is_over)
		return 0;
	/* The session may be gone by now, and the task with it. */
	if (look_up(mcp, watch->id, &task) <= 0) {
		watch->is_over = true;
		return 0;
	}
	if (watch->is_reported && !task_is_over(&task))
		return 0;
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "jsonrpc", "2.0");
	json_write_member_string(&json, "method", "notifications/tasks");
	json_write_key(&json, "params");
	json_write_object_begin(&json);
	json_write_key(&json, "_meta");
	json_write_object_begin(&json);
	json_write_key(&json, RPC_META "subscriptionId");
	json_write_raw(&json, mcp->rpc.id, strlen(mcp->rpc.id));
	json_write_object_end(&json);
	if (write_ended(mcp, &json, &task) < 0)
		return -1;
	json_write_object_end(&json);
	json_write_object_end(&json);
	watch->is_reported = true;
	watch->is_over = task_is_over(&task);
	return json_write_finish(&json, &err) < 0 ? 0 : mcp_send(mcp, &out);
}

/* In 2025-11-25: sends the status on the stream that waits for the result. */
static int tell_status(struct mcp *mcp, const char *id)
{
	cleanup_buf struct buf params = BUF_INIT(4096);
	struct task task = { 0 };
	struct json_writer json;
	struct err err;
	const int found = look_up(mcp, id, &task);

	if (found <= 0)
		return found;
	json_write_init(&json, &params);
	json_write_object_begin(&json);
	task_write(mcp, &json, &task);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : mcp_notify(mcp, "notifications/tasks/status", buf_text(&params));
}

/* ---- requests --------------------------------------------------------------------------------- */

void mcp_tasks_get(struct mcp *mcp)
{
	struct task task = { 0 };

	if (find(mcp, &task) <= 0)
		return;
	if (mcp->rpc.is_modern && task_is_over(&task))
		answer_ended(mcp, &task);
	else
		answer_task(mcp, &task);
}

/* Accepts the update: no task of ours asks for input. */
void mcp_tasks_update(struct mcp *mcp)
{
	struct task task = { 0 };

	if (find(mcp, &task) > 0)
		mcp_answer_empty(mcp);
}

void mcp_task_result(struct mcp *mcp, const char *session, const char *execution, bool must_wait)
{
	struct tool tool = TOOL_INIT(mcp);
	char id[2 * ID_SIZE];

	(void)snprintf(id, sizeof(id), "%s/%s", session, execution);
	tool.task = id;
	if ((!must_wait ||
	     (tool_run_wait(&tool, session, execution) == 1 && tell_status(mcp, id) >= 0)) &&
	    tool_run_show(&tool, session, execution) == 0)
		mcp_answer_tool(&tool);
	tool_done(&tool);
}

/* Waits for the end, as the call itself would have. */
void mcp_tasks_result(struct mcp *mcp)
{
	struct task task = { 0 };

	if (find(mcp, &task) > 0 && mcp_resumable(mcp, task.session, task.execution, true) == 0)
		mcp_task_result(mcp, task.session, task.execution, !task_is_over(&task));
}

void mcp_tasks_cancel(struct mcp *mcp)
{
	cleanup_call struct call call = CALL_INIT;
	struct tool tool = TOOL_INIT(mcp);
	struct task task = { 0 };
	enum call_status status;

	if (find(mcp, &task) <= 0)
		return;
	if (task_is_over(&task) && mcp->rpc.is_modern) {
		mcp_answer_empty(mcp);
		return;
	}
	if (task_is_over(&task)) {
		mcp_error(mcp, RPC_INVALID_PARAMS, "the task has ended", NULL);
		return;
	}
	status = call_make(mcp->request, API_EXECUTION_CANCEL,
			   &(struct api_execution_cancel_in){ .session = task.session,
							      .execution = task.execution },
			   NULL, &call);
	/* Other requests also see it as cancelled from now on. */
	if (status == CALL_FAILED) {
		mcp_error(mcp, RPC_REFUSED, call.failure->message, NULL);
	} else if (status == CALL_OK && tool_run_wait(&tool, task.session, task.execution) >= 0 &&
		   find(mcp, &task) > 0) {
		if (mcp->rpc.is_modern)
			mcp_answer_empty(mcp);
		else
			answer_task(mcp, &task);
	}
	tool_done(&tool);
}

/* Lists the tasks of the default session. */
void mcp_tasks_list(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	cleanup_call struct call call = CALL_INIT;
	const char *cursor = rpc_text(mcp->rpc.params, "cursor", 40);
	struct api_executions page = { 0 };
	struct tool tool = TOOL_INIT(mcp);
	enum call_status status = CALL_OK;
	char session[ID_SIZE];
	struct json_writer json;
	int code;
	const bool has_session = tool_find_session(&tool, false, session, &code) == 1;

	tool_done(&tool);
	if (!has_session && code < 0)
		return;
	if (has_session)
		status = call_make(mcp->request, API_EXECUTION_LIST,
				   &(struct api_execution_list_in){ .session = session,
								    .before = cursor,
								    .has_limit = true,
								    .limit = PAGE },
				   &page, &call);
	if (status == CALL_FAILED)
		mcp_error(mcp, RPC_INVALID_PARAMS, call.failure->message, NULL);
	if (status != CALL_OK)
		return;
	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, "tasks");
	json_write_array_begin(&json);
	for (size_t i = 0; i < page.executions.count; i++) {
		struct task task = { 0 };

		task_take_execution(&task, (const struct api_execution *)page.executions.items + i);
		json_write_object_begin(&json);
		task_write(mcp, &json, &task);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	if (page.next != NULL)
		json_write_member_string(&json, "nextCursor", page.next);
	mcp_result_end(mcp, &out, &json);
}
