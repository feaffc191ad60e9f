/*
 * prompt.h - writes the system prompt and the text of a question. Pure.
 */
#pragma once

#include "agent/conversation/model.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

/* Sets the system text, tool and schema. */
int prompt_begin(struct model_conversation *conv, enum agent_calling calling, const char *language,
		 struct err *err);

/*
 * Adds the shell tool: after prompt_begin() in addition to code, else alone. For models with tool
 * calls.
 */
int prompt_shell(struct model_conversation *conv, bool has_code, struct err *err);

/*
 * Describes the tools that code may call, in the form of AGENT_TAG_TOOLS; "": none. Call after
 * prompt_begin().
 */
int prompt_tools(struct model_conversation *conv, const char *language, const char *json,
		 struct err *err);

/* Appends the question and the files ("NAME (1.2 MB)") as the text of a user's turn. */
int prompt_question(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err);
