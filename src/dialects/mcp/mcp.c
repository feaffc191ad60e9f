/*
 * mcp.c - the Model Context Protocol over Streamable HTTP, at /mcp: requests and their messages.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    heads and bodies of any client.
 * Never:    stores state that a client could lose: the daemon has the sessions, and a legacy
 *           client's Mcp-Session-Id contains the negotiated version and capabilities.
 */
#include "dialects/mcp/mcp.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

extern const struct dialect dialect_mcp;

enum era { LEGACY = 1, MODERN = 2, BOTH = 3 };

struct method {
	const char *name;
	enum era eras;
	void (*fn)(struct mcp *mcp);
};

static void subscribe(struct mcp *mcp)
{
	if (mcp->has_fixtures)
		mcp_answer_empty(mcp);
	else
		mcp_error(mcp, RPC_NO_METHOD, "resources are not watched here", NULL);
}

static void prompts_get(struct mcp *mcp)
{
	if (!mcp->has_fixtures || !fixtures_prompt(mcp))
		mcp_error(mcp, RPC_INVALID_PARAMS, "there is no such prompt", NULL);
}

static const struct method methods[] = {
	{ "initialize", LEGACY, mcp_initialize },
	{ "ping", LEGACY, mcp_answer_empty },
	{ "logging/setLevel", LEGACY, mcp_set_level },
	{ "resources/subscribe", LEGACY, subscribe },
	{ "resources/unsubscribe", LEGACY, subscribe },
	{ "server/discover", MODERN, mcp_discover },
	{ "subscriptions/listen", MODERN, mcp_listen },
	{ "tools/list", BOTH, mcp_tools_list },
	{ "tools/call", BOTH, mcp_tools_call },
	{ "tasks/get", BOTH, mcp_tasks_get },
	{ "tasks/update", MODERN, mcp_tasks_update },
	{ "tasks/result", LEGACY, mcp_tasks_result },
	{ "tasks/cancel", BOTH, mcp_tasks_cancel },
	{ "tasks/list", LEGACY, mcp_tasks_list },
	{ "resources/list", BOTH, mcp_resources_list },
	{ "resources/templates/list", BOTH, mcp_resource_templates },
	{ "resources/read", BOTH, mcp_resources_read },
	{ "prompts/list", BOTH, mcp_prompts_list },
	{ "prompts/get", BOTH, prompts_get },
	{ "completion/complete", BOTH, mcp_complete },
};

static const struct method *find_method(const struct rpc *rpc)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if ((methods[i].eras & (rpc->is_modern ? MODERN : LEGACY)) != 0 &&
		    strcmp(methods[i].name, rpc->method) == 0)
			return &methods[i];
	return NULL;
}

static const char *header(const struct mcp *mcp, const char *name)
{
	return http_header(request_head(mcp->request), name);
}

/* ---- headers ---------------------------------------------------------------------------------- */

/* Whether a header repeats the body's value, for proxies that route without reading bodies. */
static bool header_is(const struct mcp *mcp, const char *name, const char *want)
{
	cleanup_buf struct buf text = BUF_INIT(8192);
	const char *value = header(mcp, name);

	return value != NULL && want != NULL && rpc_header_read(value, &text) &&
	       strcmp(buf_text(&text), want) == 0;
}

static bool check_modern_headers(struct mcp *mcp)
{
	const struct rpc *rpc = &mcp->rpc;
	const char *method = rpc->method != NULL ? rpc->method : "";
	const char *field = strcmp(method, "resources/read") == 0 ? "uri"
			    : strcmp(method, "tools/call") == 0 ||
					      strcmp(method, "prompts/get") == 0
				    ? "name"
				    : NULL;
	const char *wrong = NULL;
	char message[160];

	if (!header_is(mcp, "mcp-protocol-version", rpc->version))
		wrong = "MCP-Protocol-Version";
	else if (!header_is(mcp, "mcp-method", method))
		wrong = "Mcp-Method";
	else if (strncmp(method, "tasks/", 6) == 0 && header(mcp, "mcp-name") != NULL &&
		 !header_is(mcp, "mcp-name", rpc_text(rpc->params, "taskId", 4096)))
		wrong = "Mcp-Name";
	else if (field != NULL && rpc_text(rpc->params, field, 4096) != NULL &&
		 !header_is(mcp, "mcp-name", rpc_text(rpc->params, field, 4096)))
		wrong = "Mcp-Name";
	if (wrong == NULL)
		return true;
	(void)snprintf(message, sizeof(message),
		       "the header %s is missing, or says something else than the body", wrong);
	mcp_error_status(mcp, 400, RPC_HEADER_MISMATCH, message, NULL);
	return false;
}

