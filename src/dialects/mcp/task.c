/*
 * task.c - a task: an execution that a client does not wait for; its id is the execution's handle.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    executions and records from reckond.
 * Never:    stores a task.
 */
#include "dialects/mcp/task.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define POLL_MS 1000u

static const char *status_of(const char *status)
{
	static const struct {
		const char *ours, *theirs;
	} known[] = {
		{ "queued", "working" },	{ "running", "working" },   { "ok", "completed" },
		{ "interrupted", "cancelled" }, { "cancelled", "cancelled" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].ours, status) == 0)
			return known[i].theirs;
	return "failed";
}

bool task_is_over(const struct task *task)
{
	return strcmp(task->status, "working") != 0;
}

static void take_times(struct task *task, const char *created, const char *updated)
{
	(void)snprintf(task->created, sizeof(task->created), "%s", created != NULL ? created : "");
	(void)snprintf(task->updated, sizeof(task->updated), "%s",
		       updated != NULL ? updated : task->created);
}

void task_take_execution(struct task *task, const struct api_execution *execution)
{
	(void)snprintf(task->session, sizeof(task->session), "%s", execution->session);
	(void)snprintf(task->execution, sizeof(task->execution), "%s", execution->id);
	task->status = status_of(execution->status);
	take_times(task, execution->created_at, execution->ended_at);
}

void task_take_record(const struct mcp *mcp, struct task *task, const struct json_value *record)
{
	const char *status = rpc_text(record, "status", 32);

	task->status = status_of(status != NULL ? status : "");
	/* In modern MCP only a task without a result has failed. */
	if (mcp->rpc.is_modern && strcmp(task->status, "failed") == 0)
		task->status = "completed";
	take_times(task, rpc_text(record, "started_at", TASK_TIME_SIZE - 1), NULL);
}

void task_write(const struct mcp *mcp, struct json_writer *json, const struct task *task)
{
	char id[2 * ID_SIZE];

	(void)snprintf(id, sizeof(id), "%s/%s", task->session, task->execution);
	json_write_member_string(json, "taskId", id);
	json_write_member_string(json, "status", task->status);
	json_write_member_string(json, "createdAt", task->created);
	json_write_member_string(json, "lastUpdatedAt", task->updated);
	json_write_key(json, mcp->rpc.is_modern ? "ttlMs" : "ttl"); /* as long as its history */
	json_write_null(json);
	json_write_member_uint(json, mcp->rpc.is_modern ? "pollIntervalMs" : "pollInterval",
			       POLL_MS);
}

void mcp_task_begun(struct tool *tool, const struct api_execution *execution)
{
	cleanup_buf struct buf out = BUF_INIT(16384);
	struct task task = { 0 };
	struct json_writer json;

	task_take_execution(&task, execution);
	mcp_result_begin_as(tool->mcp, "task", &out, &json);
	if (!tool->mcp->rpc.is_modern) {
		json_write_key(&json, "task");
		json_write_object_begin(&json);
	}
	task_write(tool->mcp, &json, &task);
	if (!tool->mcp->rpc.is_modern)
		json_write_object_end(&json);
	mcp_result_end(tool->mcp, &out, &json);
}
