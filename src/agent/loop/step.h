/*
 * step.h - between what a model wants (step.c) and what comes of it (outcome.c).
 */
#pragma once

#include <stdbool.h>

#include "agent/loop/loop.h"
#include "agent/conversation/commands.h"
#include "agent/conversation/reading.h"

#define NOTE_MAX 512u
#define WORDS_MAX 4096u /* what repeat_tell() adds */

/* Source code, what is to be read again, or why there is neither. */
struct source {
	struct buf code;
	bool is_reading, is_shell;
	struct reading reading;
	struct commands commands; /* of the shell; `code` holds all of them */
	char problem[NOTE_MAX]; /* for the model; "" when there is something to do */
};

/* Both note in `results` what came; with end->over nothing more is to be done. */
int outcome_run(struct loop *loop, const struct model_call *call, struct source *source,
		struct model_turn *results, struct loop_end *end, struct err *err);
int outcome_commands(struct loop *loop, const struct model_call *call, struct source *source,
		     struct model_turn *results, struct loop_end *end, struct err *err);
int outcome_read(struct loop *loop, const struct model_call *call, struct source *source,
		 struct model_turn *results, struct loop_end *end, struct err *err);
