/*
 * mcp.h - what the files of the MCP dialect share.
 *
 * Each calls those below it:
 *
 *   mcp.c              a request: headers, key, message, which method
 *   call.c             tools/call: which tool, what became of it
 *   methods.c          initialize, server/discover, lists
 *   resume.c           a stream that broke off goes on
 *   tools/files.c, tools/resources.c   files; files, outputs and figures by their URI
 *   fixtures*.c        what the conformance suite asks for; only with RECKON_MCP_CONFORMANCE=1
 *   listen.c           subscriptions/listen
 *   tasks.c            tasks/…: executions that a client does not wait for
 *   tools/run.c, tools/output.c        code, and what it put out
 *   tools/approve.c    asking a person before a tool does something
 *   tools/session.c    which session a call is about
 *   tools/figures.c, tools/content.c   figures, images, files and links of a result
 *   task.c             what a task is
 *   tools/tool.c       arguments, what a tool says, its result
 *   running.c          calls that run, for notifications/cancelled, and questions to a client
 *   reply.c            results, errors, notifications: as one JSON answer, or as events
 *   rpc*.c             messages: JSON-RPC, eras, ids of sessions and events; pure
 */
#pragma once

#include "api/arena.h"
#include "base/id.h"
#include "dialects/call.h"
#include "dialects/mcp/rpc.h"

#define MCP_JSON "application/json"
#define MCP_OUT_MAX ((size_t)64 * 1024 * 1024)
#define MCP_BEAT_MS 15000u
#define MCP_FIRST_MS 1000u /* without an answer so long, the head of a stream is sent */
#define MCP_TEXT_MIN 1024u
#define MCP_TEXT_DEFAULT 16384u
#define MCP_TEXT_MAX 100000u /* it stands in a result twice */

/* A request, from its message to its answer. */
struct mcp {
	struct request *request;
	struct rpc rpc;
	struct arena arena;
	const char *version; /* agreed on */
	unsigned capabilities;
	char session[RPC_SESSION_SIZE]; /* Mcp-Session-Id; "" of a modern client */
	const char *name; /* of the default session; NULL: there is none */
	bool accepts_stream;
	bool has_begun; /* the answer is a stream */
	bool has_fixtures;
	bool must_approve; /* its key says that a person approves what it does */
	struct rpc_cursor cursor;
	bool is_resumed; /* the stream of an earlier request goes on */
	char headers[RPC_SESSION_SIZE + 32]; /* of the answer */
};

/* ---- reply.c ---- */
/* `out` gets the whole message, `json` stands in the result; mcp_result_end() sends it. */
void mcp_result_begin(const struct mcp *mcp, struct buf *out, struct json_writer *json);
void mcp_result_begin_as(const struct mcp *mcp, const char *type, struct buf *out,
			 struct json_writer *json);
void mcp_result_end(struct mcp *mcp, struct buf *out, struct json_writer *json);
void mcp_answer_empty(struct mcp *mcp);
/* How long a modern client may keep a list: not at all, and for itself alone. */
void mcp_write_caching(const struct mcp *mcp, struct json_writer *json);
void mcp_error(struct mcp *mcp, int code, const char *message, const char *data);
void mcp_error_status(struct mcp *mcp, unsigned status, int code, const char *message,
		      const char *data);
/* The answer becomes a stream, if it is none yet. Negative: nobody is left. */
int mcp_begin_stream(struct mcp *mcp);
/* The stream of this call can be resumed from here on. Negative: nobody is left. */
int mcp_resumable(struct mcp *mcp, const char *session, const char *execution, bool is_task);
/* `params`: an object as JSON. */
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
/* Whether it was ended, as far as this process remembers. */
bool mcp_session_has_ended(const char *session);

/* ---- tools/resources.c ---- */
/* What a URI may not hold as it is, is percent-encoded. */
void mcp_write_file_uri(const char *session, const char *path, struct buf *uri);
void mcp_resources_list(struct mcp *mcp);
void mcp_resource_templates(struct mcp *mcp);
void mcp_resources_read(struct mcp *mcp);

/* ---- listen.c ---- */
void mcp_listen(struct mcp *mcp);
/* To all that listen for it. */
void mcp_list_changed(bool tools);

/* ---- running.c ---- */
/* A call that runs, on the stack of its handler. */
struct running {
	struct running *next;
	const struct mcp *mcp;
	char key[136];
	char session[ID_SIZE], execution[ID_SIZE];
	bool is_cancelled;
};
void running_add(struct running *running, const struct mcp *mcp);
void running_remove(struct running *running);
/* notifications/cancelled. */
void mcp_cancelled(struct mcp *mcp);
/* Asks the client; *ret is its result, which lives as long as the arena of `mcp`. 1: it answered with
 * a result; 0: with an error, not in time, or it cancelled the call; negative: nobody is left. */
int mcp_ask(struct mcp *mcp, const char *method, const char *params, struct buf *ret);
/* A response to that; false when nobody waits for it. */
bool mcp_answered(struct mcp *mcp);

/* ---- call.c ---- */
void mcp_tools_call(struct mcp *mcp);

