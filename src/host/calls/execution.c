/*
 * execution.c - calls about a running execution: answers to its questions, cancelling.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls.
 * Never:    passes an answer to an execution of another tenant, or to one that asked nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "host/calls/call.h"
#include "host/executions/asking.h"
#include "host/executions/cancel.h"
#include "host/host.h"

static void fail_not_waiting(struct host *host, const struct request *req, const char *message)
{
	front_fail(host, req->id, API_ERR_NOT_WAITING, message, "",
		  "follow its events: each question is one", 0);
}

/* The questions of an execution that is running and may ask; NULL: answered with an error. */
static struct asking *find(struct host *host, const struct request *req, const char *session_id,
			   const char *id)
{
	struct execution *live = NULL;
	struct session *session;
	struct db_execution row;

	if (!execution_find_named(host, req, session_id, id, &row))
		return NULL;
	session = session_find(host, req->tenant, row.session);
	if (session != NULL)
		live = execution_find(session, row.id);
	db_execution_done(&row);
	if (live != NULL && live->state == EXECUTION_RUNNING && live->asking != NULL)
		return live->asking;
	fail_not_waiting(host, req,
			 live != NULL && live->state != EXECUTION_FINISHED
				 ? "this execution has not begun, or was not allowed to ask"
				 : "this execution has ended");
	return NULL;
}

void handle_execution_input(struct host *host, const struct request *req,
			    const struct api_execution_input_in *in)
{
	struct asking *asking = find(host, req, in->session, in->execution);
	reckon_error error;

	if (asking == NULL)
		return;
	if (in->text == NULL && !in->end) {
		front_fail(host, req->id, API_ERR_INVALID, "text or end is missing", "", "", 0);
		return;
	}
	if (asking_input(asking, in->seq, in->text, &error) < 0) {
		fail_not_waiting(host, req, error.message);
		return;
	}
	audit_note(host, "execution.input", in->session, "ok", "execution=%s", in->execution);
	reply_done(host, req->id);
}

void handle_execution_tool_results(struct host *host, const struct request *req,
				   const struct api_execution_tool_results_in *in)
{
	const struct api_tool_result *results = in->results.items;
	struct asking *asking = find(host, req, in->session, in->execution);
	uint64_t accepted = 0;

	if (asking == NULL)
		return;
	for (size_t i = 0; i < in->results.count; i++)
		if (results[i].value.data == NULL && results[i].error == NULL &&
		    results[i].denied == NULL) {
			front_fail(host, req->id, API_ERR_INVALID,
				  "results: value, error or denied is missing", "", "", 0);
			return;
		}
	for (size_t i = 0; i < in->results.count; i++)
		accepted += asking_give(asking, &results[i]);
	if (accepted == 0) {
		fail_not_waiting(host, req, "none of these calls waits for an answer");
		return;
	}
	audit_note(host, "execution.tool_results", in->session, "ok",
		   "execution=%s results=%" PRIu64, in->execution, accepted);
	reply_execution_tool_results(
		host, req->id, &(struct api_execution_tool_results_out){ .accepted = accepted });
}

void handle_execution_cancel(struct host *host, const struct request *req,
			     const struct api_execution_cancel_in *in)
{
	struct db_execution row;
	struct session *session;
	struct execution *live;
	bool goes_on;

	if (!execution_find_named(host, req, in->session, in->execution, &row))
		return;
	session = session_find(host, req->tenant, row.session);
	live = session != NULL ? execution_find(session, row.id) : NULL;
	db_execution_done(&row);
	goes_on = live != NULL && live->state != EXECUTION_FINISHED;
	if (goes_on)
		cancel_on_request(live);
	reply_execution_cancel(host, req->id, &(struct api_execution_cancel_out){ goes_on });
}
