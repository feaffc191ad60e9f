/*
 * pool.c - a bounded number of threads for blocking work.
 *
 * Runs in:  reckond.
 * Reads:    nothing.
 * Never:    touches more of an item than its links and its lane.
 */
#include "host/pool.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/process/rt_boost.h"
#include "base/mem.h"

struct queue {
	struct pool_item *first, *last;
};

struct pool_lane {
	struct pool_lane *next; /* in the round; NULL in the last lane */
	struct queue waiting;
	size_t count;
	unsigned weight, running, running_max;
	unsigned credit; /* items that it may still start in this round */
	bool is_in_round;
};

struct worker {
	struct pool *pool;
	struct worker *next; /* in the list of idle workers */
	pthread_t thread;
	pthread_cond_t more;
	bool is_called;
	bool is_away; /* bound to other processors than that of the thread that woke it */
};

struct pool {
	pool_run_fn *run;
	pthread_mutex_t lock;
	struct worker *idlers; /* last-in first-out: the caches still have data of the first one */
	struct pool_lane *first, *last; /* the round: lanes with waiting items */
	struct pool_lane *own;		/* for items without a lane */
	struct queue done;
	struct worker *workers;
	unsigned count, max, idle, running;
	size_t queued;
	bool is_ending, hurries;
	int fd;
	cpu_set_t processors; /* that its threads may use */
};

static void push(struct queue *queue, struct pool_item *item)
{
	item->next = NULL;
	if (queue->last != NULL)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
}

static struct pool_item *pop(struct queue *queue)
{
	struct pool_item *item = queue->first;

	if (item != NULL)
		queue->first = item->next;
	if (queue->first == NULL)
		queue->last = NULL;
	return item;
}

/* ---- idle threads: with the lock held ------------------------------------------------------- */

static void wait_for_more(struct worker *self)
{
	struct pool *pool = self->pool;

	self->is_called = false;
	self->next = pool->idlers;
	pool->idlers = self;
	pool->idle++;
	while (!self->is_called)
		(void)pthread_cond_wait(&self->more, &pool->lock);
	pool->idle--;
	if (self->is_away)
		(void)pthread_setaffinity_np(self->thread, sizeof(pool->processors),
					     &pool->processors);
	self->is_away = false;
}

/*
 * The thread that submits an item continues to work. Linux would wake the worker on the processor
 * where it ran last, often the submitter's, and let it wait there, because it does not take a
 * sleeping virtual processor for idle.
 */
static void send_away(struct pool *pool, struct worker *worker)
{
	cpu_set_t others = pool->processors;
	const int here = sched_getcpu();

	if (here >= 0 && here < CPU_SETSIZE)
		CPU_CLR((size_t)here, &others);
	worker->is_away = CPU_COUNT(&others) > 0 &&
			  pthread_setaffinity_np(worker->thread, sizeof(others), &others) == 0;
}

/* Takes a worker to signal, which is better done without the lock; or NULL. */
static struct worker *call_one(struct pool *pool)
{
	struct worker *worker = pool->idlers;

	if (worker != NULL) {
		pool->idlers = worker->next;
		worker->is_called = true;
	}
	return worker;
}

static void call_all(struct pool *pool)
{
	struct worker *worker;

	while ((worker = call_one(pool)) != NULL)
		(void)pthread_cond_signal(&worker->more);
}

/* ---- lanes: all but pool_lane_new() with the lock held -------------------------------------- */

struct pool_lane *pool_lane_new(void)
{
	struct pool_lane *lane = mem_new0(1, sizeof(*lane));

	lane->weight = 1;
	lane->running_max = UINT_MAX;
	return lane;
}

void pool_lane_free(struct pool_lane *lane)
{
	free(lane);
}

static void join_round(struct pool *pool, struct pool_lane *lane)
{
	lane->next = NULL;
	if (pool->last != NULL)
		pool->last->next = lane;
	else
		pool->first = lane;
	pool->last = lane;
	lane->is_in_round = true;
}

