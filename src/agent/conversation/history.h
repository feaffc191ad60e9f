/*
 * history.h - converts the history of a stored run into turns.
 */
#pragma once

#include "agent/conversation/model.h"
#include "base/err.h"
#include "wire/agent.h"

/* How the model would have written the turns. */
struct history_way {
	enum agent_calling calling;
	const char *language;
	uint64_t *numbered; /* counter of generated ids; increased */
};

/*
 * Appends one item of the history. Reasoning, signatures and images are not stored; a cell says how
 * many images the model saw, and they are not sent again. A note is appended to `note`.
 */
int history_add(struct model_conversation *conv, const struct history_way *way,
		const struct agent_past *past, struct buf *note, struct err *err);