/* ---- tools/tool.c ---- */
/* What a tool gives. */
struct tool {
	struct mcp *mcp;
	const struct json_value *args;
	struct buf text;	   /* the first block */
	struct buf content;	   /* further blocks: JSON, each with a comma before it */
	struct buf structured; /* structuredContent; "" : none */
	size_t inlined;		   /* bytes of images so far */
	bool is_error;
	bool is_cancelled; /* nobody wants the answer */
	bool in_background; /* run_code begins, and its execution is a task */
	const char *task;   /* the id of that whose result it is */
};
#define TOOL_INIT(mcp_)                                                                            \
	((struct tool){ .mcp = (mcp_),                                                             \
			.text = BUF_INIT(MCP_OUT_MAX),                                             \
			.content = BUF_INIT(MCP_OUT_MAX),                                          \
			.structured = BUF_INIT(MCP_OUT_MAX) })
void tool_done(struct tool *tool);
void mcp_answer_tool(struct tool *tool);
/* The members of its result. Negative: it is larger than what is sent. */
int tool_write(struct tool *tool, struct json_writer *json);

/* An error that the model can act on. They return 0: there is something to answer. */
int tool_fail(struct tool *tool, const char *text, const char *remedy);
int tool_failure(struct tool *tool, const struct api_failure *failure);
/* A call of the daemon. 1: it is done; else what the tool returns. */
int tool_make(struct tool *tool, enum api_id id, const void *in, void *out, struct call *call,
	      int *ret);
void tool_say(struct tool *tool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Arguments. False: it is there and of another kind, which is said. */
bool tool_text(struct tool *tool, const char *name, size_t max, const char **ret);
bool tool_number(struct tool *tool, const char *name, double least, double most, double *ret);

/* ---- tools/session.c ---- */
/*
 * The id of the session that the arguments name, else that of the default session; with `may_create` one is opened when there is none. 1, else what the tool returns.
 */
int tool_find_session(struct tool *tool, bool may_create, char ret[ID_SIZE], int *ret_code);
int tool_session(struct tool *tool);
/* Whether its person can be asked for folders of the client's own computer. */
bool mcp_asks_for_folders(const struct mcp *mcp);

int tool_run(struct tool *tool);
/* The execution that `running` names, as the call that began it would. */
int tool_run_again(struct tool *tool, struct running *running);
/* An execution: until its end (1; else what the tool returns), and what is shown of its record. */
int tool_run_wait(struct tool *tool, const char *session, const char *execution);
int tool_run_show(struct tool *tool, const char *session, const char *execution);
int tool_files(struct tool *tool);
int tool_output(struct tool *tool);

/* ---- task.c ---- */
/* Answers the call that began it. */
void mcp_task_begun(struct tool *tool, const struct api_execution *execution);

/* ---- tasks.c ---- */
void mcp_tasks_get(struct mcp *mcp);
void mcp_tasks_update(struct mcp *mcp);
void mcp_tasks_result(struct mcp *mcp);
/* The same of a task that is there; `must_wait`: it may go on. */
void mcp_task_result(struct mcp *mcp, const char *session, const char *execution, bool must_wait);
void mcp_tasks_cancel(struct mcp *mcp);
void mcp_tasks_list(struct mcp *mcp);
/* A task that a client of the extension listens for. */
struct task_watch {
	char id[2 * ID_SIZE];
	bool is_told, is_over;
};
/* 1: it is there. */
int mcp_task_watch(struct mcp *mcp, const char *id, struct task_watch *ret);
/* notifications/tasks: how it stands, once, and how it ended. Negative: nobody is left. */
int mcp_task_tell(struct mcp *mcp, struct task_watch *watch);

/* ---- resume.c ---- */
/* GET with Last-Event-ID. */
void mcp_resume(struct mcp *mcp, const char *last);

/* ---- tools/approve.c ---- */
/* 1: go on; 0: there is something to answer; negative: it has been answered, or nobody is left. */
int tool_approve(struct tool *tool, const char *name);

/* ---- tools/content.c ---- */
uint64_t mcp_text_budget(struct tool *tool);
bool mcp_is_image(const char *mime);
/* An image block; false: it is none, or does not fit. After the text. */
bool tool_add_image(struct tool *tool, const void *bytes, size_t len, const char *mime);
void tool_add_link(struct tool *tool, const char *uri, const char *name, const char *mime,
		   bool has_size, uint64_t size);

/* ---- tools/figures.c ---- */
/* Each as an image that a model can look at, and a link to it as it was drawn. `uris`: one a line.
 * Negative: nobody is left. */
int tool_add_figures(struct tool *tool, const struct running *running,
		     const struct json_value *record, struct buf *uris);

/* ---- fixtures.c ---- */
bool fixtures_are_on(void);
/* False: it is none of them. */
bool fixtures_call(struct mcp *mcp, const char *tool, const struct json_value *args);
/* 1: run_code has to be called, with these arguments; 0: it is none of them; -1: it was answered. */
int fixtures_code(struct mcp *mcp, const char *tool, const struct json_value *args,
		  struct json_value **ret);
bool fixtures_read(struct mcp *mcp, const char *uri);
bool fixtures_prompt(struct mcp *mcp);
/* The entries of one of their lists, with a comma before each but the first of all. */
void fixtures_add(const char *list, struct buf *entries);
