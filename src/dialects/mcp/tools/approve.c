/*
 * approve.c - asks a person before a tool does something irreversible: runs code, replaces or
 * deletes a file, ends or empties a session.
 *
 * Runs in:  reckon-front-mcp, with RECKON_MCP_APPROVE=1 (`reckon serve --mcp-approve`), a key that
 *           requires it, or a client's Reckon-Approve header.
 * Reads:    arguments from a model; a person's answer, as the client reports it.
 * Never:    uses an answer twice or for a call that the person did not see, or assumes one.
 *
 * A legacy client is asked while the call waits. A modern client gets the question as a result and
 * calls again with the answer; until then a document of the daemon holds the question.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reveal.h"
#include "dialects/mcp/mcp.h"

#define SHOWN_MAX 65536u /* bytes of code that a question shows; longer code is refused */
#define QUESTION_MAX ((size_t)512 * 1024) /* with each byte as an escape of four */
#define JSON_MAX ((size_t)1000 * 1000)
#define QUESTION_MS 900000u
#define COLLECTION "mcp_questions"
#define NAME "approve" /* key of a call's only question */

static bool is_on(const char *value)
{
	return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* What needs approval: nothing; code that can write to folders of the host, if the client can ask;
 * everything irreversible. */
enum level { ASK_NOTHING, ASK_WRITES, ASK_ALL };

/* A client can request approval, but cannot drop the daemon's or the key's requirement. */
static enum level level_of(const struct tool *tool)
{
	const char *of_client = http_header(request_head(tool->mcp->request), "reckon-approve");

	if (is_on(getenv("RECKON_MCP_APPROVE")) || tool->mcp->must_approve)
		return ASK_ALL;
	if (of_client != NULL && strcmp(of_client, "writes") == 0)
		return ASK_WRITES;
	return is_on(of_client) ? ASK_ALL : ASK_NOTHING;
}

/* ---- the question ----------------------------------------------------------------------------- */

/* A client may show this in a terminal: each character that hides or moves others is an escape. */
static void show(const char *text, size_t len, struct buf *ret)
{
	struct err ignored;

	for (;;) {
		const char *end = memchr(text, '\n', len);
		const size_t line = end != NULL ? (size_t)(end - text) : len;

		(void)reveal_line(text, line, false, ret, &ignored);
		if (end == NULL)
			return;
		(void)buf_addc(ret, '\n', &ignored);
		text += line + 1;
		len -= line + 1;
	}
}

static void ask_code(const struct json_value *args, struct buf *ret)
{
	const char *language = rpc_text(args, "language", 63);
	size_t len;
	const char *code = json_read_text(json_read_member(args, "code"), &len);
	struct err ignored;

	if (code == NULL)
		return;
	(void)buf_adds(ret, "Run this ", &ignored);
	if (language != NULL) {
		show(language, strlen(language), ret);
		(void)buf_addc(ret, ' ', &ignored);
	}
	(void)buf_adds(ret, "code?\n\n", &ignored);
	show(code, len, ret);
}

static void ask_file(const struct json_value *args, struct buf *ret)
{
	const char *action = rpc_text(args, "action", 16), *path = rpc_text(args, "path", 4095);
	struct err ignored;

	if (action == NULL || path == NULL)
		return;
	if (strcmp(action, "write") == 0) {
		(void)buf_adds(ret, "Write the file ", &ignored);
		show(path, strlen(path), ret);
		(void)buf_adds(ret, " of the session, or replace it?", &ignored);
	} else if (strcmp(action, "delete") == 0) {
		(void)buf_adds(ret, "Delete ", &ignored);
		show(path, strlen(path), ret);
		(void)buf_adds(ret, " of the session?", &ignored);
	}
}

static void ask_session(const struct json_value *args, struct buf *ret)
{
	static const struct {
		const char *action, *what;
	} questions[] = {
		{ "restart", "Restart %s? Its variables are lost." },
		{ "reset", "Reset %s? Its variables and files are lost." },
		{ "end", "End %s? Its variables and files are lost." },
	};
	const char *action = rpc_text(args, "action", 16), *session = rpc_text(args, "session", 63);
	struct err ignored;

	for (size_t i = 0; action != NULL && i < ARRAY_LEN(questions); i++)
		if (strcmp(action, questions[i].action) == 0) {
			const char *place = strstr(questions[i].what, "%s");

			(void)buf_add(ret, questions[i].what, (size_t)(place - questions[i].what),
				      &ignored);
			(void)buf_adds(ret, session != NULL ? "the session " : "the session",
				       &ignored);
			if (session != NULL)
				show(session, strlen(session), ret);
			(void)buf_adds(ret, place + 2, &ignored);
		}
}

/* What a person is not shown cannot be approved. */
static bool is_too_long(const char *name, const struct json_value *args)
{
	size_t len;

	return strcmp(name, "run_code") == 0 &&
	       json_read_text(json_read_member(args, "code"), &len) != NULL && len > SHOWN_MAX;
}

/* "": nothing to ask; the tool itself reports invalid arguments. */
static void write_question(const char *name, const struct json_value *args, struct buf *ret)
{
	if (strcmp(name, "run_code") == 0)
		ask_code(args, ret);
	else if (strcmp(name, "files") == 0)
		ask_file(args, ret);
	else if (strcmp(name, "session") == 0)
		ask_session(args, ret);
}

/* A form without fields: a client shows the message, and buttons to accept and to decline. */
static int write_params(const struct buf *question, struct buf *ret, struct err *err)
{
	static const char schema[] = "{\"type\":\"object\",\"properties\":{}}";
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "mode", "form");
	json_write_member_text(&json, "message", buf_text(question), question->len);
	json_write_key(&json, "requestedSchema");
	json_write_raw(&json, schema, sizeof(schema) - 1);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* ---- the answer ------------------------------------------------------------------------------- */

/* 1: go on; 0: the tool has failed. */
static int take_answer(struct tool *tool, const struct json_value *answer)
{
	const char *action = rpc_text(answer, "action", 16);

	if (action != NULL && strcmp(action, "accept") == 0)
		return 1;
	if (action != NULL && strcmp(action, "decline") == 0)
		(void)tool_fail(tool, "the user declined this: it was not done",
				"do not try it again as it is; ask what is wanted instead");
	else
		(void)tool_fail(tool, "the user did not approve this: it was not done",
				"say what you want to do and why, and try again when they agree");
	return 0;
}

static int ask_legacy(struct tool *tool, const struct buf *params)
{
	cleanup_buf struct buf answer = BUF_INIT(JSON_MAX);
	struct running running = { 0 };
	struct json_value *result = NULL;
	struct err ignored;
	int code;

	running_add(&running, tool->mcp);
	code = mcp_ask(tool->mcp, "elicitation/create", buf_text(params), &answer);
	running_remove(&running);
	if (code < 0)
		return -1;
	tool->is_cancelled = running.is_cancelled;
	if (tool->is_cancelled)
		return 0;
	if (code > 0)
		(void)json_read_parse(buf_text(&answer), answer.len, JSON_MAX, &result, &ignored);
	code = take_answer(tool, result);
	json_read_free(result);
	return code;
}

/* ---- modern clients
 * --------------------------------------------------------------------------- */

/* Writes a canonical form of the call that the question is about. */
static int write_canonical(const struct tool *tool, const char *name, struct buf *ret,
			   struct err *err)
{
	cleanup_buf struct buf args = BUF_INIT(JSON_MAX);
	struct json_writer json;

	if (json_read_dump(tool->args, &args, err) < 0)
		return (int)err->code;
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "tool", name);
	json_write_key(&json, "arguments");
	json_write_raw(&json, buf_text(&args), args.len);
	json_write_member_string(&json, "default_session", tool->mcp->name);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static bool is_same(const struct api_bytes *stored, const struct buf *canonical)
{
	cleanup_buf struct buf one = BUF_INIT(JSON_MAX), other = BUF_INIT(JSON_MAX);
	struct json_value *left = NULL, *right = NULL;
	struct err ignored;
	const bool ret =
		json_read_parse(stored->data, stored->len, JSON_MAX, &left, &ignored) == 0 &&
		json_read_parse(canonical->data, canonical->len, JSON_MAX, &right, &ignored) == 0 &&
		json_read_dump(left, &one, &ignored) == 0 &&
		json_read_dump(right, &other, &ignored) == 0 &&
		strcmp(buf_text(&one), buf_text(&other)) == 0;

	json_read_free(left);
	json_read_free(right);
	return ret;
}

/* 1: the question was asked about this call, and this is the first answer; 0: it was not. */
static int consume_question(struct tool *tool, const struct buf *canonical)
{
	cleanup_call struct call get = CALL_INIT, delete = CALL_INIT;
	const char *state = rpc_text(tool->mcp->rpc.params, "requestState", ID_SIZE - 1);
	struct api_document document;
	enum call_status status;

	if (state == NULL || strncmp(state, "qu_", 3) != 0)
		return 0;
	status = call_make(tool->mcp->request, API_DOCUMENT_GET,
			   &(struct api_document_get_in){ .collection = COLLECTION, .id = state },
			   &document, &get);
	if (status == CALL_OK && is_same(&document.value, canonical))
		status = call_make(tool->mcp->request, API_DOCUMENT_DELETE,
				   &(struct api_document_delete_in){ .collection = COLLECTION,
								     .id = state },
				   NULL, &delete);
	else if (status == CALL_OK)
		status = CALL_FAILED;
	return status == CALL_GONE ? -1 : status == CALL_OK ? 1 : 0;
}

static void require_input(struct mcp *mcp, const struct buf *params, const char *state)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	struct json_writer json;

	mcp_result_begin_as(mcp, "input_required", &out, &json);
	json_write_key(&json, "inputRequests");
	json_write_object_begin(&json);
	json_write_key(&json, NAME);
	json_write_object_begin(&json);
	json_write_member_string(&json, "method", "elicitation/create");
	json_write_key(&json, "params");
	json_write_raw(&json, buf_text(params), params->len);
	json_write_object_end(&json);
	json_write_object_end(&json);
	json_write_member_string(&json, "requestState", state);
	mcp_result_end(mcp, &out, &json);
}