static void unsupported(struct mcp *mcp, const char *requested, const char *message)
{
	cleanup_buf struct buf data = BUF_INIT(1024);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &data);
	json_write_object_begin(&json);
	json_write_key(&json, "supported");
	mcp_write_versions(&json, !mcp->rpc.is_modern);
	if (requested != NULL)
		json_write_member_text(&json, "requested", requested, strnlen(requested, 64));
	json_write_object_end(&json);
	mcp_error_status(mcp, 400, RPC_UNSUPPORTED_VERSION, message,
			 json_write_finish(&json, &err) == 0 ? buf_text(&data) : NULL);
}

static bool take_modern(struct mcp *mcp)
{
	const char *of_header = header(mcp, "mcp-protocol-version");
	struct err err;
	const int code = rpc_check_modern(&mcp->rpc, &err);

	if (mcp->rpc.version != NULL && of_header != NULL &&
	    strcmp(of_header, mcp->rpc.version) != 0) {
		mcp_error_status(
			mcp, 400, RPC_HEADER_MISMATCH,
			"the header MCP-Protocol-Version says something else than the body", NULL);
		return false;
	}
	if (code == RPC_UNSUPPORTED_VERSION)
		unsupported(mcp, mcp->rpc.version, err.text);
	else if (code != 0)
		mcp_error_status(mcp, 400, code, err.text, NULL);
	if (code != 0)
		return false;
	mcp->version = mcp->rpc.version;
	mcp->capabilities = mcp->rpc.capabilities;
	return mcp->rpc.kind != RPC_REQUEST || check_modern_headers(mcp);
}

/* Reads the request's session, which contains what was negotiated. */
static bool take_legacy(struct mcp *mcp)
{
	const char *session = header(mcp, "mcp-session-id");

	if (mcp->rpc.method != NULL && strcmp(mcp->rpc.method, "initialize") == 0)
		return true;
	if (session == NULL) {
		mcp_error_status(mcp, 400, RPC_INVALID_REQUEST,
				 "the header Mcp-Session-Id is missing: send initialize first",
				 NULL);
		return false;
	}
	if (!rpc_session_read(session, &mcp->version, &mcp->capabilities) ||
	    mcp_session_has_ended(session)) {
		mcp_error_status(mcp, 404, RPC_REFUSED,
				 "there is no such session: send initialize again", NULL);
		return false;
	}
	(void)snprintf(mcp->session, sizeof(mcp->session), "%s", session);
	return true;
}

static bool take_era(struct mcp *mcp)
{
	const char *version = header(mcp, "mcp-protocol-version");

	if (mcp->rpc.method != NULL && !mcp->rpc.is_modern && version != NULL &&
	    !rpc_is_legacy_version(version)) {
		if (strcmp(version, RPC_VERSION_MODERN) != 0) {
			unsupported(mcp, version, "this protocol version is not supported here");
			return false;
		}
		mcp->rpc.is_modern = true; /* and lacks what rpc_check_modern() will report */
	}
	return mcp->rpc.is_modern ? take_modern(mcp) : take_legacy(mcp);
}

/* The default session: named by the client's configuration, or a legacy client's own. */
static bool take_name(struct mcp *mcp)
{
	mcp->name = header(mcp, "reckon-session");
	if (mcp->name == NULL) {
		mcp->name = mcp->session[0] != '\0' ? mcp->session : NULL;
		return true;
	}
	if (id_is_name(mcp->name, strlen(mcp->name), "se"))
		return true;
	mcp_error_status(mcp, 400, RPC_REFUSED,
			 "the header Reckon-Session must be a name: 1 to 63 letters, digits, "
			 "'.', '_' and '-'",
			 NULL);
	return false;
}

/* ---- the message ------------------------------------------------------------------------------ */

static void accepted(struct mcp *mcp)
{
	if (answer_begin(mcp->request, 202, NULL, 0, NULL) == 0)
		answer_end(mcp->request);
}

static void dispatch(struct mcp *mcp)
{
	const struct method *method;
	char message[192];

	if (mcp->rpc.kind == RPC_RESPONSE) {
		(void)mcp_answered(mcp);
		accepted(mcp);
		return;
	}
	if (mcp->rpc.kind == RPC_NOTIFICATION) {
		if (strcmp(mcp->rpc.method, "notifications/cancelled") == 0)
			mcp_cancelled(mcp);
		accepted(mcp);
		return;
	}
	method = find_method(&mcp->rpc);
	if (method != NULL) {
		request_note(mcp->request, method->name, NULL, NULL);
		method->fn(mcp);
		return;
	}
	(void)snprintf(message, sizeof(message), "there is no method %s in this protocol version",
		       mcp->rpc.method);
	mcp_error(mcp, RPC_NO_METHOD, message, NULL);
}

