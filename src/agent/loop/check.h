/*
 * check.h - checks the numbers and links of an answer before it is final (agent/claims/claims.h).
 *
 * Unsupported claims are reported with the answer, and once to the model, which may run one more
 * cell and write a corrected answer. If that fails, the first answer is final.
 */
#pragma once

#include "agent/loop/loop.h"

/*
 * Adds what the model was shown since the last call to the evidence. Call before the conversation
 * is shortened.
 */
void check_note(struct loop *loop);
/*
 * Checks the turn if it is an answer, into loop->checked; sets loop->asks_again if it is not final.
 */
int check_turn(struct loop *loop, const struct model_turn *turn, struct err *err);
/* The same for a text that is the answer. */
int check_text(struct loop *loop, const struct buf *text, struct err *err);
/* With loop->asks_again: reports the claims to the model; its next answer is final. */
int check_ask_again(struct loop *loop, const struct buf *text, struct err *err);
/* The limit of cells, including one more for a correction. */
uint64_t check_steps_max(const struct loop *loop);
/* Call at the end of a question. */
int check_settle(struct loop *loop, struct loop_end *end, struct err *err);
