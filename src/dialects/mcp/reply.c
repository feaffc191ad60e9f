/*
 * reply.c - sends results, errors and notifications, as one JSON answer or as events.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    results of the methods, and failures of reckond.
 * Never:    sends a message longer than MCP_OUT_MAX, or two answers.
 *
 * An answer is JSON, unless a notification must come before it: then it is a stream of events that
 * ends with the response.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"
#include "dialects/refuse.h"

#define ERROR_MAX 16384u
#define PROGRESS_TEXT_MAX 2048u

void mcp_write_server(struct json_writer *json)
{
	json_write_object_begin(json);
	json_write_member_string(json, "name", "reckon");
	json_write_member_string(json, "title", "Reckon");
	json_write_member_string(json, "version", RECKON_VERSION);
	json_write_object_end(json);
}

void mcp_write_versions(struct json_writer *json, bool with_legacy)
{
	json_write_array_begin(json);
	json_write_string(json, RPC_VERSION_MODERN);
	if (with_legacy) {
		json_write_string(json, "2025-11-25");
		json_write_string(json, "2025-06-18");
		json_write_string(json, "2025-03-26");
		json_write_string(json, "2024-11-05");
	}
	json_write_array_end(json);
}

static void envelope(const struct mcp *mcp, struct json_writer *json)
{
	json_write_object_begin(json);
	json_write_member_string(json, "jsonrpc", "2.0");
	/* MCP's schema does not allow null as an id, so leave it out. */
	if (mcp->rpc.id[0] != '\0') {
		json_write_key(json, "id");
		json_write_raw(json, mcp->rpc.id, strlen(mcp->rpc.id));
	}
}

void mcp_result_begin_as(const struct mcp *mcp, const char *type, struct buf *out,
			 struct json_writer *json)
{
	json_write_init(json, out);
	envelope(mcp, json);
	json_write_key(json, "result");
	json_write_object_begin(json);
	if (!mcp->rpc.is_modern)
		return;
	json_write_member_string(json, "resultType", type);
	json_write_key(json, "_meta");
	json_write_object_begin(json);
	json_write_key(json, RPC_META "serverInfo");
	mcp_write_server(json);
	json_write_object_end(json);
}

void mcp_result_begin(const struct mcp *mcp, struct buf *out, struct json_writer *json)
{
	mcp_result_begin_as(mcp, "complete", out, json);
}

void mcp_write_caching(const struct mcp *mcp, struct json_writer *json)
{
	if (!mcp->rpc.is_modern)
		return;
	json_write_member_uint(json, "ttlMs", 0);
	json_write_member_string(json, "cacheScope", "private");
}

/* Sends the first event of a stream, which has only an id. */
static int prime(struct mcp *mcp)
{
	char id[RPC_EVENT_ID_SIZE];

	/* Older clients mistake an event without data for a message. */
	if (mcp->is_resumed || mcp->version == NULL ||
	    strcmp(mcp->version, RPC_VERSION_LEGACY) != 0 ||
	    !rpc_event_id_write(&mcp->rpc, &mcp->cursor, id))
		return 0;
	return sse_event_named(mcp->request, id, NULL, "", 0);
}

int mcp_begin_stream(struct mcp *mcp)
{
	if (mcp->has_begun)
		return 0;
	mcp->has_begun = true;
	if (sse_begin(mcp->request, "X-Accel-Buffering: no\r\n") < 0)
		return -1;
	return prime(mcp);
}

int mcp_resumable(struct mcp *mcp, const char *session, const char *execution, bool is_task)
{
	if (mcp->rpc.is_modern)
		return 0;
	mcp->cursor = (struct rpc_cursor){ .is_task = is_task };
	(void)snprintf(mcp->cursor.session, sizeof(mcp->cursor.session), "%s", session);
	(void)snprintf(mcp->cursor.execution, sizeof(mcp->cursor.execution), "%s", execution);
	return mcp->has_begun ? prime(mcp) : 0;
}

int mcp_send(struct mcp *mcp, const struct buf *message)
{
	char id[RPC_EVENT_ID_SIZE];

	if (mcp_begin_stream(mcp) < 0)
		return -1;
	return sse_event_named(mcp->request,
			       rpc_event_id_write(&mcp->rpc, &mcp->cursor, id) ? id : NULL,
			       "message", buf_text(message), message->len);
}