static struct pool_lane *leave_round(struct pool *pool)
{
	struct pool_lane *lane = pool->first;

	pool->first = lane->next;
	if (pool->first == NULL)
		pool->last = NULL;
	lane->is_in_round = false;
	return lane;
}

static struct pool_item *give(struct pool *pool, struct pool_lane *lane)
{
	struct pool_item *item = pop(&lane->waiting);

	lane->count--;
	pool->queued--;
	lane->running++;
	pool->running++;
	lane->credit--;
	return item;
}

/* The next item that may run, in the order of the round; NULL: none. */
static struct pool_item *next_item(struct pool *pool)
{
	const struct pool_lane *end = pool->last;
	struct pool_item *item;

	while (pool->first != NULL) {
		struct pool_lane *lane = pool->first;
		const bool was_end = lane == end;

		if (lane->running >= lane->running_max) {
			/* A lane at its limit ends its round; unused credit does not carry over. */
			lane->credit = 0;
			join_round(pool, leave_round(pool));
			if (was_end)
				return NULL;
			continue;
		}
		if (lane->credit == 0)
			lane->credit = lane->weight;
		item = give(pool, lane);
		if (lane->count == 0)
			leave_round(pool)->credit = 0;
		else if (lane->credit == 0)
			join_round(pool, leave_round(pool));
		return item;
	}
	return NULL;
}

void pool_lane_set(struct pool *pool, struct pool_lane *lane, unsigned weight, unsigned running_max)
{
	(void)pthread_mutex_lock(&pool->lock);
	lane->weight = weight > 0 ? weight : 1;
	lane->running_max = running_max > 0 ? running_max : 1;
	if (lane->credit > lane->weight)
		lane->credit = lane->weight;
	/* A higher limit may allow waiting items to run. */
	call_all(pool);
	(void)pthread_mutex_unlock(&pool->lock);
}

size_t pool_lane_waiting(struct pool *pool, const struct pool_lane *lane)
{
	size_t room, count;

	(void)pthread_mutex_lock(&pool->lock);
	/*
	 * Items that a free thread will take do not count, even if the thread has not woken up yet.
	 */
	room = pool->max - pool->running;
	room = MIN(room, (size_t)(lane->running_max - MIN(lane->running, lane->running_max)));
	count = lane->count - MIN(room, lane->count);
	(void)pthread_mutex_unlock(&pool->lock);
	return count;
}

size_t pool_waiting(struct pool *pool)
{
	size_t count;

	(void)pthread_mutex_lock(&pool->lock);
	count = pool->queued;
	(void)pthread_mutex_unlock(&pool->lock);
	return count;
}

size_t pool_load(struct pool *pool)
{
	size_t count;

	(void)pthread_mutex_lock(&pool->lock);
	count = pool->queued + pool->running + (pool->done.first != NULL);
	(void)pthread_mutex_unlock(&pool->lock);
	return count;
}

/* ---- threads -------------------------------------------------------------------------------- */

void pool_wake(struct pool *pool)
{
	const uint64_t one = 1;

	/* A full counter means that the loop is awake already. */
	if (write(pool->fd, &one, sizeof(one)) < 0)
		return;
}

/*
 * Wakes the loop after releasing the lock, and only if no other returned item has done so. Returns
 * the item to run next, which takes the place of this one.
 */
static struct pool_item *give_back(struct pool *pool, struct pool_item *item)
{
	struct pool_item *then = item->then;
	bool was_empty;

	(void)pthread_mutex_lock(&pool->lock);
	was_empty = pool->done.first == NULL;
	if (then != NULL) {
		then->lane = item->lane;
	} else {
		item->lane->running--;
		pool->running--;
	}
	push(&pool->done, item);
	(void)pthread_mutex_unlock(&pool->lock);
	if (was_empty)
		pool_wake(pool);
	return then;
}

