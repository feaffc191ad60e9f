/*
 * methods.c - requests before the first call: initialize, server/discover, lists.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    messages that rpc.c accepted.
 * Never:    lists a feature that does not exist.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"
#include "dialects/mcp/tools_list.h"

#define ENDED_MAX 256u

static const char instructions[] =
	"Reckon runs code in a sandbox that keeps variables and files between calls. Run code with "
	"run_code; pass the session id that it returns to later calls to go on in the same session "
	"(clients with a session of their own may leave it out). Files live in the session's "
	"working "
	"directory. Output that was cut has a handle: page through it with output. There is no "
	"network.";

/* Sessions that clients ended here. A forgotten one counts as new. */
static char ended[ENDED_MAX][RPC_SESSION_SIZE];
static size_t ended_count;

bool mcp_session_has_ended(const char *session)
{
	for (size_t i = 0; i < ENDED_MAX && i < ended_count; i++)
		if (strcmp(ended[i], session) == 0)
			return true;
	return false;
}

/* ---- capabilities ----------------------------------------------------------------------------- */

static void write_changes(struct json_writer *json, const char *name, bool has_changes)
{
	json_write_key(json, name);
	json_write_object_begin(json);
	if (has_changes)
		json_write_member_bool(json, "listChanged", true);
	json_write_object_end(json);
}

static void write_capabilities(const struct mcp *mcp, struct json_writer *json)
{
	static const char tasks[] =
		"{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}";
	static const char extensions[] = "{\"" RPC_TASKS "\":{}}";

	json_write_key(json, "capabilities");
	json_write_object_begin(json);
	write_changes(json, "tools", mcp->has_fixtures);
	json_write_key(json, "resources");
	json_write_object_begin(json);
	if (mcp->has_fixtures && !mcp->rpc.is_modern)
		json_write_member_bool(json, "subscribe", true);
	json_write_object_end(json);
	if (mcp->has_fixtures) {
		write_changes(json, "prompts", true);
		write_changes(json, "completions", false);
	}
	if (!mcp->rpc.is_modern || mcp->has_fixtures)
		write_changes(json, "logging", false);
	if (!mcp->rpc.is_modern) {
		json_write_key(json, "tasks");
		json_write_raw(json, tasks, sizeof(tasks) - 1);
	} else {
		json_write_key(json, "extensions");
		json_write_raw(json, extensions, sizeof(extensions) - 1);
	}
	json_write_object_end(json);
}

void mcp_initialize(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	const char *version = rpc_text(mcp->rpc.params, "protocolVersion", 32);
	const struct json_value *can = json_read_member(mcp->rpc.params, "capabilities");
	char session[RPC_SESSION_SIZE];
	struct json_writer json;
	struct err err;

	if (version == NULL) {
		mcp_error(mcp, RPC_INVALID_PARAMS, "params.protocolVersion is missing", NULL);
		return;
	}
	if (!rpc_is_legacy_version(version))
		version = RPC_VERSION_LEGACY;
	if (rpc_session_write(version, rpc_capabilities(can), session, &err) < 0) {
		mcp_error(mcp, RPC_INTERNAL, err.text, NULL);
		return;
	}
	(void)snprintf(mcp->headers, sizeof(mcp->headers), "Mcp-Session-Id: %s\r\n", session);
	mcp_result_begin(mcp, &out, &json);
	json_write_member_string(&json, "protocolVersion", version);
	write_capabilities(mcp, &json);
	json_write_key(&json, "serverInfo");
	mcp_write_server(&json);
	json_write_member_string(&json, "instructions", instructions);
	mcp_result_end(mcp, &out, &json);
}

void mcp_discover(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, "supportedVersions");
	mcp_write_versions(&json, false);
	write_capabilities(mcp, &json);
	json_write_member_string(&json, "instructions", instructions);
	mcp_write_caching(mcp, &json);
	mcp_result_end(mcp, &out, &json);
}

/* Accepts the level, but logs nothing: results contain everything. */
void mcp_set_level(struct mcp *mcp)
{
	static const char *const levels[] = { "debug", "info", "notice", "warning", "error",
					      "critical", "alert", "emergency" };
	const char *level = rpc_text(mcp->rpc.params, "level", 16);

	for (size_t i = 0; level != NULL && i < ARRAY_LEN(levels); i++)
		if (strcmp(level, levels[i]) == 0) {
			mcp_answer_empty(mcp);
			return;
		}
	mcp_error(mcp, RPC_INVALID_PARAMS, "params.level must be a level of RFC 5424, such as info",
		  NULL);
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* `entries`: comma-separated, or "". `fixtures`: name of the fixtures' list of that kind. */
static void answer_list(struct mcp *mcp, const char *name, const char *entries,
			const char *fixtures)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX), inner = BUF_INIT(MCP_OUT_MAX);
	struct json_writer json;
	struct err err;

	if (json_read_member(mcp->rpc.params, "cursor") != NULL) {
		mcp_error(mcp, RPC_INVALID_PARAMS, "there is no such cursor: the list has one page",
			  NULL);
		return;
	}
	if (buf_adds(&inner, entries, &err) < 0) {
		mcp_error(mcp, RPC_INTERNAL, err.text, NULL);
		return;
	}
	if (mcp->has_fixtures)
		fixtures_add(fixtures, &inner);
	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, name);
	json_write_array_begin(&json);
	if (inner.len > 0)
		json_write_raw(&json, buf_text(&inner), inner.len);
	json_write_array_end(&json);
	mcp_write_caching(mcp, &json);
	mcp_result_end(mcp, &out, &json);
}

