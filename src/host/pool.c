/*
 * pool.c - a bounded number of threads for what blocks.
 *
 * Runs in:  reckond.
 * Reads:    nothing.
 * Never:    touches an item but its link.
 */
#include "host/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

struct queue {
	struct pool_item *first, *last;
};

struct pool {
	pool_run_fn *run;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct queue waiting, done;
	pthread_t *threads;
	unsigned count, max, idle;
	size_t queued;
	bool is_ending;
	int fd;
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

void pool_wake(struct pool *pool)
{
	const uint64_t one = 1;

	/* A full counter is awake already. */
	if (write(pool->fd, &one, sizeof(one)) < 0)
		return;
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	struct pool_item *item;

	(void)pthread_mutex_lock(&pool->lock);
	for (;;) {
		item = pop(&pool->waiting);
		if (item == NULL) {
			if (pool->is_ending)
				break;
			pool->idle++;
			(void)pthread_cond_wait(&pool->more, &pool->lock);
			pool->idle--;
			continue;
		}
		pool->queued--;
		(void)pthread_mutex_unlock(&pool->lock);
		pool->run(item);
		(void)pthread_mutex_lock(&pool->lock);
		push(&pool->done, item);
		pool_wake(pool);
	}
	(void)pthread_mutex_unlock(&pool->lock);
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
	pool->threads = mem_new0(threads_max, sizeof(*pool->threads));
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->more, NULL);
	*ret = pool;
	return 0;
}

/* Signals belong to the loop's thread. */
static void add_thread(struct pool *pool)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&pool->threads[pool->count], NULL, work, pool) == 0)
		pool->count++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pool_submit(struct pool *pool, struct pool_item *item)
{
	(void)pthread_mutex_lock(&pool->lock);
	push(&pool->waiting, item);
	pool->queued++;
	if (pool->queued > pool->idle && pool->count < pool->max)
		add_thread(pool);
	(void)pthread_cond_signal(&pool->more);
	(void)pthread_mutex_unlock(&pool->lock);
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
	(void)pthread_cond_broadcast(&pool->more);
	(void)pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->count; i++)
		(void)pthread_join(pool->threads[i], NULL);
	(void)pthread_cond_destroy(&pool->more);
	(void)pthread_mutex_destroy(&pool->lock);
	(void)close(pool->fd);
	free(pool->threads);
	free(pool);
}
