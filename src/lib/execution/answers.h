/*
 * answers.h - an execution's mailbox, as the executing side uses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reckon_answers.h"

#define ANSWERS_CALLS_MAX 64u /* calls that wait at once */

/* One answer; the code that takes it frees `text`. NULL: the end of input. */
struct answer {
	uint64_t call; /* 0: an answer to a request for input */
	int kind;
	char *text;
	size_t len;
};

int answers_fd(const struct reckon_answers *answers); /* readable when there may be answers */
/* `seq`: of the event; 0: no answer is expected any longer. */
void answers_expect_input(struct reckon_answers *answers, uint64_t seq);
/* False: too many calls are waiting. */
bool answers_expect_call(struct reckon_answers *answers, uint64_t call);
void answers_forget_calls(struct reckon_answers *answers);
bool answers_take(struct reckon_answers *answers, struct answer *ret);
