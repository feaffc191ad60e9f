/*
 * parked.h - a conversation that comes from elsewhere, and what the application answers.
 */
#pragma once

#include "agent/loop/loop.h"

/* Takes the document in loop->link in place of the conversation. */
int parked_take_conversation(struct loop *loop, struct err *err);
/* Images of the last frame go to the turn, where the model takes any. */
void parked_add_images(const struct loop *loop, struct model_turn *turn);
/*
 * Gives the calls that wait the results in loop->link, or the last question its images; there must
 * be something to answer then.
 */
int parked_take_results(struct loop *loop, struct err *err);
