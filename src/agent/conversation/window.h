/*
 * window.h - a conversation that stays within what its model can read. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/conversation/model.h"
#include "wire/agent.h"

/* What may be sent, so that an answer still fits beside it. */
uint64_t window_room(const struct agent_settings *settings);

/* Tokens, rather too many than too few. */
uint64_t window_estimate(const struct model_conversation *conv);

/*
 * Shortens and drops what is old until the conversation is estimated to fit; false: there is nothing left
 * to. The system text, the last question and the last results stay, and each result has its call.
 */
bool window_fit(struct model_conversation *conv, uint64_t tokens_max);

/* All of a result that was shortened, by its handle "result_N"; NULL: there is none. */
const struct buf *window_find(const struct model_conversation *conv, const char *handle);
