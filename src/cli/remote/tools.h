/*
 * tools.h - queues results of tool calls for a daemon.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct remote_tools;

/* Writes a byte to `wake_fd` whenever there is something to send. */
struct remote_tools *remote_tools_new(int wake_fd);
void remote_tools_free(struct remote_tools *tools); /* NULL is fine */
/* A run_tools_answer_fn, for any thread; `arg` is the struct remote_tools. */
void remote_tools_answer(const char *call, int kind, const char *text, size_t len, void *arg);
/* Takes the body of the next POST …/tool_results. 1: there is one; 0: nothing to send. */
int remote_tools_take(struct remote_tools *tools, struct buf *ret, struct err *err);
/* Drops unsent results, which belong to a cell that is over. */
void remote_tools_forget(struct remote_tools *tools);
