/*
 * mcp.h - declarations shared by the files of the MCP dialect.
 *
 * Each calls those below it:
 *
 *   mcp.c              a request: headers, key, message, method
 *   call.c             tools/call
 *   methods.c          initialize, server/discover, lists
 *   resume.c           resumes a broken stream
 *   tools/files.c, tools/resources.c   files; files, outputs and figures by their URI
 *   fixtures*.c        fixtures of the conformance suite; only with RECKON_MCP_CONFORMANCE=1
 *   listen.c           subscriptions/listen
 *   tasks.c            tasks/…: executions that a client does not wait for
 *   tools/run.c, tools/output.c        code, and its output
 *   tools/approve.c    asks a person before a tool acts
 *   tools/session.c    the session of a call
 *   tools/figures.c, tools/content.c   figures, images and links in a result
 *   task.c             conversion of executions to tasks
 *   tools/tool.c       arguments, text and result of a tool
 *   running.c          running calls, for notifications/cancelled; questions to a client
 *   reply.c            results, errors, notifications: as one JSON answer, or as events
 *   rpc*.c             messages: JSON-RPC, eras, ids of sessions and events
 */
#pragma once

#include "api/arena.h"
#include "base/id.h"
#include "dialects/call.h"
#include "dialects/mcp/rpc.h"

#define MCP_JSON "application/json"
#define MCP_OUT_MAX ((size_t)64 * 1024 * 1024)
#define MCP_BEAT_MS 15000u
#define MCP_FIRST_MS 1000u /* after this long without an answer, a stream's head is sent */
#define MCP_TEXT_MIN 1024u
#define MCP_TEXT_DEFAULT 16384u
#define MCP_TEXT_MAX 100000u /* a result contains it twice */

/* A request, from its message to its answer. */
struct mcp {
	struct request *request;
	struct rpc rpc;
	struct arena arena;
	const char *version; /* the negotiated one */
	unsigned capabilities;
	char session[RPC_SESSION_SIZE]; /* Mcp-Session-Id; "" for a modern client */
	const char *name; /* of the default session; NULL: none */
	bool accepts_stream;
	bool has_begun; /* the answer is a stream */
	bool has_fixtures;
	bool must_approve; /* the key requires a person's approval of its actions */
	struct rpc_cursor cursor;
	bool is_resumed; /* continues the stream of an earlier request */
	char headers[RPC_SESSION_SIZE + 32]; /* for the answer */
};

/* ---- reply.c ---- */
/* `out` receives the whole message, `json` writes inside the result; mcp_result_end() sends it. */
void mcp_result_begin(const struct mcp *mcp, struct buf *out, struct json_writer *json);
void mcp_result_begin_as(const struct mcp *mcp, const char *type, struct buf *out,
			 struct json_writer *json);
void mcp_result_end(struct mcp *mcp, struct buf *out, struct json_writer *json);
void mcp_answer_empty(struct mcp *mcp);
/* Says that a modern client must not cache a list, and never share it. */
void mcp_write_caching(const struct mcp *mcp, struct json_writer *json);
void mcp_error(struct mcp *mcp, int code, const char *message, const char *data);
void mcp_error_status(struct mcp *mcp, unsigned status, int code, const char *message,
		      const char *data);
/* Turns the answer into a stream, if it is not one yet. Negative: the client is gone. */
int mcp_begin_stream(struct mcp *mcp);
/* From now on the stream of this call can be resumed. Negative: the client is gone. */
int mcp_resumable(struct mcp *mcp, const char *session, const char *execution, bool is_task);
/* `params`: a JSON object. */
int mcp_notify(struct mcp *mcp, const char *method, const char *params);
int mcp_send(struct mcp *mcp, const struct buf *message);
int mcp_progress(struct mcp *mcp, uint64_t total, const char *text, size_t len);
void mcp_refuse(struct request *request, const struct refusal *refusal);
void mcp_write_server(struct json_writer *json);
void mcp_write_versions(struct json_writer *json, bool with_legacy);

/* ---- methods.c ---- */
void mcp_initialize(struct mcp *mcp);
void mcp_discover(struct mcp *mcp);
void mcp_set_level(struct mcp *mcp);
void mcp_tools_list(struct mcp *mcp);
void mcp_prompts_list(struct mcp *mcp);
void mcp_complete(struct mcp *mcp);
void mcp_delete_session(struct mcp *mcp);
/* Whether the session was ended, as far as this process remembers. */
bool mcp_session_has_ended(const char *session);

/* ---- tools/resources.c ---- */
/* Percent-encodes characters that a URI must not contain. */
void mcp_write_file_uri(const char *session, const char *path, struct buf *uri);
void mcp_resources_list(struct mcp *mcp);
void mcp_resource_templates(struct mcp *mcp);
void mcp_resources_read(struct mcp *mcp);

/* ---- listen.c ---- */
void mcp_listen(struct mcp *mcp);
/* Notifies all clients that listen for it. */
void mcp_list_changed(bool tools);

/* ---- running.c ---- */
/* A running call, on its handler's stack. */
struct running {
	struct running *next;
	const struct mcp *mcp;
	char key[136];
	char session[ID_SIZE], execution[ID_SIZE];
	bool is_cancelled;
};
void running_add(struct running *running, const struct mcp *mcp);
void running_remove(struct running *running);
/* Handles notifications/cancelled. */
void mcp_cancelled(struct mcp *mcp);
/* Asks the client; *ret is its result, which lives as long as the arena of `mcp`. 1: a result; 0:
 * an error, a timeout, or the client cancelled the call; negative: the client is gone. */