void mcp_tools_list(struct mcp *mcp)
{
	answer_list(mcp, "tools",
		    mcp_asks_for_folders(mcp) ? mcp_tools_folders_json : mcp_tools_json, "tools");
}

void mcp_prompts_list(struct mcp *mcp)
{
	answer_list(mcp, "prompts", "", "prompts");
}

static const char file_templates[] =
	"{\"uriTemplate\":\"reckon://files/{session}/{+path}\",\"name\":\"file\","
	"\"description\":\"A file of a session's working directory\"},"
	"{\"uriTemplate\":\"reckon://artifacts/{artifact}\",\"name\":\"artifact\","
	"\"description\":\"A file as a call left it, ar_…\"},"
	"{\"uriTemplate\":\"reckon://figures/{session}/{execution}/{number}\","
	"\"name\":\"figure\",\"description\":\"A figure of a call, as it was drawn\"},"
	"{\"uriTemplate\":\"reckon://outputs/{handle}\",\"name\":\"output\","
	"\"description\":\"The whole of output that was cut\"}";

void mcp_resource_templates(struct mcp *mcp)
{
	answer_list(mcp, "resourceTemplates", file_templates, "templates");
}

void mcp_complete(struct mcp *mcp)
{
	cleanup_buf struct buf out = BUF_INIT(MCP_OUT_MAX);
	static const char none[] = "{\"values\":[],\"total\":0,\"hasMore\":false}";
	struct json_writer json;

	mcp_result_begin(mcp, &out, &json);
	json_write_key(&json, "completion");
	json_write_raw(&json, none, sizeof(none) - 1);
	mcp_result_end(mcp, &out, &json);
}

/* ---- ending a session
 * ------------------------------------------------------------------------- */

/* Ends the daemon's session of that name; most clients never created one. */
static int end_session(struct mcp *mcp, const char *session)
{
	cleanup_call struct call list = CALL_INIT, call = CALL_INIT;
	struct api_sessions page;
	const struct api_session *at;

	switch (call_make(mcp->request, API_SESSION_LIST,
			  &(struct api_session_list_in){ .name = session }, &page, &list)) {
	case CALL_OK:
		break;
	case CALL_GONE:
		return -1;
	case CALL_FAILED:
	case CALL_WAITS:
		return 0;
	}
	at = page.sessions.items;
	for (size_t i = 0; i < page.sessions.count; i++)
		if (strcmp(at[i].status, "live") == 0 &&
		    call_make(mcp->request, API_SESSION_DELETE,
			      &(struct api_session_delete_in){ .session = at[i].id }, NULL,
			      &call) == CALL_GONE)
			return -1;
	return 0;
}

static void accept_end(struct mcp *mcp)
{
	if (answer_begin(mcp->request, 204, NULL, 0, NULL) == 0)
		answer_end(mcp->request);
}

/*
 * Ends the session of a handshake, whose id may be the name of a default session. A session that
 * the client named stays when the client leaves, and ends only if the request names it alone.
 */
void mcp_delete_session(struct mcp *mcp)
{
	const char *session = http_header(request_head(mcp->request), "mcp-session-id");
	const char *version = http_header(request_head(mcp->request), "mcp-protocol-version");

	const char *name = http_header(request_head(mcp->request), "reckon-session");

	if (session == NULL && name != NULL && id_is_name(name, strlen(name), "se")) {
		if (end_session(mcp, name) == 0)
			accept_end(mcp);
		return;
	}
	if (session == NULL || (version != NULL && strcmp(version, RPC_VERSION_MODERN) == 0)) {
		answer_refuse(mcp->request,
			      &(struct refusal){ .status = 405,
						 .code = "method_not_allowed",
						 .message = "there is no session to end",
						 .headers = "Allow: POST\r\n" });
		return;
	}
	if (!rpc_session_read(session, &mcp->version, &mcp->capabilities) ||
	    mcp_session_has_ended(session)) {
		answer_refuse_simple(mcp->request, 404, "session_not_found",
				     "there is no such session", NULL);
		return;
	}
	if (end_session(mcp, session) < 0)
		return;
	(void)snprintf(ended[ended_count++ % ENDED_MAX], RPC_SESSION_SIZE, "%s", session);
	accept_end(mcp);
}
