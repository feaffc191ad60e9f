/*
 * pool.h - a bounded number of threads for blocking work. An idle pool runs no thread.
 *
 * From submission until it is returned to the loop's thread, a worker owns the item.
 *
 * Items wait in lanes. Free threads serve the lanes that have items in rounds: a lane with weight n
 * starts up to n items in each round (deficit round robin, each item costs one), and never runs
 * more than its maximum at once. So an item waits for at most one round of the other lanes, however
 * many items they have.
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
	/*
	 * The item that the same thread runs next, in the same place of the lane. Set it before
	 * submitting; the run function may reset it. Both items are returned, in this order.
	 */
	struct pool_item *then;
};

typedef void pool_run_fn(struct pool_item *item);

int pool_new(unsigned threads_max, pool_run_fn *run, struct pool **ret, struct err *err);
/*
 * Several callers block on this pool, so its threads always run at real-time priority (rt_boost.h).
 */
void pool_hurry(struct pool *pool);
/* Waits for running items. */
void pool_free(struct pool *pool);

/* The caller owns a lane, which must outlive the pool. */
struct pool_lane *pool_lane_new(void);
void pool_lane_free(struct pool_lane *lane); /* NULL is fine */
/* A new lane has weight 1 and may use all threads. */
void pool_lane_set(struct pool *pool, struct pool_lane *lane, unsigned weight,
		   unsigned running_max);
/* Items that wait for a free thread, or because the lane is at its limit. */
size_t pool_lane_waiting(struct pool *pool, const struct pool_lane *lane);
size_t pool_waiting(struct pool *pool); /* in all lanes */
size_t pool_load(struct pool *pool);	/* waiting and running items, and 1 if items can be taken */

/* pool_submit() is for items without a lane. */
void pool_submit(struct pool *pool, struct pool_item *item);
void pool_submit_to(struct pool *pool, struct pool_lane *lane, struct pool_item *item);
/* For work while the caller continues: runs on another processor. */
void pool_submit_to_other_cpu(struct pool *pool, struct pool_lane *lane, struct pool_item *item);

/* Readable when pool_take() may have something, or when pool_wake() was called. */
int pool_fd(const struct pool *pool);
void pool_wake(struct pool *pool); /* from any thread */
void pool_clear(struct pool *pool);
struct pool_item *pool_take(struct pool *pool); /* a returned item, or NULL */
