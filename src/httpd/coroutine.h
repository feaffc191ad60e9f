/*
 * coroutine.h - functions that may wait in the middle, in one thread: each has a stack of its own.
 *
 * A handler of a request runs in one, so that it reads like a program that blocks, while the event
 * loop serves others. Stacks are bounded (COROUTINE_STACK), have a guard page, and are used again.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define COROUTINE_STACK (256u * 1024u)

struct coroutine;
typedef void coroutine_fn(void *arg);

/* Does not run yet. ERR_LIMIT: no memory for its stack. */
int coroutine_new(coroutine_fn *fn, void *arg, struct coroutine **ret, struct err *err);
/* Runs it until it yields or returns; true: it has returned, and is freed. Not from inside one. */
bool coroutine_resume(struct coroutine *coroutine);
/* From inside: back to whoever resumed it. */
void coroutine_yield(void);
