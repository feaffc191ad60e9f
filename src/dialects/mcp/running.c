/*
 * running.c - running calls, and questions to clients, so that another request of the same client
 * can refer to them.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    ids of any client, which count only together with their key and session.
 * Never:    stores anything longer than its request: the entries of both lists are on the handlers'
 *           stacks.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

#define ANSWER_MAX ((size_t)1024 * 1024)
#define ANSWER_MS 600000u /* a person may need time to read */

struct question {
	struct question *next;
	const struct mcp *mcp;
	char key[136];
	char id[ID_SIZE + 2]; /* as JSON */
	struct buf result;
	bool is_answered, has_result;
	bool is_cancelled; /* the call that asks was cancelled */
};

static struct running *all_running;
static struct question *questions;

void running_add(struct running *running, const struct mcp *mcp)
{
	running->mcp = mcp;
	request_key(mcp->request, running->key, sizeof(running->key));
	running->next = all_running;
	all_running = running;
}

void running_remove(struct running *running)
{
	struct running **at = &all_running;

	while (*at != NULL && *at != running)
		at = &(*at)->next;
	if (*at != NULL)
		*at = running->next;
}

/* A client without a session cancels by closing the connection. */
void mcp_cancelled(struct mcp *mcp)
{
	cleanup_buf struct buf id = BUF_INIT(RPC_ID_MAX);
	cleanup_call struct call call = CALL_INIT;
	char key[136], session[ID_SIZE] = "", execution[ID_SIZE] = "";
	struct err ignored;

	if (mcp->session[0] == '\0' || json_read_member(mcp->rpc.params, "requestId") == NULL ||
	    json_read_dump(json_read_member(mcp->rpc.params, "requestId"), &id, &ignored) < 0)
		return;
	request_key(mcp->request, key, sizeof(key));
	for (struct running *at = all_running; at != NULL; at = at->next)
		if (strcmp(at->mcp->session, mcp->session) == 0 && strcmp(at->key, key) == 0 &&
		    strcmp(at->mcp->rpc.id, buf_text(&id)) == 0) {
			at->is_cancelled = true;
			(void)snprintf(session, sizeof(session), "%s", at->session);
			(void)snprintf(execution, sizeof(execution), "%s", at->execution);
		}
	for (struct question *at = questions; at != NULL; at = at->next)
		if (strcmp(at->mcp->session, mcp->session) == 0 && strcmp(at->key, key) == 0 &&
		    strcmp(at->mcp->rpc.id, buf_text(&id)) == 0) {
			at->is_cancelled = true;
			request_wake(at->mcp->request);
		}
	if (execution[0] != '\0')
		(void)call_make(mcp->request, API_EXECUTION_CANCEL,
				&(struct api_execution_cancel_in){ .session = session,
								   .execution = execution },
				NULL, &call);
}

/* ---- questions -------------------------------------------------------------------------------- */

static int send_question(struct mcp *mcp, const struct question *question, const char *method,
			 const char *params)
{
	cleanup_buf struct buf message = BUF_INIT(ANSWER_MAX);
	struct err err;

	if (buf_addf(&message, &err,
		     "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}",
		     question->id, method, params) < 0)
		return 0;
	return mcp_send(mcp, &message);
}

static int wait_answer(struct mcp *mcp, const struct question *question)
{
	for (uint64_t waited = 0;
	     !question->is_answered && !question->is_cancelled && waited < ANSWER_MS;
	     waited += MCP_BEAT_MS) {
		const int code = request_wait_note(mcp->request, MCP_BEAT_MS);

		if (code < 0 || (code == 0 && sse_beat(mcp->request) < 0))
			return -1;
	}
	return question->has_result ? 1 : 0;
}

int mcp_ask(struct mcp *mcp, const char *method, const char *params, struct buf *ret)
{
	struct question question = { .mcp = mcp, .result = BUF_INIT(ANSWER_MAX),
				     .next = questions };
	struct question **at = &questions;
	char id[ID_SIZE];
	struct err err;
	int code;

	if (!mcp->accepts_stream || id_new(id, "rq", &err) < 0)
		return 0;
	(void)snprintf(question.id, sizeof(question.id), "\"%s\"", id);
	request_key(mcp->request, question.key, sizeof(question.key));
	questions = &question;
	code = send_question(mcp, &question, method, params);
	if (code >= 0)
		code = wait_answer(mcp, &question);
	while (*at != &question)
		at = &(*at)->next;
	*at = question.next;
	if (code > 0 && buf_add(ret, buf_text(&question.result), question.result.len, &err) < 0)
		code = 0;
	buf_done(&question.result);
	return code;
}

bool mcp_answered(struct mcp *mcp)
{
	char key[136];
	struct err ignored;

	request_key(mcp->request, key, sizeof(key));
	for (struct question *at = questions; at != NULL; at = at->next)
		if (!at->is_answered && strcmp(at->id, mcp->rpc.id) == 0 &&
		    strcmp(at->key, key) == 0 &&
		    strcmp(at->mcp->session, mcp->session) == 0) {
			at->is_answered = true;
			at->has_result =
				mcp->rpc.result != NULL &&
				json_read_dump(mcp->rpc.result, &at->result, &ignored) == 0;
			request_wake(at->mcp->request);
			return true;
		}
	return false;
}