static int ask_modern(struct tool *tool, const char *name, const struct buf *params)
{
	const struct json_value *answer =
		json_read_member(json_read_member(tool->mcp->rpc.params, "inputResponses"), NAME);
	cleanup_buf struct buf canonical = BUF_INIT(JSON_MAX);
	cleanup_call struct call call = CALL_INIT;
	char state[ID_SIZE];
	struct err err;
	int code;

	if (write_canonical(tool, name, &canonical, &err) < 0)
		return tool_fail(tool, "the arguments are too long to ask a person about",
				 "they may have 1 MB");
	if (answer != NULL) {
		code = consume_question(tool, &canonical);
		if (code != 0)
			return code < 0 ? code : take_answer(tool, answer);
	}
	if (id_new(state, "qu", &err) < 0)
		return tool_fail(tool, err.text, NULL);
	if (!tool_make(tool, API_DOCUMENT_PUT,
		       &(struct api_document_put_in){ .collection = COLLECTION,
						      .id = state,
						      .value = { canonical.data, canonical.len },
						      .has_expires_in_ms = true,
						      .expires_in_ms = QUESTION_MS },
		       NULL, &call, &code))
		return code;
	require_input(tool->mcp, params, state);
	return -1;
}

int tool_approve(struct tool *tool, const char *name)
{
	cleanup_buf struct buf question = BUF_INIT(QUESTION_MAX), params = BUF_INIT(JSON_MAX);
	const enum level level = level_of(tool);
	const bool can_ask = (tool->mcp->capabilities & RPC_CAN_ELICIT) != 0 &&
			     (tool->mcp->rpc.is_modern || tool->mcp->accepts_stream);
	struct err err;

	if (level == ASK_NOTHING ||
	    (level == ASK_WRITES && (!can_ask || strcmp(name, "run_code") != 0)))
		return 1;
	if (is_too_long(name, tool->args))
		return tool_fail(tool, "the code is longer than the 64 KiB that a user can approve",
				 "run it in parts");
	write_question(name, tool->args, &question);
	if (question.len == 0)
		return 1;
	if (level == ASK_WRITES && buf_adds(&question,
					    "\n\n(It can change files in the folders that "
					    "were mounted for writing.)",
					    &err) < 0)
		return tool_fail(tool, err.text, NULL);
	if (!can_ask)
		return tool_fail(tool,
				 "a person has to approve this, and this client cannot ask: it "
				 "was not done",
				 "use a client that has elicitation, or a server without --approve "
				 "or --mcp-approve");
	if (write_params(&question, &params, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	return tool->mcp->rpc.is_modern ? ask_modern(tool, name, &params)
					: ask_legacy(tool, &params);
}
