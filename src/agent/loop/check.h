/*
 * check.h - an answer whose numbers and links are looked up before it counts (agent/claims/claims.h).
 *
 * What nothing supports is told with the answer, and once to the model: it may run one cell more
 * and says all again. When nothing comes of that the first answer stands.
 */
#pragma once

#include "agent/loop/loop.h"

/* Takes in what the model was shown since; before the conversation is shortened. */
void check_note(struct loop *loop);
/* Looks up the turn when it is an answer, into loop->checked; loop->asks_again: not yet the last. */
int check_turn(struct loop *loop, const struct model_turn *turn, struct err *err);
/* The same of a text that is the answer. */
int check_text(struct loop *loop, const struct buf *text, struct err *err);
/* With loop->asks_again: tells the model, whose next answer counts. */
int check_ask_again(struct loop *loop, const struct buf *text, struct err *err);
/* How many cells there may be by now. */
uint64_t check_steps_max(const struct loop *loop);
/* At the end of a question. */
int check_settle(struct loop *loop, struct loop_end *end, struct err *err);
