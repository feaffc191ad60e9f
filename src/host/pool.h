/*
 * pool.h - a bounded number of threads for what blocks. An idle pool has no thread running.
 *
 * What a thread is given it owns until it is back; it comes back in the loop's thread.
 *
 * Items wait in lanes. Free threads go round the lanes that have something: a lane with weight n
 * gives up to n items each round (deficit round robin, each item costs one), and never has more of
 * them running than it may. So an item waits for at most one round of the others, however many
 * items those have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pool;
struct pool_lane;
struct pool_item {
	struct pool_item *next;
	struct pool_lane *lane;
	/* Set before it is submitted, and dropped by its run function or not: what the same thread
	 * runs next, in the same turn of the lane. Both come back, in this order. */
	struct pool_item *then;
};

typedef void pool_run_fn(struct pool_item *item);

int pool_new(unsigned threads_max, pool_run_fn *run, struct pool **ret, struct err *err);
/* Several callers block on this pool, so its threads always run at real-time priority (rt_boost.h). */
void pool_hurry(struct pool *pool);
/* Waits for what is running. */
void pool_free(struct pool *pool);

/* A lane belongs to whoever makes it, and outlives the pool that it is used with. */
struct pool_lane *pool_lane_new(void);
void pool_lane_free(struct pool_lane *lane); /* NULL is fine */
/* A new one has weight 1 and may use all threads. */
void pool_lane_set(struct pool *pool, struct pool_lane *lane, unsigned weight,
		   unsigned running_max);
/* Those that no thread is free for, or that the lane may not have running yet. */
size_t pool_lane_waiting(struct pool *pool, const struct pool_lane *lane);
size_t pool_waiting(struct pool *pool); /* in all lanes */
size_t pool_load(struct pool *pool);	/* what waits and runs, and 1 if something is to be taken */

/* The first one is for what is nobody's. */
void pool_submit(struct pool *pool, struct pool_item *item);
void pool_submit_to(struct pool *pool, struct pool_lane *lane, struct pool_item *item);
/* The same for what is to be done while the caller goes on working: on another processor. */
void pool_submit_to_other_cpu(struct pool *pool, struct pool_lane *lane, struct pool_item *item);

/* Readable when pool_take() may have something, or when pool_wake() was called. */
int pool_fd(const struct pool *pool);
void pool_wake(struct pool *pool); /* from any thread */
void pool_clear(struct pool *pool);
struct pool_item *pool_take(struct pool *pool); /* one that is done, or NULL */
