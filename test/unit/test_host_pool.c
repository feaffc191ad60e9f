/*
 * test_host_pool.c - how a pool's lanes take turns: the order in which items start, not the time.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    depends on how fast anything is.
 */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/pool.h"

#define ITEMS 400

struct work {
	struct pool_item item; /* first */
	char name;
};

/* What the threads record: the order in which items began, how many of a name ran at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char order[ITEMS + 1];
static int policies[ITEMS]; /* of the threads, when the items began */
static unsigned begun, held, at_once[256], most_at_once[256];
static bool is_gate_open;

/* Items wait until the gate opens, so further items that are submitted before it are queued. */
static void run(struct pool_item *item)
{
	const unsigned char name = (unsigned char)((struct work *)(void *)item)->name;

	(void)pthread_mutex_lock(&lock);
	policies[begun] = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	order[begun++] = (char)name;
	if (++at_once[name] > most_at_once[name])
		most_at_once[name] = at_once[name];
	held++;
	(void)pthread_cond_broadcast(&changed);
	while (!is_gate_open)
		(void)pthread_cond_wait(&changed, &lock);
	held--;
	at_once[name]--;
	(void)pthread_mutex_unlock(&lock);
}

static void reset(void)
{
	memset(order, 0, sizeof(order));
	memset(at_once, 0, sizeof(at_once));
	memset(most_at_once, 0, sizeof(most_at_once));
	begun = held = 0;
	is_gate_open = false;
}

static void submit(struct pool *pool, struct pool_lane *lane, char name, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct work *work = mem_new0(1, sizeof(*work));

		work->name = name;
		pool_submit_to(pool, lane, &work->item);
	}
}

static void wait_held(unsigned count)
{
	(void)pthread_mutex_lock(&lock);
	while (held < count)
		(void)pthread_cond_wait(&changed, &lock);
	(void)pthread_mutex_unlock(&lock);
}

static void open_gate(void)
{
	(void)pthread_mutex_lock(&lock);
	is_gate_open = true;
	(void)pthread_cond_broadcast(&changed);
	(void)pthread_mutex_unlock(&lock);
}

static void take_all(struct pool *pool, unsigned count)
{
	struct pollfd ready = { .fd = pool_fd(pool), .events = POLLIN };
	struct pool_item *item;

	while (count > 0) {
		assert_int_equal(poll(&ready, 1, -1), 1);
		pool_clear(pool);
		while ((item = pool_take(pool)) != NULL) {
			free(item);
			count--;
		}
	}
}

static struct pool *new_pool(unsigned threads)
{
	struct pool *pool = NULL;
	struct err err;

	reset();
	assert_ok(&err, pool_new(threads, run, &pool, &err));
	return pool;
}

UNIT_TEST(a_new_lane_is_served_after_at_most_one_more_item)
{
	struct pool *pool = new_pool(1);
	struct pool_lane *x = pool_lane_new(), *y = pool_lane_new();

	submit(pool, x, 'x', 100);
	wait_held(1); /* the first of x runs */
	assert_int_equal(pool_lane_waiting(pool, x), 99);
	submit(pool, y, 'y', 1);
	assert_int_equal(pool_waiting(pool), 100);
	open_gate();
	take_all(pool, 101);
	/* The item that ran already, at most one more of x, then y. */
	assert_non_null(strchr(order, 'y'));
	assert_true(strchr(order, 'y') - order <= 2);
	pool_free(pool);
	pool_lane_free(x);
	pool_lane_free(y);
}

UNIT_TEST(lanes_take_turns_by_weight)
{
	struct pool *pool = new_pool(1);
	struct pool_lane *x = pool_lane_new(), *y = pool_lane_new();
	unsigned of_x = 0, of_y = 0;

	pool_lane_set(pool, y, 3, 1);
	submit(pool, x, 'x', 100);
	wait_held(1);
	submit(pool, y, 'y', 60);
	open_gate();
	take_all(pool, 160);
	/* While both wait, y gets three turns for each of x; order[0] began before y came. */
	for (unsigned i = 1; i <= 80; i++) {
		of_x += order[i] == 'x';
		of_y += order[i] == 'y';
		assert_true(of_y <= 3 * of_x + 3 && of_x <= of_y / 3 + 1);
	}
	assert_int_equal(of_y, 60);
	pool_free(pool);
	pool_lane_free(x);
	pool_lane_free(y);
}

UNIT_TEST(many_lanes_take_turns)
{
	struct pool *pool = new_pool(1);
	struct pool_lane *lanes[10];

	for (int i = 0; i < 10; i++)
		lanes[i] = pool_lane_new();
	submit(pool, lanes[0], 'a', 1);
	wait_held(1);
	for (int i = 0; i < 10; i++)
		submit(pool, lanes[i], (char)('a' + i), 20);
	open_gate();
	take_all(pool, 201);
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 10; i++)
			assert_int_equal(order[1 + round * 10 + i], 'a' + i);
	pool_free(pool);
	for (int i = 0; i < 10; i++)
		pool_lane_free(lanes[i]);
}