static void *work(void *arg)
{
	struct worker *self = arg;
	struct pool *pool = self->pool;
	struct pool_item *item;
	bool is_crowded;

	rt_boost_begin();
	(void)pthread_mutex_lock(&pool->lock);
	for (;;) {
		item = next_item(pool);
		if (item == NULL) {
			/*
			 * If the lane is at its limit, the thread that finishes an item of it takes
			 * the next one.
			 */
			if (pool->is_ending)
				break;
			wait_for_more(self);
			continue;
		}
		is_crowded = pool->hurries || pool->running > 1;
		(void)pthread_mutex_unlock(&pool->lock);
		while (item != NULL) {
			rt_boost_job(is_crowded);
			pool->run(item);
			item = give_back(pool, item);
		}
		(void)pthread_mutex_lock(&pool->lock);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	rt_boost_end();
	return NULL;
}

int pool_new(unsigned threads_max, pool_run_fn *run, struct pool **ret, struct err *err)
{
	struct pool *pool = mem_new0(1, sizeof(*pool));

	pool->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool->fd < 0) {
		free(pool);
		return err_sys(err, "eventfd");
	}
	pool->run = run;
	pool->max = threads_max;
	pool->own = pool_lane_new();
	if (sched_getaffinity(0, sizeof(pool->processors), &pool->processors) < 0)
		CPU_ZERO(&pool->processors); /* too many processors for a set: binds no worker */
	pool->workers = mem_new0(threads_max, sizeof(*pool->workers));
	(void)pthread_mutex_init(&pool->lock, NULL);
	*ret = pool;
	return 0;
}

/* Blocks all signals in the new thread: the loop's thread handles them. */
static void add_thread(struct pool *pool)
{
	struct worker *worker = &pool->workers[pool->count];
	sigset_t all, before;

	worker->pool = pool;
	(void)pthread_cond_init(&worker->more, NULL);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&worker->thread, NULL, work, worker) == 0)
		pool->count++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pool_hurry(struct pool *pool)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->hurries = true;
	(void)pthread_mutex_unlock(&pool->lock);
}

void pool_submit(struct pool *pool, struct pool_item *item)
{
	pool_submit_to(pool, pool->own, item);
}

static void submit(struct pool *pool, struct pool_lane *lane, struct pool_item *item, bool goes_on)
{
	struct worker *worker;

	(void)pthread_mutex_lock(&pool->lock);
	item->lane = lane;
	push(&lane->waiting, item);
	lane->count++;
	if (!lane->is_in_round)
		join_round(pool, lane);
	pool->queued++;
	if (pool->queued > pool->idle && pool->count < pool->max)
		add_thread(pool);
	worker = call_one(pool);
	if (worker != NULL && goes_on)
		send_away(pool, worker);
	(void)pthread_mutex_unlock(&pool->lock);
	if (worker != NULL)
		(void)pthread_cond_signal(&worker->more);
}

void pool_submit_to(struct pool *pool, struct pool_lane *lane, struct pool_item *item)
{
	submit(pool, lane, item, false);
}

void pool_submit_to_other_cpu(struct pool *pool, struct pool_lane *lane, struct pool_item *item)
{
	submit(pool, lane, item, true);
}

int pool_fd(const struct pool *pool)
{
	return pool->fd;
}

void pool_clear(struct pool *pool)
{
	uint64_t count;

	if (read(pool->fd, &count, sizeof(count)) < 0)
		return;
}

struct pool_item *pool_take(struct pool *pool)
{
	struct pool_item *item;

	(void)pthread_mutex_lock(&pool->lock);
	item = pop(&pool->done);
	(void)pthread_mutex_unlock(&pool->lock);
	return item;
}

void pool_free(struct pool *pool)
{
	if (pool == NULL)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->is_ending = true;
	call_all(pool);
	(void)pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->count; i++) {
		(void)pthread_join(pool->workers[i].thread, NULL);
		(void)pthread_cond_destroy(&pool->workers[i].more);
	}
	(void)pthread_mutex_destroy(&pool->lock);
	(void)close(pool->fd);
	pool_lane_free(pool->own);
	free(pool->workers);
	free(pool);
}
