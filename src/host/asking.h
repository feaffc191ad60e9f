/* asking.h - what the code of an execution may ask its client: lines of input, calls of tools. */
#pragma once

#include <stdbool.h>

#include "api/calls.h"
#include "base/err.h"
#include "reckon_answers.h"

struct asked;
struct asking;
struct host;

/* Whether the tools are such; answers when they are not. */
bool asking_is_good(struct host *host, const struct asked *asked, const struct api_execute_in *in);
/* *ret NULL: it may ask nothing. */
int asking_new(const struct api_execute_in *in, struct asking **ret, struct err *err);
void asking_free(struct asking *asking); /* NULL is fine */
/* For its thread; NULL is fine. */
const reckon_questions *asking_questions(const struct asking *asking);
