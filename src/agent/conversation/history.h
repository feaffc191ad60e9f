/*
 * history.h - a conversation of another day, put into the agent's own terms.
 */
#pragma once

#include "agent/conversation/model.h"
#include "base/err.h"
#include "wire/agent.h"

/* What is needed to say it as the model would have. */
struct history_way {
	enum agent_calling calling;
	const char *language;
	uint64_t *numbered; /* ids that were made; counted on */
};

/*
 * Appends one thing that happened to the conversation. Thoughts, signatures and images are not there; a
 * cell says how many images the model saw, which it does not see again. A note goes into `note`.
 */
int history_add(struct model_conversation *conv, const struct history_way *way,
		const struct agent_past *past, struct buf *note, struct err *err);
