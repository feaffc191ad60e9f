/*
 * coroutine.h - functions that can wait in the middle, in one thread: each has its own stack.
 *
 * Each request's handler runs in a coroutine, so that its code can block, while the event loop
 * serves other requests. Stacks are bounded (COROUTINE_STACK), have a guard page, and are reused.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define COROUTINE_STACK (256u * 1024u)

struct coroutine;
typedef void coroutine_fn(void *arg);

/* Creates a coroutine without running it. ERR_LIMIT: no memory for its stack. */
int coroutine_new(coroutine_fn *fn, void *arg, struct coroutine **ret, struct err *err);
/* Runs it until it yields or returns; true: it has returned and is freed. Not from inside one. */
bool coroutine_resume(struct coroutine *coroutine);
/* From inside: returns to the caller of coroutine_resume(). */
void coroutine_yield(void);
