/*
 * parked.h - loads a conversation document, and results of the application.
 */
#pragma once

#include "agent/loop/loop.h"

/* Replaces the conversation by the document in loop->link. */
int parked_take_conversation(struct loop *loop, struct err *err);
/* Adds the images of the last frame to the turn, if the model accepts images. */
void parked_add_images(const struct loop *loop, struct model_turn *turn);
/*
 * Gives the waiting calls the results in loop->link, or the last question its images; fails if
 * there is nothing for the model to answer then.
 */
int parked_take_results(struct loop *loop, struct err *err);
