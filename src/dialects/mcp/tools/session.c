/*
 * session.c - finds the session of a call; the tool that lists, opens, restarts and ends sessions.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    names and ids from a model.
 * Never:    stores a session: the default one is the daemon's session whose name is in the header
 *           Reckon-Session, or is a legacy client's Mcp-Session-Id.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

#define IDLE_MS (4 * 3600 * 1000ull) /* a person may return to a chat after hours */
#define NO_SESSION "open one with the tool session (action new), or run code without a session"

/* The grant for host folders that every session sees, from `reckon mcp --mount`. */
static const char *grant_of_mounts(const struct mcp *mcp)
{
	return http_header(request_head(mcp->request), "reckon-grant");
}

/* The same, or a grant that the user gave later, when the model asked. */
static const char *grant_of(const struct mcp *mcp)
{
	const char *grant = grant_of_mounts(mcp);

	return grant != NULL ? grant
			     : http_header(request_head(mcp->request), "reckon-grant-later");
}

bool mcp_asks_for_folders(const struct mcp *mcp)
{
	return http_header(request_head(mcp->request), "reckon-folders") != NULL &&
	       (mcp->capabilities & RPC_CAN_ELICIT) != 0;
}

static void say_mounts(struct tool *tool, const struct api_session *session)
{
	const struct api_mount *mounts = session->mounts.items;

	for (size_t i = 0; i < session->mounts.count; i++)
		tool_say(tool, "[%s is the host's folder %.1000s, %s]\n", mounts[i].target,
			 mounts[i].source,
			 mounts[i].writable ? "also for writing" : "for reading alone");
}

/* 1: *ret is the live session of this name; 0: missing; -1: see *ret_code. */
static int find_named(struct tool *tool, const char *name, char ret[ID_SIZE], bool *ret_had,
		      bool *ret_mounts, int *ret_code)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_session *at;
	struct api_sessions page;

	if (!tool_make(tool, API_SESSION_LIST, &(struct api_session_list_in){ .name = name }, &page,
		       &call, ret_code))
		return -1;
	at = page.sessions.items;
	*ret_had = page.sessions.count > 0;
	for (size_t i = 0; i < page.sessions.count; i++)
		if (strcmp(at[i].status, "live") == 0) {
			(void)snprintf(ret, ID_SIZE, "%s", at[i].id);
			*ret_mounts = at[i].mounts.count > 0;
			return 1;
		}
	return 0;
}

/* 1: created; else see *ret_code. `name` may be NULL. */
static int create(struct tool *tool, const char *name, char ret[ID_SIZE], int *ret_code)
{
	static const char metadata[] = "{\"made_by\":\"mcp\"}";
	cleanup_call struct call call = CALL_INIT;
	struct api_session_create_in in = { .name = name,
					    .grant = grant_of(tool->mcp),
					    .metadata = { metadata, sizeof(metadata) - 1 },
					    .has_idle_timeout_ms = true,
					    .idle_timeout_ms = IDLE_MS };
	struct api_session session;
	bool had, has_mounts;
	enum call_status status =
		call_make(tool->mcp->request, API_SESSION_CREATE, &in, &session, &call);

	/* The tenant's limits may be lower: then use the defaults. */
	if (status == CALL_FAILED && call.failure->error == API_ERR_QUOTA_CAP) {
		in.has_idle_timeout_ms = false;
		status = call_make(tool->mcp->request, API_SESSION_CREATE, &in, &session, &call);
	}
	if (status == CALL_OK) {
		(void)snprintf(ret, ID_SIZE, "%s", session.id);
		say_mounts(tool, &session);
		return 1;
	}
	/* A concurrent call created it first. */
	if (status == CALL_FAILED && call.failure->error == API_ERR_SESSION_EXISTS && name != NULL)
		return find_named(tool, name, ret, &had, &has_mounts, ret_code) == 1;
	*ret_code = status == CALL_FAILED ? tool_failure(tool, call.failure) : -1;
	return 0;
}

static int find_given(struct tool *tool, const char *given, char ret[ID_SIZE], int *ret_code)
{
	char message[160];
	bool had, has_mounts;
	int found;

	if (strncmp(given, "se_", 3) == 0 && strlen(given) < ID_SIZE) {
		(void)snprintf(ret, ID_SIZE, "%s", given);
		return 1;
	}
	if (!id_is_name(given, strlen(given), "se")) {
		*ret_code =
			tool_fail(tool, "session must be the id of a session, se_...", NO_SESSION);
		return 0;
	}
	found = find_named(tool, given, ret, &had, &has_mounts, ret_code);
	if (found == 0) {
		(void)snprintf(message, sizeof(message), "there is no live session %.63s", given);
		*ret_code = tool_fail(tool, message, NO_SESSION);
	}
	return found == 1;
}

int tool_find_session(struct tool *tool, bool may_create, char ret[ID_SIZE], int *ret_code)
{
	const char *name = tool->mcp->name;
	const char *given;
	bool had = false, has_mounts = false;
	int found = 0;

	*ret_code = 0;
	if (!tool_text(tool, "session", 63, &given))
		return 0;
	if (given != NULL)
		return find_given(tool, given, ret, ret_code);
	if (name != NULL)
		found = find_named(tool, name, ret, &had, &has_mounts, ret_code);
	if (found == 1 && may_create && !has_mounts &&
	    grant_of_mounts(tool->mcp) != NULL) {
		*ret_code =
			tool_fail(tool,
				  "the default session was opened without the folders of "
				  "the host that are granted now",
				  "end it with the tool session (action end), then run the code "
				  "again; or start `reckon mcp` with another --session");
		return 0;
	}
	if (found != 0)
		return found == 1;
	if (!may_create) {
		*ret_code = tool_fail(tool, "there is no session yet", NO_SESSION);
		return 0;
	}
	if (had)
		tool_say(tool,
			 "[the session had ended; this is a new one, without its variables and "
			 "files]\n");
	return create(tool, name, ret, ret_code);
}

