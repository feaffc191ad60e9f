/*
 * pool.h - a bounded number of threads for what blocks. An idle pool has no thread running.
 *
 * What a thread is given it owns until it is back; it comes back in the loop's thread.
 */
#pragma once

#include "base/err.h"

struct pool;
struct pool_item {
	struct pool_item *next;
};

typedef void pool_run_fn(struct pool_item *item);

int pool_new(unsigned threads_max, pool_run_fn *run, struct pool **ret, struct err *err);
/* Waits for what is running. */
void pool_free(struct pool *pool);

void pool_submit(struct pool *pool, struct pool_item *item);

/* Readable when pool_take() may have something, or when pool_wake() was called. */
int pool_fd(const struct pool *pool);
void pool_wake(struct pool *pool); /* from any thread */
void pool_clear(struct pool *pool);
struct pool_item *pool_take(struct pool *pool); /* one that is done, or NULL */