UNIT_TEST(a_lane_uses_no_more_threads_than_its_limit)
{
	struct pool *pool = new_pool(4);
	struct pool_lane *x = pool_lane_new(), *y = pool_lane_new();

	pool_lane_set(pool, x, 1, 2);
	submit(pool, x, 'x', 50);
	/* The count does not depend on whether the threads have woken up. */
	assert_int_equal(pool_lane_waiting(pool, x), 48);
	wait_held(2);
	assert_int_equal(pool_lane_waiting(pool, x), 48);
	/* The other threads still serve other lanes. */
	submit(pool, y, 'y', 3);
	assert_int_equal(pool_lane_waiting(pool, y), 1);
	wait_held(4);
	assert_int_equal(pool_lane_waiting(pool, y), 1);
	open_gate();
	take_all(pool, 53);
	assert_int_equal(most_at_once['x'], 2);
	assert_int_equal(begun, 53);
	pool_free(pool);
	pool_lane_free(x);
	pool_lane_free(y);
}

UNIT_TEST(a_raised_thread_limit_starts_waiting_items)
{
	struct pool *pool = new_pool(3);
	struct pool_lane *x = pool_lane_new();

	pool_lane_set(pool, x, 1, 1);
	submit(pool, x, 'x', 3);
	wait_held(1);
	pool_lane_set(pool, x, 1, 3);
	wait_held(3);
	open_gate();
	take_all(pool, 3);
	pool_free(pool);
	pool_lane_free(x);
}

UNIT_TEST(a_chained_item_runs_without_waiting_for_a_turn)
{
	struct pool *pool = new_pool(1);
	struct pool_lane *x = pool_lane_new(), *y = pool_lane_new();
	struct work *first = mem_new0(1, sizeof(*first)), *then = mem_new0(1, sizeof(*then));

	pool_lane_set(pool, x, 1, 1);
	first->name = 'f';
	then->name = 't';
	first->item.then = &then->item;
	pool_submit_to(pool, x, &first->item);
	wait_held(1);
	submit(pool, y, 'y', 2);
	submit(pool, x, 'x', 1);
	open_gate();
	take_all(pool, 5);
	assert_string_equal(order, "ftyxy");
	/* The second item was not counted as another thread: the lane has its thread again. */
	assert_int_equal(pool_load(pool), 0);
	submit(pool, x, 'z', 1);
	take_all(pool, 1);
	pool_free(pool);
	pool_lane_free(x);
	pool_lane_free(y);
}

static cpu_set_t may_use;

static void note_processors(struct pool_item *item)
{
	run(item);
	(void)sched_getaffinity(0, sizeof(may_use), &may_use);
}

UNIT_TEST(an_item_on_another_processor_may_use_all_of_them)
{
	struct pool_lane *x = pool_lane_new();
	struct pool *pool;
	cpu_set_t ours;
	struct err err;

	assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
	assert_ok(&err, pool_new(2, note_processors, &pool, &err));
	reset();
	open_gate();
	/* Only the first item finds the pool without a thread. */
	for (unsigned i = 1; i <= 3; i++) {
		struct work *work = mem_new0(1, sizeof(*work));

		work->name = 'x';
		CPU_ZERO(&may_use);
		pool_submit_to_other_cpu(pool, x, &work->item);
		take_all(pool, 1);
		assert_int_equal(begun, i);
		assert_true(CPU_EQUAL(&may_use, &ours));
	}
	pool_free(pool);
	pool_lane_free(x);
}

/* Stores SCHED_RR if this host lets a thread have it, else SCHED_OTHER. */
static void *probe(void *arg)
{
	const struct sched_param least = { .sched_priority = 1 };

	*(int *)arg = sched_setscheduler(0, SCHED_RR, &least) == 0 ? SCHED_RR : SCHED_OTHER;
	return NULL;
}

UNIT_TEST(a_second_running_item_starts_at_real_time_priority)
{
	struct pool *pool = new_pool(2);
	struct pool_lane *lane = pool_lane_new();
	pthread_t thread;
	int may = -1;

	assert_int_equal(pthread_create(&thread, NULL, probe, &may), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	submit(pool, lane, 'a', 1);
	wait_held(1);
	submit(pool, lane, 'b', 1);
	wait_held(2);
	open_gate();
	take_all(pool, 2);
	assert_int_equal(policies[0], SCHED_OTHER); /* alone */
	assert_int_equal(policies[1], may);
	/* After pool_hurry() an item that runs alone has that policy, too. */
	reset();
	pool_hurry(pool);
	submit(pool, lane, 'c', 1);
	wait_held(1);
	open_gate();
	take_all(pool, 1);
	assert_int_equal(policies[0], may);
	pool_free(pool);
	pool_lane_free(lane);
}
