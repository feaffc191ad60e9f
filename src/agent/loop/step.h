/*
 * step.h - the interface between calls (step.c) and their results (outcome.c).
 */
#pragma once

#include <stdbool.h>

#include "agent/loop/loop.h"
#include "agent/conversation/commands.h"
#include "agent/conversation/reading.h"

#define NOTE_MAX 512u
#define WORDS_MAX 4096u /* limit of what repeat_tell() adds */

/* Code, a request to read an output, or the reason why there is neither. */
struct source {
	struct buf code;
	bool is_reading, is_shell;
	struct reading reading;
	struct commands commands; /* of the shell; `code` has all of them */
	char problem[NOTE_MAX]; /* for the model; "" if there is something to do */
};

/* Add their results to `results`; if end->over is set, the question ends. */
int outcome_run(struct loop *loop, const struct model_call *call, struct source *source,
		struct model_turn *results, struct loop_end *end, struct err *err);
int outcome_commands(struct loop *loop, const struct model_call *call, struct source *source,
		     struct model_turn *results, struct loop_end *end, struct err *err);
int outcome_read(struct loop *loop, const struct model_call *call, struct source *source,
		 struct model_turn *results, struct loop_end *end, struct err *err);
