/*
 * answers.h - the mailbox of an execution, from the side that runs it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reckon_answers.h"

#define ANSWERS_CALLS_MAX 64u /* that wait at once */

/* One answer; `text` is freed by whoever took it. NULL: the end of input. */
struct answer {
	uint64_t call; /* 0: of input */
	int kind;
	char *text;
	size_t len;
};

int answers_fd(const struct reckon_answers *answers); /* readable when there may be answers */
/* `seq`: of the event; 0: none is expected any more. */
void answers_expect_input(struct reckon_answers *answers, uint64_t seq);
/* False: there is no room for one more. */
bool answers_expect_call(struct reckon_answers *answers, uint64_t call);
void answers_forget_calls(struct reckon_answers *answers);
bool answers_take(struct reckon_answers *answers, struct answer *ret);
