/*
 * conversation.h - a whole conversation as one JSON document, reckon.conversation/1. Pure.
 *
 * Clients send a conversation in this form (messages, instructions, the application's tools,
 * sampling), and it is stored in this form when a run waits or ends, so that another agent can
 * continue it later on another host. AGENT_CONVERSATION_MAX limits its size.
 * docs/conversation.schema.json is the schema:
 *
 *   {"schema": "reckon.conversation/1",
 *    "instructions": "…",               the application's; they follow ours if code can run
 *    "code": true,                      the model can run code; false: only the tools can
 *    "shell": false,                    the model can run shell commands, with or without code
 *    "tools": [{"name", "description", "parameters", "cell": {"before", "after", "quoted"}}],
 *                                       with "cell", code in the session answers: tool_cell.h
 *    "tool_choice": "auto",             or "none", "required", the name of a tool
 *    "parallel_tool_calls": true,
 *    "pause": false,                    true: at the limit of cells the run ends, and can be
 *                                       continued; false: the model is told to answer
 *    "max_calls": 0,                    cells and tool calls of one run in total; 0: no limit
 *    "output": {"name", "schema", "strict"},   a JSON answer; without it any text
 *    "sampling": {"temperature", "top_p", "seed", "stop": [], "max_tokens", "reasoning_effort"},
 *    "messages": [
 *      {"role": "system", "text"},
 *      {"role": "user", "text", "images": [{"mime", "base64"}], "files": ["NAME (1.2 MB)"]},
 *      {"role": "assistant", "text", "calls": [{"id", "name", "arguments": {}}],
 *       "sealed": [{"made_by", "items": [{…}]}, {"made_by", "call": 0, "extra": {…}}]},
 *                                         signed thoughts, as sent in AGENT_SEALED
 *      {"role": "tool", "results": [{"id", "text", "failed": false}], "images": []}],
 *    "made_by": "…", "usage": {…}, …}   written by a run, opaque to clients
 *
 * Unknown members are ignored. Thoughts, signatures and encrypted items of assistant messages are
 * only sent to the model that made them.
 */
#pragma once

#include "agent/conversation/model.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

#define CONVERSATION_SCHEMA "reckon.conversation/1"

/* The settings and state in a document besides the messages. */
struct conversation {
	bool runs_code, runs_shell;
	bool pauses; /* at the limit of cells the run ends; else the model is told to answer */
	uint64_t calls_max; /* 0: no limit */
	uint64_t calls;	    /* cells and calls of the waiting run */
	struct agent_usage usage; /* of the run that waits for the application */
	uint64_t made_by;   /* conversation_maker() */
	struct buf instructions;
};

void conversation_init(struct conversation *conversation);
void conversation_done(struct conversation *conversation);

/* An id of a model at a server: only this model understands its encrypted items. */
uint64_t conversation_maker(const struct agent_settings *settings, const char *base_url,
			    const char *model);

/*
 * Parses a document into a conversation without turns or tools: turns, the application's tools and
 * sampling. The text of ERR_INVALID is for the document's author.
 */
int conversation_read(const char *json, size_t len, uint64_t maker,
		      struct conversation *conversation, struct model_conversation *conv,
		      struct err *err);

/* Appends the document. If it would be too long, drops images, the oldest first. */
int conversation_write(const struct conversation *conversation,
		       const struct model_conversation *conv, struct buf *ret, struct err *err);

/* The index-th call of an application's tool that the last answer waits for, or NULL. */
const struct model_call *conversation_waiting(const struct model_conversation *conv, size_t index);

/* Adds a result to each unanswered call of the last answer, which says that there is none. */
int conversation_close_calls(struct model_conversation *conv, struct err *err);