static void send_last(struct mcp *mcp, unsigned status, const struct buf *message)
{
	mcp->cursor.execution[0] = '\0'; /* this event is the last */
	if (!mcp->has_begun)
		answer_text(mcp->request, status, MCP_JSON, message,
			    mcp->headers[0] != '\0' ? mcp->headers : NULL);
	else if (mcp_send(mcp, message) == 0)
		answer_end(mcp->request);
}

void mcp_result_end(struct mcp *mcp, struct buf *out, struct json_writer *json)
{
	struct err err;

	json_write_object_end(json);
	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		mcp_error(mcp, RPC_INTERNAL, "the result is larger than what is sent", NULL);
	else
		send_last(mcp, 200, out);
}

void mcp_answer_empty(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	mcp_result_end(mcp, &out, &json);
}

static void write_error(const struct mcp *mcp, int code, const char *message, const char *data,
			struct buf *out, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, out);
	envelope(mcp, &json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_key(&json, "code");
	json_write_int(&json, code);
	json_write_member_string(&json, "message", message);
	if (data != NULL) {
		json_write_key(&json, "data");
		json_write_raw(&json, data, strlen(data));
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	(void)json_write_finish(&json, err);
}

void mcp_error_status(struct mcp *mcp, unsigned status, int code, const char *message,
		      const char *data)
{
	cleanup_buf struct buf out = BUF_INIT(ERROR_MAX);
	struct err err = { 0 };

	write_error(mcp, code, message, data, &out, &err);
	if (err.code != 0)
		answer_break_off(mcp->request);
	else
		send_last(mcp, status, &out);
}

void mcp_error(struct mcp *mcp, int code, const char *message, const char *data)
{
	unsigned status = 200;

	if (mcp->rpc.is_modern)
		status = code == RPC_NO_METHOD						 ? 404
			 : code == RPC_MISSING_CAPABILITY || code == RPC_HEADER_MISMATCH ||
					 code == RPC_UNSUPPORTED_VERSION ||
					 code == RPC_INVALID_PARAMS
			       ? 400
			       : 200;
	mcp_error_status(mcp, status, code, message, data);
}

int mcp_notify(struct mcp *mcp, const char *method, const char *params)
{
	cleanup_buf struct buf out = BUF_INIT(ERROR_MAX);
	struct json_writer json;
	struct err err;

	if (!mcp->accepts_stream && !mcp->has_begun)
		return 0;
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "jsonrpc", "2.0");
	json_write_member_string(&json, "method", method);
	json_write_key(&json, "params");
	json_write_raw(&json, params, strlen(params));
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? 0 : mcp_send(mcp, &out);
}

int mcp_progress(struct mcp *mcp, uint64_t total, const char *text, size_t len)
{
	cleanup_buf struct buf params = BUF_INIT(ERROR_MAX);
	struct json_writer json;
	struct err err;

	if (mcp->rpc.token[0] == '\0')
		return 0;
	json_write_init(&json, &params);
	json_write_object_begin(&json);
	json_write_key(&json, "progressToken");
	json_write_raw(&json, mcp->rpc.token, strlen(mcp->rpc.token));
	json_write_member_uint(&json, "progress", mcp->cursor.progress);
	if (total > 0)
		json_write_member_uint(&json, "total", total);
	if (text != NULL)
		json_write_member_text(&json, "message", text,
				       len < PROGRESS_TEXT_MAX ? len : PROGRESS_TEXT_MAX);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : mcp_notify(mcp, "notifications/progress", buf_text(&params));
}

/* ---- refusals before there is a message
 * ------------------------------------------------------- */

static void write_text(struct json_writer *json, const char *name, const char *text)
{
	if (text != NULL && text[0] != '\0')
		json_write_member_string(json, name, text);
}

void mcp_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf data = BUF_INIT(ERROR_MAX / 2), out = BUF_INIT(ERROR_MAX);
	const struct mcp mcp = { .request = request };
	struct json_writer json;
	char headers[320] = "";
	struct err err = { 0 };

	json_write_init(&json, &data);
	json_write_object_begin(&json);
	write_text(&json, "code", refusal->code);
	write_text(&json, "cause", refusal->cause);
	write_text(&json, "remedy", refusal->remedy);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) == 0)
		write_error(&mcp, refusal->status == 400 ? RPC_INVALID_REQUEST : RPC_REFUSED,
			    refusal->message, buf_text(&data), &out, &err);
	if (err.code != 0) {
		answer_break_off(request);
		return;
	}
	refuse_headers(refusal, headers);
	answer_text(request, refusal->status, MCP_JSON, &out, headers);
}