/* ---- the tool --------------------------------------------------------------------------------- */

static int list(struct tool *tool)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_session *at;
	struct api_sessions page;
	struct json_writer json;
	struct err ignored;
	int code;

	if (!tool_make(tool, API_SESSION_LIST, &(struct api_session_list_in){ 0 }, &page, &call,
		       &code))
		return code;
	json_write_init(&json, &tool->structured);
	json_write_object_begin(&json);
	json_write_key(&json, "sessions");
	json_write_array_begin(&json);
	at = page.sessions.items;
	for (size_t i = 0; i < page.sessions.count; i++) {
		if (strcmp(at[i].status, "live") != 0)
			continue;
		tool_say(tool, "%s %s since %s%s\n", at[i].id, at[i].language, at[i].created_at,
			 at[i].name != NULL && tool->mcp->name != NULL &&
					 strcmp(at[i].name, tool->mcp->name) == 0
				 ? " (the default)"
				 : "");
		json_write_object_begin(&json);
		json_write_member_string(&json, "session", at[i].id);
		json_write_member_string(&json, "language", at[i].language);
		json_write_member_string(&json, "created_at", at[i].created_at);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	json_write_object_end(&json);
	if (tool->text.len == 0)
		tool_say(tool, "no live sessions\n");
	return json_write_finish(&json, &ignored) < 0 ? tool_fail(tool, ignored.text, NULL) : 0;
}

/* Deletes everything in the workspace, one top-level entry at a time. */
static int empty(struct tool *tool, const char *session)
{
	cleanup_call struct call call = CALL_INIT, removed = CALL_INIT;
	struct json_value *document = NULL;
	const struct json_value *files;
	struct api_file_list_out out;
	struct err err;
	int code = 0;

	if (!tool_make(tool, API_FILE_LIST,
		       &(struct api_file_list_in){ .session = session, .has_recursive = true },
		       &out, &call, &code))
		return code;
	if (json_read_parse(out.files.data, out.files.len, MCP_OUT_MAX, &document, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	files = json_read_member(document, "files");
	for (size_t i = 0; i < json_read_count(files) && code == 0 && !tool->is_error; i++)
		(void)tool_make(tool, API_FILE_DELETE,
				&(struct api_file_delete_in){
					.session = session,
					.path = rpc_text(json_read_at(files, i), "path", 4095),
					.has_recursive = true,
					.recursive = true },
				NULL, &removed, &code);
	json_read_free(document);
	return code;
}

static void give(struct tool *tool, const char *session, const char *what)
{
	struct json_writer json;
	struct err ignored;

	tool_say(tool, "session %s %s\n", session, what);
	json_write_init(&json, &tool->structured);
	json_write_object_begin(&json);
	json_write_member_string(&json, "session", session);
	json_write_object_end(&json);
	(void)json_write_finish(&json, &ignored);
}

static int change(struct tool *tool, const char *action)
{
	cleanup_call struct call call = CALL_INIT;
	char session[ID_SIZE];
	int code;

	if (!tool_find_session(tool, false, session, &code))
		return code;
	if (strcmp(action, "end") == 0) {
		if (tool_make(tool, API_SESSION_DELETE,
			      &(struct api_session_delete_in){ .session = session }, NULL, &call,
			      &code))
			give(tool, session, "ended");
		return tool->is_error ? 0 : code;
	}
	if (!tool_make(tool, API_RESTART, &(struct api_restart_in){ .session = session }, NULL,
		       &call, &code))
		return code;
	code = strcmp(action, "reset") == 0 ? empty(tool, session) : 0;
	if (code == 0 && !tool->is_error)
		give(tool, session, strcmp(action, "reset") == 0
					    ? "was reset: no variables, no files"
					    : "was restarted: variables are gone, files are there");
	return code;
}

/*
 * Opens a session that sees the folder that the user has granted; `reckon mcp` asks the user before
 * it passes the call on. Existing sessions do not see the folder, and stay unchanged.
 */
static int mount(struct tool *tool)
{
	const char *name = tool->mcp->name;
	bool had = false, has_mounts = false;
	char session[ID_SIZE];
	int code = 0, found = 0;

	if (grant_of(tool->mcp) == NULL)
		return tool_fail(tool, "no folder of a computer can be had here",
				 "`reckon mcp` on the user's own computer asks for one, in a "
				 "client that has elicitation");
	if (name != NULL)
		found = find_named(tool, name, session, &had, &has_mounts, &code);
	if (found < 0 || !create(tool, found == 0 ? name : NULL, session, &code))
		return code;
	give(tool, session,
	     name != NULL && found == 0
		     ? "is new, and the default"
		     : "is new, and sees it: pass this id to other calls; sessions that were open "
		       "before do not see it");
	return 0;
}

int tool_session(struct tool *tool)
{
	char session[ID_SIZE];
	const char *action;
	int code = 0;

	if (!tool_text(tool, "action", 16, &action))
		return 0;
	if (action != NULL && strcmp(action, "list") == 0)
		return list(tool);
	if (action != NULL && strcmp(action, "new") == 0) {
		if (create(tool, NULL, session, &code))
			give(tool, session, "is new: pass this id to other calls");
		return code;
	}
	if (action != NULL && strcmp(action, "mount") == 0)
		return mount(tool);
	if (action != NULL && (strcmp(action, "restart") == 0 || strcmp(action, "reset") == 0 ||
			       strcmp(action, "end") == 0))
		return change(tool, action);
	return tool_fail(tool, "action must be list, new, restart, reset or end", NULL);
}
