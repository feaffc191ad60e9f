/*
 * kinds.c - the document collections of Assistants, and of conversation items.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    nothing.
 * Never:    calls anything.
 */
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/assistants/threads.h"

const struct object_kind thread_kind = { "conversation.openai.threads", "thread_", "thread" };
const struct object_kind thread_message_kind = { "conversation.openai.thread_messages", "msg_",
						 "thread.message" };
const struct object_kind thread_run_kind = { "conversation.openai.thread_runs", "run_",
					     "thread.run" };
const struct object_kind thread_step_kind = { "conversation.openai.thread_run_steps", "step_",
					      "thread.run.step" };
const struct object_kind conversation_item_kind = { "conversation.openai.conversation_items",
						    "msg_", "conversation item" };
const struct object_kind assistant_kind = { "openai.assistants", "asst_", "assistant" };