static void post(struct mcp *mcp)
{
	cleanup_buf struct buf body = BUF_INIT(RPC_MESSAGE_MAX);
	enum rpc_code code = RPC_PARSE;
	struct err err;

	if (request_body(mcp->request, RPC_MESSAGE_MAX, &body) < 0)
		return;
	if (rpc_read(buf_text(&body), body.len, &mcp->rpc, &code, &err) < 0) {
		mcp_error_status(mcp, 400, code, err.text, NULL);
		return;
	}
	buf_done(&body);
	if (take_era(mcp) && take_name(mcp))
		dispatch(mcp);
}

/* ---- the request ------------------------------------------------------------------------------ */

static bool names_media(const char *header_value, const char *media)
{
	return header_value != NULL && strcasestr(header_value, media) != NULL;
}

/* Checks the head before reading anything of an unauthorized client. */
static bool may_post(struct mcp *mcp)
{
	const char *accept = header(mcp, "accept");

	if (!names_media(header(mcp, "content-type"), MCP_JSON)) {
		answer_refuse_simple(mcp->request, 415, "unsupported_media_type",
				     "a message is JSON", "send Content-Type: application/json");
		return false;
	}
	if (accept != NULL && !names_media(accept, MCP_JSON) && !names_media(accept, "*/*") &&
	    !names_media(accept, "text/event-stream")) {
		answer_refuse_simple(mcp->request, 406, "not_acceptable",
				     "answers are JSON or events",
				     "send Accept: application/json, text/event-stream");
		return false;
	}
	mcp->accepts_stream = names_media(accept, "text/event-stream");
	return true;
}

static bool has_good_key(struct mcp *mcp)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_key_check_out out;
	char key[136];

	if (mcp->has_fixtures && request_is_local(mcp->request))
		return true;
	request_key(mcp->request, key, sizeof(key));
	if (key[0] != '\0' && !request_may_present(mcp->request, key)) {
		answer_refuse_simple(mcp->request, 429, "too_many_attempts",
				     "too many unknown keys came from this address",
				     "use a key that is known, or wait");
		return false;
	}
	if (call_or_refuse(mcp->request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, &out,
			   &call) < 0)
		return false;
	mcp->must_approve = out.mcp_approve;
	return true;
}

static const struct refusal no_get = { .status = 405,
				       .code = "method_not_allowed",
				       .message = "messages are sent with POST",
				       .headers = "Allow: POST, DELETE\r\n" };

/* Resumes a legacy client's stream; a modern client calls again. */
static void resume(struct mcp *mcp)
{
	const char *version = header(mcp, "mcp-protocol-version");

	if (version != NULL && !rpc_is_legacy_version(version))
		answer_refuse(mcp->request, &no_get);
	else if (!names_media(header(mcp, "accept"), "text/event-stream"))
		answer_refuse_simple(mcp->request, 406, "not_acceptable", "a stream is events",
				     "send Accept: text/event-stream");
	else if (take_legacy(mcp) && take_name(mcp))
		mcp_resume(mcp, header(mcp, "last-event-id"));
}

static void serve(struct mcp *mcp)
{
	const struct http *http = request_head(mcp->request);

	if (strcmp(http->path, "/mcp") != 0 && strcmp(http->path, "/mcp/") != 0) {
		answer_refuse_simple(mcp->request, 404, "not_found", "there is nothing here",
				     "MCP is at /mcp");
	} else if (!request_origin_is_allowed(mcp->request)) {
		answer_refuse_simple(mcp->request, 403, "denied",
				     "pages of other origins may not use this server",
				     "send no Origin, or that of this server");
	} else if (http->verb == HTTP_VERB_GET && header(mcp, "last-event-id") != NULL) {
		if (has_good_key(mcp))
			resume(mcp);
	} else if (http->verb != HTTP_VERB_POST && http->verb != HTTP_VERB_DELETE) {
		answer_refuse(mcp->request, &no_get);
	} else if (has_good_key(mcp)) {
		if (http->verb == HTTP_VERB_DELETE)
			mcp_delete_session(mcp);
		else if (may_post(mcp))
			post(mcp);
	}
}

static void handle(struct request *request)
{
	struct mcp mcp = { .request = request, .has_fixtures = fixtures_are_on() };

	request_note(request, "/mcp", NULL, NULL);
	serve(&mcp);
	rpc_done(&mcp.rpc);
	arena_done(&mcp.arena);
}

static const struct key_place keys[] = { { KEY_BEARER, NULL },
					 { KEY_HEADER, "x-api-key" },
					 { KEY_NONE, NULL } };

const struct dialect dialect_mcp = {
	.name = "mcp",
	.keys = keys,
	.handle = handle,
	.refuse = mcp_refuse,
};