int mcp_ask(struct mcp *mcp, const char *method, const char *params, struct buf *ret);
/* Handles a response to such a question; false: none is open. */
bool mcp_answered(struct mcp *mcp);

/* ---- call.c ---- */
void mcp_tools_call(struct mcp *mcp);

/* ---- tools/tool.c ---- */
/* A call of a tool, and its result. */
struct tool {
	struct mcp *mcp;
	const struct json_value *args;
	struct buf text;	   /* the first block's */
	struct buf content;	   /* further blocks: JSON, each after a comma */
	struct buf structured; /* structuredContent; "": none */
	size_t inlined;		   /* bytes of images so far */
	bool is_error;
	bool is_cancelled; /* the client does not want the answer */
	bool in_background; /* run_code starts the execution as a task */
	const char *task;   /* the id of the task that the result belongs to */
};
#define TOOL_INIT(mcp_)                                                                            \
	((struct tool){ .mcp = (mcp_),                                                             \
			.text = BUF_INIT(MCP_OUT_MAX),                                             \
			.content = BUF_INIT(MCP_OUT_MAX),                                          \
			.structured = BUF_INIT(MCP_OUT_MAX) })
void tool_done(struct tool *tool);
void mcp_answer_tool(struct tool *tool);
/* Writes the result's members. Negative: it is too large. */
int tool_write(struct tool *tool, struct json_writer *json);

/* An error that the model can act on. Both return 0: there is a result to send. */
int tool_fail(struct tool *tool, const char *text, const char *remedy);
int tool_failure(struct tool *tool, const struct api_failure *failure);
/* Makes a call to the daemon. 1: done; else the value that the tool returns. */
int tool_make(struct tool *tool, enum api_id id, const void *in, void *out, struct call *call,
	      int *ret);
void tool_say(struct tool *tool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Arguments. False: it has the wrong type, and an error was set. */
bool tool_text(struct tool *tool, const char *name, size_t max, const char **ret);
bool tool_number(struct tool *tool, const char *name, double least, double most, double *ret);

/* ---- tools/session.c ---- */
/*
 * Finds the session in the arguments, else the default session; `may_create` creates a missing one.
 * 1, else the value that the tool returns.
 */
int tool_find_session(struct tool *tool, bool may_create, char ret[ID_SIZE], int *ret_code);
int tool_session(struct tool *tool);
/* Whether the client's user can be asked for folders of their own computer. */
bool mcp_asks_for_folders(const struct mcp *mcp);

int tool_run(struct tool *tool);
/* Follows the execution in `running`, as the call that began it would. */
int tool_run_again(struct tool *tool, struct running *running);
/* Waits for an execution's end (1; else the value that the tool returns), and shows its record. */
int tool_run_wait(struct tool *tool, const char *session, const char *execution);
int tool_run_show(struct tool *tool, const char *session, const char *execution);
int tool_files(struct tool *tool);
int tool_output(struct tool *tool);

/* ---- task.c ---- */
/* Answers the call that began the task. */
void mcp_task_begun(struct tool *tool, const struct api_execution *execution);

/* ---- tasks.c ---- */
void mcp_tasks_get(struct mcp *mcp);
void mcp_tasks_update(struct mcp *mcp);
void mcp_tasks_result(struct mcp *mcp);
/* The same for an existing task; `must_wait`: it may still run. */
void mcp_task_result(struct mcp *mcp, const char *session, const char *execution, bool must_wait);
void mcp_tasks_cancel(struct mcp *mcp);
void mcp_tasks_list(struct mcp *mcp);
/* A task that a client with the extension listens to. */
struct task_watch {
	char id[2 * ID_SIZE];
	bool is_reported, is_over;
};
/* 1: it exists. */
int mcp_task_watch(struct mcp *mcp, const char *id, struct task_watch *ret);
/* Sends notifications/tasks: the status once, and the end. Negative: the client is gone. */
int mcp_task_tell(struct mcp *mcp, struct task_watch *watch);

/* ---- resume.c ---- */
/* Answers a GET with Last-Event-ID. */
void mcp_resume(struct mcp *mcp, const char *last);

/* ---- tools/approve.c ---- */
/* 1: go on; 0: there is a result to send; negative: it was answered, or the client is gone. */
int tool_approve(struct tool *tool, const char *name);

/* ---- tools/content.c ---- */
uint64_t mcp_text_budget(struct tool *tool);
bool mcp_is_image(const char *mime);
/* Adds an image block after the text; false: not a supported image, or it does not fit. */
bool tool_add_image(struct tool *tool, const void *bytes, size_t len, const char *mime);
void tool_add_link(struct tool *tool, const char *uri, const char *name, const char *mime,
		   bool has_size, uint64_t size);

/* ---- tools/figures.c ---- */
/* Adds each figure as an image for the model, with a link to the original. `uris`: one per line.
 * Negative: the client is gone. */
int tool_add_figures(struct tool *tool, const struct running *running,
		     const struct json_value *record, struct buf *uris);

/* ---- fixtures.c ---- */
bool fixtures_are_on(void);
/* False: not a fixture. */
bool fixtures_call(struct mcp *mcp, const char *tool, const struct json_value *args);
/* 1: call run_code with these arguments; 0: not such a fixture; -1: an answer was sent. */
int fixtures_code(struct mcp *mcp, const char *tool, const struct json_value *args,
		  struct json_value **ret);
bool fixtures_read(struct mcp *mcp, const char *uri);
bool fixtures_prompt(struct mcp *mcp);
/* Adds the entries of a fixture list, with a comma before each except the very first. */
void fixtures_add(const char *list, struct buf *entries);
