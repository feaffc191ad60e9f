/* task.h - a task: an execution of the daemon in MCP's terms. */
#pragma once

#include "dialects/mcp/mcp.h"

#define TASK_TIME_SIZE 40

struct task {
	char session[ID_SIZE], execution[ID_SIZE];
	const char *status; /* MCP's status */
	char created[TASK_TIME_SIZE], updated[TASK_TIME_SIZE];
};

bool task_is_over(const struct task *task);
void task_take_execution(struct task *task, const struct api_execution *execution);
/* Reads a record; *task already has session and execution. */
void task_take_record(const struct mcp *mcp, struct task *task, const struct json_value *record);
/* Writes the members of a task. */
void task_write(const struct mcp *mcp, struct json_writer *json, const struct task *task);
