/*
 * window.h - keeps a conversation within the model's context window. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/conversation/model.h"
#include "wire/agent.h"

/* Tokens available for a request, so that an answer still fits. */
uint64_t window_room(const struct agent_settings *settings);

/* An estimate of tokens that is rather too high than too low. */
uint64_t window_estimate(const struct model_conversation *conv);

/*
 * Shortens and drops old turns until the conversation is estimated to fit; false: nothing is left
 * to shorten. Keeps the system text, the last question, the last results, and each result's call.
 */
bool window_fit(struct model_conversation *conv, uint64_t tokens_max);

/* The original of a shortened result by its handle "result_N"; NULL: not found. */
const struct buf *window_find(const struct model_conversation *conv, const char *handle);
