/*
 * prompt.h - what a model is told before and beside the question. Pure.
 */
#pragma once

#include "agent/conversation/model.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

/* Fills in system text, tool and schema. */
int prompt_begin(struct model_conversation *conv, enum agent_calling calling, const char *language,
		 struct err *err);

/* Adds the shell: beside code after prompt_begin(), else alone. Of models that call tools. */
int prompt_shell(struct model_conversation *conv, bool has_code, struct err *err);

/* Tells of the tools that code may call, as AGENT_TAG_TOOLS has them; "": none. After prompt_begin(). */
int prompt_tools(struct model_conversation *conv, const char *language, const char *json,
		 struct err *err);

/* Appends question and files ("NAME (1.2 MB)") as the text of a user's turn. */
int prompt_question(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err);
