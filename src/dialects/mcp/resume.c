/*
 * resume.c - resumes a broken stream: a GET with the id of the last event that the client received.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    ids of any client: the request's key must give access to what an id names.
 * Never:    stores what it sent: the daemon has the execution's events, and an id says how many
 *           were read, and whose answer ends the stream.
 *
 * Only calls that run code, and tasks/result, which waits for one, have such a stream.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

/* 1: the client may follow it; else an answer was sent. */
static int find_execution(struct mcp *mcp)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_execution_show_out out;

	switch (call_make(mcp->request, API_EXECUTION_SHOW,
			  &(struct api_execution_show_in){ .session = mcp->cursor.session,
							   .execution = mcp->cursor.execution },
			  &out, &call)) {
	case CALL_OK:
		return 1;
	case CALL_FAILED:
		mcp_error_status(mcp, 404, RPC_REFUSED, "what that stream was about is not there",
				 NULL);
		return 0;
	case CALL_GONE:
	case CALL_WAITS:
		return 0;
	}
	return 0;
}

static void resume_call(struct mcp *mcp)
{
	struct tool tool = TOOL_INIT(mcp);
	struct running running = { 0 };
	int code;

	(void)snprintf(running.session, sizeof(running.session), "%s", mcp->cursor.session);
	(void)snprintf(running.execution, sizeof(running.execution), "%s", mcp->cursor.execution);
	running_add(&running, mcp);
	code = tool_run_again(&tool, &running);
	running_remove(&running);
	if (code == 0 && tool.is_cancelled)
		answer_end(mcp->request);
	else if (code == 0)
		mcp_answer_tool(&tool);
	tool_done(&tool);
}

void mcp_resume(struct mcp *mcp, const char *last)
{
	mcp->is_resumed = true;
	mcp->accepts_stream = true;
	if (!rpc_event_id_read(last, &mcp->rpc, &mcp->cursor)) {
		mcp_error_status(mcp, 400, RPC_INVALID_REQUEST,
				 "the header Last-Event-ID is none of an event that was sent here",
				 NULL);
		return;
	}
	if (find_execution(mcp) == 0 || mcp_begin_stream(mcp) < 0)
		return;
	if (mcp->cursor.is_task)
		mcp_task_result(mcp, mcp->cursor.session, mcp->cursor.execution, true);
	else
		resume_call(mcp);
}
